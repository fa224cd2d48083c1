package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PluginState is the table plugin_states: each plugin's own small store of
// keys and values.
type PluginState struct {
	ent.Schema
}

// Fields of an entry.
func (PluginState) Fields() []ent.Field {
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
func (PluginState) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("plugin", "key").Unique(),
	}
}
