package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Message is the table messages; see pluginsdk.Message.
type Message struct {
	ent.Schema
}

// Fields of a message. The key is NULL when there is none, so that only real
// keys are unique.
func (Message) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("thread_id").Immutable(),
		field.String("role").GoType(pluginsdk.Role("")),
		field.String("kind").GoType(pluginsdk.MessageKind("")),
		field.String("source"),
		field.String("plugin").Default(""),
		field.String("author").Default(""),
		field.Text("content"),
		field.String("model").Default(""),
		jsonField("metadata", json.RawMessage{}),
		jsonField("attachments", []pluginsdk.Attachment{}),
		field.String("run_id").Default(""),
		field.String("key").Optional().Nillable(),
		field.Time("created_at").Immutable(),
		field.String("scope").GoType(pluginsdk.TokenScope("")).Default(""),
		field.Bool("apart").Default(false),
		originField(),
	}
}

// Indexes of messages. message_unread counts what a person has not read, message_attached
// finds what refers to files; they hold nothing else.
func (Message) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("thread_id", "id"),
		index.Fields("run_id"),
		index.Fields("thread_id", "key").Unique(),
		index.Fields("thread_id", "id").StorageKey("message_unread").
			Annotations(entsql.IndexWhere("role <> 'user' AND kind IN ('text', 'notification')")),
		index.Fields("id").StorageKey("message_attached").Annotations(entsql.IndexWhere("attachments IS NOT NULL")),
	}
}
