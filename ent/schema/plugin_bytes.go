package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PluginBytes is the table plugin_bytes: how many bytes of messages and metrics
// each plugin has stored, counted as they are written. On Postgres a plugin has
// several rows, so that transactions that store at the same time do not wait for
// each other; only their sum says something, and one alone may be negative.
type PluginBytes struct {
	ent.Schema
}

// Annotations of the table.
func (PluginBytes) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "plugin_bytes"}}
}

// Fields of a count.
func (PluginBytes) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Immutable(), // PLUGIN/SHARE
		field.String("plugin").Immutable(),
		field.Int64("bytes").Default(0),
	}
}

// Indexes of counts.
func (PluginBytes) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("plugin"),
	}
}
