package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Reservation is the table reservations: what plugins' accounts have had spent from
// them, and what is set aside in them for runs that are not over. See
// ledger.Reservation.
type Reservation struct {
	ent.Schema
}

// Fields of a reservation. That of no run is the account itself, and its amount what
// the runs have cost that were reserved for and are over.
func (Reservation) Fields() []ent.Field {
	return []ent.Field{
		serialField(),
		field.String("plugin").Immutable(),
		field.String("account").Immutable(),
		field.String("run_id").Immutable(),
		field.Float("usd"),
		field.Float("base_usd").Default(0), // nobody uses it any more
		// Of a run that tops up: what of usd is for an attempt whose result is not stored.
		field.Float("open_usd").Default(0),
		// Of an account: what its newest reservation allowed to be spent.
		field.Float("limit_usd").Default(0),
		// What the amounts are in: US dollars (empty), or tokens.
		field.String("unit").Default(""),
	}
}

// Indexes of reservations. A run has one in an account.
func (Reservation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("plugin", "account", "run_id").Unique(),
	}
}
