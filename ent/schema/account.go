package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Account is the table accounts: the logins and keys of the agent's by name; see
// ledger.Account. What opens a sealed key is not in the database.
type Account struct {
	ent.Schema
}

// Fields of an account. At most one is the default.
func (Account) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").StorageKey("name").Immutable(),
		field.String("kind").GoType(pluginsdk.AccountKind("")).Immutable(),
		field.Bool("is_default").Default(false),
		field.Bool("overage").Default(false),
		field.String("fallback").Default(""),
		field.Float("daily_limit_usd").Default(0),
		field.String("home").Default(""),
		field.Bytes("key").Optional().Nillable().Sensitive(),
		field.Time("created_at").Immutable(),
		field.Time("updated_at"),
	}
}
