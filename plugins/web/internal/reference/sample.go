package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// deepest is how deep objects go in a sample.
const deepest = 3

// sampleOf is a body as it can be written: what it must have, or of one that must have
// nothing its first property.
func sampleOf(schema *huma.Schema, types huma.Registry, depth int) string {
	if schema == nil {
		return "{}"
	}
	names := slices.Clone(schema.Required)
	slices.Sort(names)
	if all := slices.Sorted(maps.Keys(schema.Properties)); len(names) == 0 && len(all) > 0 && depth == 0 {
		names = all[:1]
	}
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, jsonOf(name)+": "+valueOf(schema.Properties[name], types, depth+1))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func valueOf(schema *huma.Schema, types huma.Registry, depth int) string {
	schema = resolved(schema, types)
	switch {
	case schema == nil || depth > deepest:
		return "null"
	case len(schema.Enum) > 0:
		return jsonOf(schema.Enum[0])
	case schema.Default != nil:
		return jsonOf(schema.Default)
	}
	switch schema.Type {
	case huma.TypeObject:
		return sampleOf(schema, types, depth)
	case huma.TypeArray:
		return "[" + valueOf(schema.Items, types, depth) + "]"
	case huma.TypeBoolean:
		return "true"
	case huma.TypeInteger, huma.TypeNumber:
		return "1"
	}
	return `"..."`
}

func jsonOf(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return "null"
	}
	return string(encoded)
}
