package ent

//go:generate go tool -modfile=../.ci/tools.mod ent generate --feature sql/upsert,sql/modifier ./schema
