package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// AuditEntry is the table audit_entries: who did what to the installation.
type AuditEntry struct {
	ent.Schema
}

// Fields of an entry.
func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("who").Immutable(),
		field.String("action").Immutable(),
		field.String("target").Default("").Immutable(),
		field.Text("detail").Default("").Immutable(),
		field.Time("created_at").Immutable(),
	}
}
