package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// File is the table files: names for bytes that lie in the data directory; see
// pluginsdk.File.
type File struct {
	ent.Schema
}

// Fields of a file. The key tells a repetition of what made it, and is NULL when there is
// none. Attached says that a message refers to it, or has.
func (File) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("sha256").Immutable(),
		field.String("name"),
		field.String("type"),
		field.Int64("size"),
		field.String("thread_id").Default(""),
		field.String("plugin").Default(""),
		field.String("author").Default(""),
		field.String("key").Optional().Nillable(),
		switchField("attached"),
		field.Time("created_at").Immutable(),
	}
}

// Indexes of files. The last one finds what no message refers to.
func (File) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("sha256"),
		index.Fields("thread_id", "id"),
		index.Fields("key").Unique(),
		index.Fields("id").StorageKey("file_unattached").Annotations(entsql.IndexWhere("NOT attached")),
	}
}
