package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// firstYear and lastYear bound the times that are kept: no clock that Harness
// runs by shows others, JSON knows none after, and SQLite sorts and reads them
// only within.
const (
	firstYear = 1970
	lastYear  = 9999
)

// moment is a time that came from outside, and the field that it came in.
type moment struct {
	field string
	at    time.Time
}

// checkTimes refuses (CodeInvalid) the times that cannot be kept. Every time
// that is not this store's own passes here. A zero one is none.
func checkTimes(moments ...moment) error {
	for _, m := range moments {
		if !m.at.IsZero() && keepable(m.at).IsZero() {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %s is not within the years %d to %d (UTC)",
				m.field, m.at.UTC().Format(time.RFC3339), firstYear, lastYear)
		}
	}
	return nil
}

// keepable is the time, or none in place of one that cannot be kept: rows may
// have some, from before they were refused or by SQL.
func keepable(at time.Time) time.Time {
	if year := at.UTC().Year(); year < firstYear || year > lastYear {
		return time.Time{}
	}
	return at
}

// misread reports whether rows may have been there that ent could not read.
func misread(err error) bool { return err != nil && codeOf(err) == pluginsdk.CodeInternal }

// readTimes reads columns with times past ent, which gives up a whole list for a
// single value that is no time: SQLite keeps whatever was written, and Postgres
// knows infinity. Such a value is none. The times of a row are found under its
// id, in the order of the columns. Where selects the rows.
func readTimes[ID comparable](ctx context.Context, from entsql.ExecQuerier, table string, columns []string, where string, args ...any,
) (_ map[ID][]*time.Time, err error) {
	rows, err := from.QueryContext(ctx, fmt.Sprintf("SELECT id, %s FROM %s WHERE %s", strings.Join(columns, ", "), table, where), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := make(map[ID][]*time.Time)
	for rows.Next() {
		var id ID
		values := make([]any, len(columns))
		into := []any{&id}
		for i := range values {
			into = append(into, &values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for _, value := range values {
			var read *time.Time
			if at, ok := value.(time.Time); ok {
				read = &at
			}
			found[id] = append(found[id], read)
		}
	}
	return found, rows.Err()
}

// without returns the columns but some.
func without(columns []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(name string) bool { return slices.Contains(some, name) })
}
