package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// clean makes text storable on both databases; see the package's doc.
func clean(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// shortened is as much of valid text as has so many bytes.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// document checks that raw is a JSON object and returns it as it will be
// stored, so that what comes back can be compared. Empty and null become nil.
func document(field string, raw json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		return nil, nil
	}
	stored, err := json.Marshal(json.RawMessage(trimmed))
	if err != nil || trimmed[0] != '{' || !utf8.Valid(trimmed) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: must be a JSON object", field)
	}
	return stored, nil
}

// instant is a time as the databases keep it.
func instant(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}

// newID makes an UUIDv7; ids made by one process are in order.
func newID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInternal, "make an id: %w", err)
	}
	return id.String(), nil
}

// page bounds what a query returns: 100 by default, 1000 at most.
func page(limit int) int {
	switch {
	case limit <= 0:
		return 100
	case limit > 1000:
		return 1000
	}
	return limit
}

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
