package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// TaskAnswer is the table task_answers; see ledger.TaskAnswer.
type TaskAnswer struct {
	ent.Schema
}

// Fields of an answer. They are never changed.
func (TaskAnswer) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("task_id").Immutable(),
		field.Int("iteration").Immutable(),
		field.Int("round").Immutable(),
		field.String("phase").Immutable(),
		field.String("plugin").Immutable(),
		field.String("author").Default("").Immutable(),
		field.String("answer").Default("").Immutable(),
		field.Text("feedback").Default("").Immutable(),
		field.JSON("evidence", []pluginsdk.Evidence{}).Optional().Immutable().SchemaType(jsonType()),
		originField(),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of answers. A plugin answers once in a round's phase.
func (TaskAnswer) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("task_id", "round", "phase", "plugin").Unique(),
	}
}
