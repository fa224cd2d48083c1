package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Approval is the table approvals; see ledger.Approval.
type Approval struct {
	ent.Schema
}

// Fields of an approval.
func (Approval) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("thread_id").Immutable(),
		field.String("run_id").Immutable(),
		field.Int("attempt").Immutable(),
		field.String("kind").GoType(pluginsdk.ApprovalKind("")).Immutable(),
		field.String("state").GoType(pluginsdk.ApprovalState("")),
		field.String("tool").Immutable(),
		field.Text("input").Default("").Immutable(),
		field.String("digest").Immutable(),
		field.Text("title").Immutable(),
		field.Text("text").Default("").Immutable(),
		field.Text("note").Default("").Immutable(),
		field.String("cwd").Default("").Immutable(),
		field.JSON("questions", []pluginsdk.AgentQuestion{}).Optional().Immutable().SchemaType(jsonType()),
		field.JSON("choices", []pluginsdk.ApprovalChoice{}).Immutable().SchemaType(jsonType()),
		field.JSON("offers", map[string]pluginsdk.ApprovalRule{}).Optional().Immutable().SchemaType(jsonType()),
		field.Int64("message_id").Default(0),
		field.String("choice").Default(""),
		jsonField("answers", []pluginsdk.QuestionAnswer{}),
		field.Text("words").Default(""),
		field.String("author").Default(""),
		field.String("plugin").Default(""),
		field.String("rule_id").Default(""),
		originField(), // of who has answered
		field.Time("created_at").Immutable(),
		field.Time("expires_at").Immutable(),
		field.Time("decided_at").Optional().Nillable(),
		field.Time("spent_at").Optional().Nillable(),
	}
}

// Indexes of approvals. Few are open at a time: the last one finds those, and holds
// nothing else.
func (Approval) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("run_id"),
		index.Fields("thread_id", "id"),
		index.Fields("message_id"),
		index.Fields("expires_at").StorageKey("approval_open").Annotations(entsql.IndexWhere("state = 'open'")),
	}
}
