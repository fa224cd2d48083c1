package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/lib/pq"
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

func codeOf(err error) pluginsdk.Code {
	var uncertain *uncertainError
	switch {
	case errors.As(err, &uncertain):
		return pluginsdk.CodeUnavailable
	case errors.Is(err, context.Canceled):
		return pluginsdk.CodeCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return pluginsdk.CodeDeadline
	case ent.IsNotFound(err), errors.Is(err, sql.ErrNoRows):
		return pluginsdk.CodeNotFound
	case unreachable(err):
		return pluginsdk.CodeUnavailable
	}
	return pluginsdk.CodeInternal
}

// unreachable reports whether the same call may succeed later.
func unreachable(err error) bool {
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_READONLY,
			sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_CANTOPEN:
			return true
		}
		return false
	}
	var server *pq.Error
	if errors.As(err, &server) {
		switch server.Code.Class() {
		case "08", "40", "53", "57", "58": // connection, rollback, resources, intervention, system
			return true
		}
		return server.Code == "25006" || server.Code == "55P03" // read-only (a standby), lock not available
	}
	var network net.Error
	return errors.As(err, &network) || severed(err) || errors.Is(err, sql.ErrConnDone)
}

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
