package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// AgentRun is the table agent_runs; see ledger.AgentRun.
type AgentRun struct {
	ent.Schema
}

// Fields of an agent run. The key names the attempt of the run that it was made
// in, so that a result whose COMMIT nobody answered is not recorded twice.
func (AgentRun) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("run_id").Default(""),
		field.String("task_id").Default(""),
		field.String("thread_id").Default(""),
		field.String("plugin").Default(""),
		field.String("cron").Default(""), // name of the scheduled job whose prompt it answers
		field.String("purpose"),
		field.String("model").Default(""),
		field.String("account").Default(""),
		field.Int64("input_tokens").Default(0),
		field.Int64("output_tokens").Default(0),
		field.Int64("cache_read_tokens").Default(0),
		field.Int64("cache_write_tokens").Default(0),
		field.Float("cost_usd").Default(0),
		field.Bool("notional").Default(false),    // the account has a plan: nobody is billed
		field.Bool("cost_unsure").Default(false), // the cost may be wrong
		field.Int64("duration_ns").Default(0),
		field.Bool("success").Default(false),
		field.Text("error").Default(""),
		field.Time("started_at").Immutable(),
		field.String("key").Optional().Nillable().Immutable(),
	}
}

// Indexes of agent runs.
func (AgentRun) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("thread_id", "id"),
		index.Fields("started_at"),
		index.Fields("key").Unique(),
		index.Fields("task_id").Annotations(entsql.IndexWhere("task_id <> ''")),
	}
}
