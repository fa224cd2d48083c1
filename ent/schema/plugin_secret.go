package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// PluginSecret is the table plugin_secrets: the secret settings of plugins,
// sealed. What opens them is not in the database.
type PluginSecret struct {
	ent.Schema
}

// Fields of a secret.
func (PluginSecret) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("plugin").Immutable(),
		field.String("name").Immutable(),
		field.Bytes("value").Sensitive(),
		field.Time("updated_at"),
	}
}

// Indexes of secrets.
func (PluginSecret) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("plugin", "name").Unique(),
	}
}
