package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// WorkspaceChange is the table workspace_changes; see pluginsdk.WorkspaceChange. The
// newest change of a file that was not refused says of which version it was when the
// daemon last looked.
type WorkspaceChange struct {
	ent.Schema
}

// Fields of a change.
func (WorkspaceChange) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("path").Immutable(),
		field.String("kind").GoType(pluginsdk.ChangeKind("")).Immutable(),
		field.String("before").Default("").Immutable(),
		field.String("version").Default("").Immutable(),
		field.Int64("size").Default(0).Immutable(),
		field.String("author").Default("").Immutable(),
		field.String("plugin").Default("").Immutable(),
		field.String("thread_id").Default("").Immutable(),
		field.String("run_id").Default("").Immutable(),
		originField(),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of changes.
func (WorkspaceChange) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("path", "id"),
		index.Fields("version"),
	}
}

// WorkspaceText is the table workspace_texts: what the files of the workspace have said,
// by the SHA-256 of the text, which is the version.
type WorkspaceText struct {
	ent.Schema
}

// Annotations of the table.
func (WorkspaceText) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "workspace_texts"}}
}

// Fields of a text.
func (WorkspaceText) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.Bytes("text").Immutable(),
	}
}
