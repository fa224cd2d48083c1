package schema

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// Switch is a boolean that operators set by hand in SQL. Postgres checks what
// they write; SQLite takes anything, so that it is checked when read.
type Switch bool

// Value stores a boolean.
func (s Switch) Value() (driver.Value, error) {
	return bool(s), nil
}

// Scan reads what people write for on and off, in any case: 1, true, t, yes,
// on; and 0, false, f, no, off.
func (s *Switch) Scan(value any) error {
	switch v := value.(type) {
	case bool:
		*s = Switch(v)
		return nil
	case int64:
		return s.parse(fmt.Sprint(v))
	case float64:
		return s.parse(fmt.Sprint(v))
	case string:
		return s.parse(v)
	case []byte:
		return s.parse(string(v))
	}
	return fmt.Errorf("%v is neither on nor off; write true or false", value)
}

func (s *Switch) parse(text string) error {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true", "t", "yes", "on":
		*s = true
	case "0", "false", "f", "no", "off":
		*s = false
	default:
		return fmt.Errorf("%q is neither on nor off; write true or false", text)
	}
	return nil
}
