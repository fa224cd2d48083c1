package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Delivery is the table deliveries; see pluginsdk.Delivery.
type Delivery struct {
	ent.Schema
}

// Fields of a delivery.
func (Delivery) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.Int64("message_id").Immutable(),
		field.String("plugin").Immutable(),
		field.String("target").Default(""),
		field.String("state").GoType(pluginsdk.DeliveryState("")).Default(string(pluginsdk.DeliveryPending)),
		field.Int("attempt").Default(0),
		field.Time("next_attempt_at").Optional().Nillable(),
		field.Text("last_error").Default(""),
		field.String("external_id").Default(""),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of deliveries. The second one finds what waits for a target, in the
// order of the messages.
func (Delivery) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("state", "id"),
		index.Fields("state", "plugin", "target", "message_id"),
		index.Fields("message_id"),
	}
}
