package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// Lever is the table levers: what operators turn on and off for the whole
// installation. What has no row is off.
type Lever struct {
	ent.Schema
}

// Fields of a lever. Its id is its name.
func (Lever) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		switchField("on"),
		field.String("who").Default(""), // who turned it last
		field.Time("updated_at"),
	}
}
