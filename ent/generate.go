// Package ent is generated from ent/schema: the entities and their queries. Only
// core/store imports it.
package ent

//go:generate go tool -modfile=../.ci/tools.mod ent generate --feature sql/upsert,sql/modifier ./schema
