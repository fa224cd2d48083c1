package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// AgentRunModel is the table agent_run_models: what each model had of a turn that more than
// one has answered. Usage by model is summed up from these, where a turn has them.
type AgentRunModel struct {
	ent.Schema
}

// Fields of a model's part of a turn.
func (AgentRunModel) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.Int64("agent_run_id").Immutable(),
		field.String("model").Immutable(),
		field.Int64("input_tokens").Default(0),
		field.Int64("output_tokens").Default(0),
		field.Int64("cache_read_tokens").Default(0),
		field.Int64("cache_write_tokens").Default(0),
		field.Float("cost_usd").Default(0),
	}
}

// Indexes of the parts of turns.
func (AgentRunModel) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("agent_run_id", "model").Unique(),
	}
}
