package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Token is the table tokens: who may call from outside.
type Token struct {
	ent.Schema
}

// Fields of a token.
func (Token) Fields() []ent.Field {
	return []ent.Field{
		idField(),
		field.String("name").Immutable(),
		field.String("kind").Immutable(),
		field.String("scope").Immutable(),
		field.String("parent_id").Default("").Immutable(),
		field.String("hash").Immutable().Sensitive().Comment("SHA-256 of the secret, in hex"),
		field.String("created_by").Default("").Immutable(),
		field.Time("created_at").Immutable(),
		field.Time("expires_at").Optional().Nillable().Immutable(),
		field.Time("last_used_at").Optional().Nillable().Comment("of a login token: when it was used up"),
		field.Time("revoked_at").Optional().Nillable(),
	}
}

// Indexes of tokens.
func (Token) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("hash").Unique(),
		index.Fields("parent_id"),
		index.Fields("revoked_at"),
	}
}
