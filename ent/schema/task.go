package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Task is the table tasks; see ledger.Task.
type Task struct {
	ent.Schema
}

// Fields of a task. The key is the plugin's, and NULL when there is none. What it costs
// stands in agent_runs.
func (Task) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("thread_id").Immutable(),
		field.String("parent_thread_id").Default(""),
		field.String("parent_task_id").Default(""),
		field.Int("depth").Default(0),
		field.String("plugin").Default("").Immutable(),
		field.String("key").Optional().Nillable().Immutable(),
		field.String("status").GoType(pluginsdk.TaskStatus("")).Default(string(pluginsdk.TaskPending)),
		field.Text("original_message"),
		field.Text("prompt"),
		field.String("model").Default(""),
		field.String("account").Default("").Immutable(),
		field.String("asked_account").Default("").Immutable(),
		field.String("permission_mode").Default(""),
		jsonField("allowed_tools", []string{}),
		field.String("cwd").Default(""),
		field.String("cwd_plugin").Default(""),
		field.Text("context").Default(""),
		jsonField("labels", map[string]string{}),
		field.String("requested_by").Default(""),
		originField(),
		field.Bool("wake").Default(false),
		field.Int("current_iteration").Default(0),
		field.Int("max_iterations").Default(5),
		field.Int("validation_iterations").Default(0),
		field.Int("max_validation_iterations").Default(3),
		field.Float("cost_cap_usd").Default(5),
		field.Float("asked_cost_cap_usd").Default(0).Immutable(),
		field.String("run_id").Default(""),
		jsonField("marks", []string{}),
		jsonField("own_iterations", []pluginsdk.TaskIteration{}),
		field.Text("result").Default(""),
		field.Text("feedback").Default(""),
		field.Text("error").Default(""),
		field.String("phase").Default(""),
		field.Int64("epoch").Default(0),
		field.Int("round").Default(0),
		field.Int("settled").Default(0),
		field.Int("failures").Default(0),
		field.Time("not_before").Optional().Nillable(),
		field.Int("agains").Default(0),
		field.String("cause_run_id").Default("").Immutable(),
		field.String("asked_permission_mode").Default("").Immutable(),
		field.String("asked_cwd").Default("").Immutable(),
		field.String("first_cwd").Default("").Immutable(),
		field.Bool("own_directory").Default(false).Immutable(),
		field.String("from_task_id").Default("").Immutable(),
		field.JSON("asked_allowed_tools", []string{}).Optional().Immutable().SchemaType(jsonType()),
		field.JSON("asked_labels", map[string]string{}).Optional().Immutable().SchemaType(jsonType()),
		field.Time("created_at").Immutable(),
		field.Time("completed_at").Optional().Nillable(),
	}
}

// Indexes of tasks.
func (Task) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("plugin", "key").Unique(),
		index.Fields("status", "id"),
		index.Fields("parent_thread_id", "id"),
		index.Fields("parent_task_id"),
		index.Fields("thread_id"),
		index.Fields("completed_at", "id"),
		index.Fields("phase").Annotations(entsql.IndexWhere("phase <> ''")),
	}
}
