package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// StateEntry is the table plugin_states: each plugin's own small store of
// keys and values.
type StateEntry struct {
	ent.Schema
}

// Annotations of the table.
func (StateEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "plugin_states"}}
}

// Fields of an entry.
func (StateEntry) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("plugin").Immutable(),
		field.String("key").Immutable(),
		field.Bytes("value"),
		field.Int64("revision").Default(1),
		field.Time("updated_at"),
	}
}

// Indexes of entries.
func (StateEntry) Indexes() []ent.Index {
	return []ent.Index{
		// The name that the index had before the entity had this one.
		index.Fields("plugin", "key").Unique().StorageKey("pluginstate_plugin_key"),
	}
}
