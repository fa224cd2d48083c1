// Package schema is the hand-written description of the tables that Harness
// keeps. The rest of package ent is generated from it (go generate ./ent), and
// core/store/migrations follows it: a test compares the two on both databases.
//
// What the columns mean is said where the domain types are, in pluginsdk. Rows
// refer to each other by id without foreign keys: every write that needs the
// other row reads or locks it in the same transaction, and
// store.Integrity looks for orphans.
package schema
