package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Run is the table runs; see ledger.Run. Source and key are those of the
// submission that made the run, or of the plugin that asked for the turn, and
// content_hash tells whether a repeated key came with other content.
type Run struct {
	ent.Schema
}

// Fields of a run. A run is final exactly when finished_at is set.
func (Run) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("thread_id").Immutable(),
		field.Int64("message_id").Immutable(),
		field.String("kind").GoType(pluginsdk.RunKind("")).Immutable(),
		field.String("state").GoType(pluginsdk.RunState("")),
		field.String("merged_into").Default(""),
		jsonField("absorbed", []int64{}),
		field.String("cause_run_id").Default(""),
		field.Int("depth").Default(0),
		// Of a run that another has caused: who stands at the root of the causes.
		field.String("root_source").Default("").Immutable(),
		field.String("root_author").Default("").Immutable(),
		field.String("step").GoType(pluginsdk.RunStep("")).Default(""),
		field.Int("attempt").Default(0),
		field.Time("next_attempt_at").Optional().Nillable(),
		// How the run was parked last; the run is parked only while it is queued with next_attempt_at.
		jsonField("parked", &pluginsdk.Parked{}),
		jsonField("override", &pluginsdk.RunOverride{}),
		field.String("account").Default(""),
		field.String("owner").Default(""),
		field.Time("lease_until").Optional().Nillable(),
		field.String("trace_id").Default(""),
		field.String("session_id").Default(""),
		field.String("prompt_hash").Default(""),
		jsonField("result", &pluginsdk.InvokeResult{}),
		jsonField("events", []pluginsdk.StreamEvent{}),
		jsonField("steps", []pluginsdk.PipelineStep{}),
		jsonField("hooks", []pluginsdk.HookCall{}),
		jsonField("commands", json.RawMessage{}), // of ledger.Command
		jsonField("outcomes", []pluginsdk.Outcome{}),
		jsonField("failures", []pluginsdk.Failed{}),
		field.Text("error").Default(""),
		field.Int64("input_tokens").Default(0),
		field.Int64("output_tokens").Default(0),
		field.Int64("cache_read_tokens").Default(0),
		field.Int64("cache_write_tokens").Default(0),
		field.Float("cost_usd").Default(0),
		field.Float("notional_usd").Default(0),   // of cost_usd: of turns on a plan, which nobody is billed
		field.Bool("cost_unsure").Default(false), // cost_usd may be wrong
		field.Time("queued_at").Immutable(),
		field.Time("started_at").Optional().Nillable(),
		field.Time("finished_at").Optional().Nillable(),
		field.Bool("unattended").Default(false).Immutable(),
		field.String("source").Default("").Immutable(),
		field.String("key").Optional().Nillable().Immutable(),
		field.String("content_hash").Default("").Immutable(),
		// Beside says that the run is in no thread's queue. Of a command that is so, beside_as is
		// its name: those of one name in a thread are done one after the other.
		field.Bool("beside").Default(false).Immutable(),
		field.String("beside_as").Default("").Immutable(),
		// Of turns only, whose message_id is the newest of their thread when they were asked for:
		// the run is none of that one's.
		field.String("plugin").Default("").Immutable(),
		field.String("purpose").Default("").Immutable(),
		field.String("task_id").Default("").Immutable(),
		jsonField("request", json.RawMessage{}), // of ledger.TurnRequest
	}
}

// Indexes of runs. The third one finds the head of a thread's queue, and all
// runs of a state, in the order of acceptance.
func (Run) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("source", "key").Unique(),
		index.Fields("thread_id", "message_id"),
		index.Fields("state", "thread_id", "message_id"),
		index.Fields("cause_run_id").Annotations(entsql.IndexWhere("cause_run_id <> ''")),
		index.Fields("task_id").Annotations(entsql.IndexWhere("task_id <> ''")),
	}
}
