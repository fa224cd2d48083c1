package store

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A row in a backup is a JSON object with a member for each column, in their
// order. Text is a string, JSON is a string too (it is kept as it was written),
// times are RFC 3339 in UTC, bytes are base64. SQLite keeps whatever an
// operator writes into a column; what is not of the column's kind is saved as
// what it is, and what Postgres thinks of it shows when it is restored there.

// appendRow appends a row and a line feed.
func appendRow(to []byte, columns []savedColumn, values []any) ([]byte, error) {
	to = append(to, '{')
	for i, column := range columns {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendString(to, column.Name), ':')
		var err error
		if to, err = appendValue(to, column.Kind, values[i]); err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return append(to, '}', '\n'), nil
}

func appendValue(to []byte, of kind, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, v), nil
	case int64:
		if of == kindBool && (v == 0 || v == 1) {
			return strconv.AppendBool(to, v == 1), nil
		}
		return strconv.AppendInt(to, v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return appendString(to, strconv.FormatFloat(v, 'g', -1, 64)), nil
		}
		return strconv.AppendFloat(to, v, 'g', -1, 64), nil
	case time.Time:
		return appendString(to, v.UTC().Format(time.RFC3339Nano)), nil
	case string:
		return appendText(to, of, v), nil
	case []byte:
		return appendText(to, of, string(v)), nil
	}
	return nil, fmt.Errorf("a value of the type %T cannot be saved", value)
}

func appendText(to []byte, of kind, text string) []byte {
	if of == kindBytes {
		return appendString(to, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	return appendString(to, clean(text))
}

func appendString(to []byte, text string) []byte {
	encoded, _ := json.Marshal(text) //nolint:errchkjson // a string
	return append(to, encoded...)
}

// parseRow is the inverse of appendRow.
func parseRow(line []byte, columns []savedColumn) ([]any, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	if len(members) != len(columns) {
		return nil, fmt.Errorf("%d members instead of %d", len(members), len(columns))
	}
	values := make([]any, len(columns))
	for i, column := range columns {
		raw, ok := members[column.Name]
		if !ok {
			return nil, fmt.Errorf("column %s is missing", column.Name)
		}
		var err error
		if values[i], err = parseValue(column.Kind, raw); err != nil {
			return nil, fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return values, nil
}

func parseValue(of kind, raw json.RawMessage) (any, error) {
	switch raw[0] {
	case 'n':
		return nil, nil
	case 't', 'f':
		return raw[0] == 't', nil
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		return parseText(of, text)
	case '{', '[':
		return nil, fmt.Errorf("%.40s is not a value of a column", raw)
	}
	if of != kindFloat && !bytes.ContainsAny(raw, ".eE") {
		return strconv.ParseInt(string(raw), 10, 64)
	}
	return strconv.ParseFloat(string(raw), 64)
}

func parseText(of kind, text string) (any, error) {
	switch of {
	case kindBytes:
		return base64.StdEncoding.DecodeString(text)
	case kindJSON:
		return []byte(text), nil // what ent binds
	case kindTime:
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at.UTC(), nil
		}
	case kindFloat:
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			return number, nil
		}
	case kindText, kindInt, kindBool:
	}
	return text, nil
}
