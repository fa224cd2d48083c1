package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// CronFire is the table cron_fires; see pluginsdk.CronFire.
type CronFire struct {
	ent.Schema
}

// Fields of a fire.
func (CronFire) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("job_id").Immutable(),
		field.String("job"),
		field.Time("due").Immutable(),
		field.Time("until").Optional().Nillable(),
		field.Int("count").Default(0),
		field.String("cause").GoType(pluginsdk.FireCause("")),
		field.String("state").GoType(pluginsdk.CronFireState("")),
		field.Text("reason").Default(""),
		field.Text("data").Default(""),
		field.String("run_id").Default(""),
		field.Float("cost_usd").Default(0),
		field.Time("decided_at").Optional().Nillable(),
		field.Time("ended_at").Optional().Nillable(),
	}
}

// Indexes of the fires.
func (CronFire) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("job_id", "due").Unique(),
		index.Fields("due"),
		index.Fields("state"),
	}
}
