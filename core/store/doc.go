// Package store keeps all that Harness remembers, in SQLite or Postgres. It
// alone imports package ent.
//
// # Promises
//
// A write that returned nil is stored. Durable writes (what the pipeline and
// the inbox promise to people) are on disk by then; the others survive a crash
// of the daemon, and may lose their last instants to a power failure, never
// their order. The comments of package ledger and of each method say which
// writes belong to one transaction.
//
// Writes that carry a ledger.Fence check in their own transaction that no other
// run has taken the thread since, and are refused (CodeStale) otherwise.
//
// Errors carry a pluginsdk.Code. CodeUnavailable means that the database did
// not answer, takes nothing at the moment (a lock, a full disk), is being
// closed, or that a COMMIT had no known outcome: repeat it. CodeCancelled and
// CodeDeadline are the caller's own context. No other passes by itself:
// CodeInvalid refuses what was given (a value too big, one that is none),
// CodeInternal is damage, or a fault of Harness; CodeNotFound, CodeConflict,
// CodeExhausted and CodeStale are what the methods say.
//
// # The writer
//
// SQLite has one writer at a time, and a COMMIT that is on disk costs far more
// than what is in it. So every write is a closure. Who finds nobody writing runs
// its own; what is handed in meanwhile waits for one goroutine,
// which takes all that wait, runs each in a SAVEPOINT of one transaction
// (rolled back alone when it fails or panics), commits once, and then answers
// all. The COMMIT waits for the disk when one of them asked for it. A caller
// that gives up before its turn is left out; afterwards its write is finished.
// Readers have connections of their own and never wait for the writer.
//
// On Postgres each closure is a transaction of its own, repeated when the
// server says that it lost a race (deadlock, serialization), and when its
// connection turns out to be dead before the COMMIT.
//
// # Text
//
// Postgres stores neither NUL bytes nor invalid UTF-8, and agents print both.
// Text is cleaned on its way in, on both databases: each such byte becomes
// U+FFFD. Times are UTC, in microseconds, of the years 1970 to 9999: others are
// refused, and rows that have some all the same are read without them.
package store
