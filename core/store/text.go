package store

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

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

// nullable is a time for a column that holds NULL for none.
func nullable(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = instant(t)
	return &t
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// keyOrNil is a key for a column that holds NULL for none.
func keyOrNil(key string) *string {
	if key == "" {
		return nil
	}
	return &key
}

func orEmpty(key *string) string {
	if key == nil {
		return ""
	}
	return *key
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
