package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fill adds the schema's defaults for what is missing, also inside of objects
// that are there.
func (s *Schema) fill(values map[string]json.RawMessage) map[string]json.RawMessage {
	if s.root == nil {
		return values
	}
	return s.fillObject(s.root, values)
}

func (s *Schema) fillObject(schema *jsonschema.Schema, values map[string]json.RawMessage) map[string]json.RawMessage {
	filled := maps.Clone(values)
	for name, property := range schema.Properties {
		target := s.bounded.Target(property)
		value, there := values[name]
		switch {
		case !there && property.Default != nil:
			value = property.Default
		case !there && target.Default != nil:
			value = target.Default
		case !there:
			continue
		}
		if inside, err := object(value); err == nil && len(target.Properties) > 0 {
			value = encode(s.fillObject(target, inside))
		}
		filled[name] = value
	}
	return filled
}

// object reads a JSON object; nothing and null are an empty one.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	values := make(map[string]json.RawMessage)
	if isNothing(raw) {
		return values, nil
	}
	if !utf8.Valid(raw) || json.Unmarshal(raw, &values) != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: must be a JSON object")
	}
	return values, nil
}

func isNothing(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null"))
}

// encode is the same for the same values.
func encode(values map[string]json.RawMessage) json.RawMessage {
	encoded, err := json.Marshal(values)
	if err != nil {
		return json.RawMessage("{}") // not reached: they were parsed before
	}
	return encoded
}

func decode(raw json.RawMessage) (value any, err error) {
	err = json.Unmarshal(raw, &value)
	return value, err
}
