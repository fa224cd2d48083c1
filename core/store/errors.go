package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// wrap gives a database error the operation's name and a code. Errors that
// have a code already pass unchanged.
func wrap(operation string, err error) error {
	var coded *pluginsdk.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return pluginsdk.Errorf(codeOf(err), "%s: %w", operation, err)
}

// codeOf says what kind of outcome an error of the database is. Unavailable is
// what may pass by itself: no connection, a lock, a disk that is full or
// read-only, a shutdown. Whoever gets it may try again for as long as it likes.
// What the database refuses for what it was given is Invalid; the rest
// (constraints, damage, faults of Harness) is Internal, and lasts.
func codeOf(err error) pluginsdk.Code {
	var uncertain *uncertainError
	var lite interface {
		error
		Code() int
	}
	var server *pq.Error
	var network net.Error
	switch {
	case errors.As(err, &uncertain):
		return pluginsdk.CodeUnavailable
	case errors.Is(err, context.Canceled):
		return pluginsdk.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return pluginsdk.CodeDeadline
	case ent.IsNotFound(err), errors.Is(err, sql.ErrNoRows):
		return pluginsdk.CodeNotFound
	case errors.As(err, &lite):
		return sqliteCode(lite.Code())
	case errors.As(err, &server):
		return postgresCode(server.Code)
	case errors.As(err, &network), severed(err), errors.Is(err, sql.ErrConnDone), closed(err):
		return pluginsdk.CodeUnavailable
	}
	return pluginsdk.CodeInternal
}

// sqliteCode is codeOf for a result code (https://sqlite.org/rescode.html).
func sqliteCode(code int) pluginsdk.Code {
	switch code {
	case sqlitelib.SQLITE_IOERR_CORRUPTFS, sqlitelib.SQLITE_IOERR_DATA:
		return pluginsdk.CodeInternal
	}
	switch code & 0xff {
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL, sqlitelib.SQLITE_NOMEM,
		sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_CANTOPEN:
		return pluginsdk.CodeUnavailable
	case sqlitelib.SQLITE_TOOBIG, sqlitelib.SQLITE_MISMATCH:
		return pluginsdk.CodeInvalid
	}
	return pluginsdk.CodeInternal
}

// Damaged reports whether an error says that the database's file is not a sound database.
func Damaged(err error) bool {
	var lite interface {
		error
		Code() int
	}
	if !errors.As(err, &lite) {
		return false
	}
	switch lite.Code() & 0xff {
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return true
	}
	return false
}

// postgresCode is codeOf for an SQLSTATE
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func postgresCode(code pqerror.Code) pluginsdk.Code {
	switch code {
	case "25006", "55P03": // read-only (a standby), lock not available
		return pluginsdk.CodeUnavailable
	case "08P01", "40002", "58P01", "58P02": // protocol, constraint, a file that is missing or there twice
		return pluginsdk.CodeInternal
	}
	switch code.Class() {
	case "08", "40", "53", "57", "58": // connection, rollback, resources, intervention, system
		return pluginsdk.CodeUnavailable
	case "22", "54": // data, limits
		return pluginsdk.CodeInvalid
	}
	return pluginsdk.CodeInternal
}

// closed reports whether the store was closed, which database/sql says only in
// words.
func closed(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.Error() {
		case "sql: database is closed", "sql: statement is closed":
			return true
		}
	}
	return false
}

// unreachable reports whether the same call may succeed later.
func unreachable(err error) bool { return codeOf(err) == pluginsdk.CodeUnavailable }

// severed reports whether a connection to Postgres that had been made broke, so
// that another one may do.
func severed(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op != "dial" || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// duplicate reports whether a unique index refused the write.
func duplicate(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		code := lite.Code()
		return code == sqlitelib.SQLITE_CONSTRAINT_UNIQUE || code == sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	var server *pq.Error
	return errors.As(err, &server) && server.Code == "23505"
}

// notFound is CodeNotFound, naming what was looked for.
func notFound(what, id string) error {
	return pluginsdk.Errorf(pluginsdk.CodeNotFound, "no %s with the id %q", what, id)
}
