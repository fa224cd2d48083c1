package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// PlanWindow is the table plan_windows: the windows of the accounts' plans as they were
// last seen; see ledger.PlanState.
type PlanWindow struct {
	ent.Schema
}

// Fields of a window. warned is the percentage that people were last told of in this window;
// first_used and first_seen are what was seen of it first, from which its pace is.
func (PlanWindow) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("account").Immutable(),
		field.String("name").Immutable(),
		field.String("model").Default(""),
		field.Float("used").Default(0),
		field.String("status").GoType(pluginsdk.PlanStatus("")).Default(string(pluginsdk.PlanAllowed)),
		field.Time("resets_at").Optional().Nillable(),
		field.Bool("overage").Default(false),
		field.Time("seen_at"),
		field.Int("warned").Default(0),
		field.Float("first_used").Default(0),
		field.Time("first_seen"),
	}
}

// Indexes of windows.
func (PlanWindow) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("account", "name").Unique(),
	}
}
