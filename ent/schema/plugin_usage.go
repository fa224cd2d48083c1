package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// PluginUsage is the table plugin_usages: how much each plugin keeps in
// plugin_states, and the newest revision of any of it, counted as it is written.
type PluginUsage struct {
	ent.Schema
}

// Fields of a count.
func (PluginUsage) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("plugin").Immutable(),
		field.Int64("state_keys").Default(0),
		field.Int64("state_bytes").Default(0), // of keys and values together
		field.Int64("state_revision").Default(0),
	}
}
