package settings

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// typeWords are what people call the types of JSON.
var typeWords = map[string]string{
	"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
	"array": "a list", "object": "an object", "null": "null",
}

// maxDescribed is how deep a description goes into a schema.
const maxDescribed = 3

// accepts says in words what a schema accepts.
func (s *Schema) accepts(schema *jsonschema.Schema, depth int) string {
	schema = s.bounded.Target(schema)
	switch {
	case depth > maxDescribed:
		return "what its schema says"
	case schema.Const != nil:
		return jsonText(*schema.Const)
	case len(schema.Enum) > 0:
		return "one of " + joined(schema.Enum, jsonText)
	case len(schema.AnyOf) > 0:
		return s.either(schema.AnyOf, depth)
	case len(schema.OneOf) > 0:
		return s.either(schema.OneOf, depth)
	}
	types := schema.Types
	if schema.Type != "" {
		types = []string{schema.Type}
	}
	if len(types) == 0 {
		return "any value"
	}
	words := make([]string, 0, len(types))
	for _, name := range types {
		words = append(words, s.typeAccepts(name, schema, depth))
	}
	return strings.Join(words, " or ")
}

func (s *Schema) either(schemas []*jsonschema.Schema, depth int) string {
	words := make([]string, 0, len(schemas))
	for _, one := range schemas {
		words = append(words, s.accepts(one, depth+1))
	}
	return strings.Join(words, ", or ")
}

func (s *Schema) typeAccepts(name string, schema *jsonschema.Schema, depth int) string {
	words, known := typeWords[name]
	if !known {
		words = name
	}
	switch name {
	case "string":
		words += span(whole(schema.MinLength), whole(schema.MaxLength), " characters")
		if schema.Pattern != "" {
			words += fmt.Sprintf(" that matches %s", short(json.RawMessage(schema.Pattern)))
		}
		if schema.Format != "" {
			words += fmt.Sprintf(" (%s)", short(json.RawMessage(schema.Format)))
		}
	case "integer", "number":
		words += span(schema.Minimum, schema.Maximum, "")
		if schema.ExclusiveMinimum != nil {
			words += fmt.Sprintf(" above %s", numeral(*schema.ExclusiveMinimum))
		}
		if schema.ExclusiveMaximum != nil {
			words += fmt.Sprintf(" below %s", numeral(*schema.ExclusiveMaximum))
		}
		if schema.MultipleOf != nil {
			words += fmt.Sprintf(" that is a multiple of %s", numeral(*schema.MultipleOf))
		}
	case "array":
		words += span(whole(schema.MinItems), whole(schema.MaxItems), " items")
		if schema.Items != nil {
			words += ", each of them " + s.accepts(schema.Items, depth+1)
		}
	}
	return words
}

// span says between what bounds something is.
func span(low, high *float64, unit string) string {
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(" of %s to %s%s", numeral(*low), numeral(*high), unit)
	case low != nil:
		return fmt.Sprintf(" of at least %s%s", numeral(*low), unit)
	case high != nil:
		return fmt.Sprintf(" of at most %s%s", numeral(*high), unit)
	}
	return ""
}

// numeral is a number as people write it: 1048576, not 1.048576e+06.
func numeral(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func whole(n *int) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func joined[T any](values []T, text func(T) string) string {
	words := make([]string, len(values))
	for n, value := range values {
		words[n] = text(value)
	}
	return strings.Join(words, ", ")
}

func jsonText(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return short(encoded)
}
