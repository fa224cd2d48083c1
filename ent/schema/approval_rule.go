package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// ApprovalRule is the table approval_rules; see pluginsdk.ApprovalRule. A rule that is
// revoked is deleted: the audit log has what it was.
type ApprovalRule struct {
	ent.Schema
}

// Fields of a rule. They are never changed.
func (ApprovalRule) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("thread_id").Immutable(),
		field.String("tool").Immutable(),
		field.String("kind").Immutable(),
		field.Text("value").Default("").Immutable(),
		field.Text("text").Immutable(),
		field.String("author").Default("").Immutable(),
		field.String("plugin").Default("").Immutable(),
		field.String("approval_id").Default("").Immutable(),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of rules.
func (ApprovalRule) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("thread_id", "id"),
	}
}
