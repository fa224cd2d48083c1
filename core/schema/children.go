package schema

import (
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// children returns the schemas in a schema but for its definitions, by their
// places, as a JSON pointer has them. (All of jsonschema.Schema's fields that are
// schemas are here or in definitions; a test compares.)
func children(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	found := make(map[string]*jsonschema.Schema)
	for step, child := range map[string]*jsonschema.Schema{
		"items": s.Items, "additionalItems": s.AdditionalItems, "contains": s.Contains,
		"unevaluatedItems": s.UnevaluatedItems, "additionalProperties": s.AdditionalProperties,
		"propertyNames": s.PropertyNames, "unevaluatedProperties": s.UnevaluatedProperties,
		"not": s.Not, "if": s.If, "then": s.Then, "else": s.Else, "contentSchema": s.ContentSchema,
	} {
		if child != nil {
			found[step] = child
		}
	}
	for step, list := range map[string][]*jsonschema.Schema{
		"prefixItems": s.PrefixItems, "items": s.ItemsArray, "allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf,
	} {
		for n, child := range list {
			found[fmt.Sprintf("%s/%d", step, n)] = child
		}
	}
	for step, named := range map[string]map[string]*jsonschema.Schema{
		"properties": s.Properties, "patternProperties": s.PatternProperties,
		"dependentSchemas": s.DependentSchemas, "dependencies": s.DependencySchemas,
	} {
		add(found, step, named)
	}
	return found
}

// definitions returns the definitions in a schema likewise.
func definitions(s *jsonschema.Schema) map[string]*jsonschema.Schema {
	found := make(map[string]*jsonschema.Schema)
	add(found, "$defs", s.Defs)
	add(found, "definitions", s.Definitions)
	return found
}

func add(found map[string]*jsonschema.Schema, step string, named map[string]*jsonschema.Schema) {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for name, child := range named {
		found[step+"/"+escape.Replace(name)] = child
	}
}

// Any reports whether one of the schemas that of is made of is as asked: itself, those in
// it, and those that they refer to.
func (s *Schema) Any(of *jsonschema.Schema, is func(*jsonschema.Schema) bool) bool {
	seen := make(map[*jsonschema.Schema]bool)
	var found func(*jsonschema.Schema) bool
	found = func(one *jsonschema.Schema) bool {
		if one == nil || seen[one] {
			return false
		}
		seen[one] = true
		if is(one) || found(s.Target(one)) {
			return true
		}
		for _, child := range children(one) {
			if found(child) {
				return true
			}
		}
		return false
	}
	return found(of)
}
