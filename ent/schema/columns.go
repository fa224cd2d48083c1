package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// idField is an UUIDv7 that the caller makes.
func idField() ent.Field {
	return field.String("id").Immutable()
}

// serialField is an id that the database makes; it never gives one twice.
func serialField() ent.Field {
	return field.Int64("id")
}

// jsonType keeps JSON as it was written on both databases. (Postgres' jsonb
// reorders keys and refuses the escape \u0000, which agents do print.)
func jsonType() map[string]string {
	return map[string]string{dialect.Postgres: "json"}
}

// jsonField is a structured value, or NULL.
func jsonField(name string, of any) ent.Field {
	return field.JSON(name, of).Optional().SchemaType(jsonType())
}

// originField is where a row is from; NULL when there is nothing to say.
func originField() ent.Field {
	return jsonField("origin", &pluginsdk.Origin{})
}

// switchField is a Switch, off unless said otherwise.
func switchField(name string) ent.Field {
	return field.Other(name, Switch(false)).Default(Switch(false)).
		SchemaType(map[string]string{dialect.Postgres: "boolean", dialect.SQLite: "bool"}).
		Annotations(entsql.DefaultExprs(map[string]string{dialect.Postgres: "false", dialect.SQLite: "0"}))
}
