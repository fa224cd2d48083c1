package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Thread is the table threads; see ledger.Thread. report_to is a pluginsdk.Target
// as text.
type Thread struct {
	ent.Schema
}

// Fields of a thread.
func (Thread) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("source").Immutable(),
		field.String("source_id").Immutable(),
		field.String("report_to").Default(""),
		field.String("name").Default(""),
		field.String("kind").GoType(pluginsdk.ThreadKind("")).Default(string(pluginsdk.ThreadGeneral)),
		field.String("parent_thread_id").Default(""),
		field.String("status").GoType(pluginsdk.ThreadStatus("")).Default(string(pluginsdk.ThreadActive)),
		field.String("session_id").Default(""),
		field.String("session_account").Default(""), // that the session is of
		field.Bool("session_open").Default(false),
		field.Int64("seen_message_id").Default(0),
		field.String("account").Default(""),
		field.String("model").Default(""),
		field.String("effort").Default(""),
		field.String("permission_mode").Default(""),
		field.String("cwd").Default(""),
		field.Bool("apart").Default(false),
		field.Text("instructions").Default(""),
		field.String("busy_mode").GoType(pluginsdk.BusyMode("")).Default(string(pluginsdk.BusyQueue)),
		field.String("ask_tools").Default(""),
		field.Time("last_activity"),
		field.Int64("last_read_message_id").Default(0),
		field.Int64("epoch").Default(0),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of threads. The primary thread is unique by its source and source id. The
// second one has them by their activity, as they are shown to people.
func (Thread) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("source", "source_id").Unique(),
		index.Fields("last_activity", "id"),
	}
}
