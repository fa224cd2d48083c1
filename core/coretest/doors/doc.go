// Package doors tries every way in against every right, on a running daemon, and writes down
// what it finds: docs/doors.md. What is expected is computed from the tables of the code; its
// test fails where the two differ.
package doors
