package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a schema. A plugin's manifest is a stranger's word, and a schema can
// be small and yet take for ever, or the whole stack: by references that lead
// back, or that double at each step.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 40
	maxSchemaSteps = 10_000 // subschemas, each counted as often as it is referred to
)

func checkSize(raw json.RawMessage) error {
	if len(raw) > maxSchemaBytes {
		return wrong("at most %d bytes, this has %d", maxSchemaBytes, len(raw))
	}
	depth := 0
	for tokens := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return wrong("%w", err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxSchemaDepth {
				return wrong("nested more than %d deep", maxSchemaDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// checkSchema checks what the library leaves open, and returns the secrets.
func checkSchema(root *jsonschema.Schema) (secrets map[string]bool, err error) {
	if root.Type != "" && root.Type != "object" || root.Types != nil {
		return nil, wrong(`type: want "object", settings are one`)
	}
	c := checker{root: root, steps: make(map[string]int), secrets: make(map[string]bool)}
	if err := c.check(root, ""); err != nil {
		return nil, err
	}
	for name := range c.secrets {
		if root.Properties[name].Default != nil {
			return nil, wrong("%s: a secret cannot have a default, which everybody could read", name)
		}
	}
	steps, err := c.count(root, nil)
	if err == nil && steps > maxSchemaSteps {
		err = wrong("too large: with its references followed it has more than %d parts", maxSchemaSteps)
	}
	return c.secrets, err
}

type checker struct {
	root    *jsonschema.Schema
	steps   map[string]int // of each definition
	secrets map[string]bool
}

// check looks at every subschema once. at is where it is, for people.
func (c *checker) check(s *jsonschema.Schema, at string) error {
	if s == nil {
		return wrong("%s: want a schema, got null", at)
	}
	if err := c.checkKeywords(s, at); err != nil {
		return err
	}
	for step, child := range children(s) {
		if err := c.check(child, strings.TrimPrefix(at+"/"+step, "/")); err != nil {
			return err
		}
	}
	for kind, definitions := range map[string]map[string]*jsonschema.Schema{"$defs": s.Defs, "definitions": s.Definitions} {
		for name, child := range definitions {
			if err := c.check(child, strings.TrimPrefix(at+"/"+kind+"/"+name, "/")); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) checkKeywords(s *jsonschema.Schema, at string) error {
	if s.ID != "" && s != c.root || s.Anchor != "" || s.DynamicAnchor != "" || s.DynamicRef != "" {
		return wrong(`%s: $id, $anchor and $dynamicRef have no place in settings; use "$ref": "#/$defs/NAME"`, at)
	}
	if s.Ref != "" {
		if _, ok := definition(c.root, s.Ref); !ok {
			return wrong(`%s: $ref %q: want "#/$defs/NAME" of a definition in the schema itself`, at, s.Ref)
		}
	}
	for keyword, value := range s.Extra {
		if !strings.EqualFold(keyword, "secret") {
			continue
		}
		secret, isBool := value.(bool)
		name, top := strings.CutPrefix(at, "properties/")
		switch {
		case keyword != "secret":
			return wrong(`%s: the keyword is "secret", not %q`, at, keyword)
		case !isBool:
			return wrong("%s: secret: want true or false", at)
		case !top || c.root.Properties[name] != s:
			return wrong("%s: secret: only a setting as a whole, in the schema's own properties, can be a secret", at)
		}
		if secret {
			c.secrets[name] = true
		}
	}
	return nil
}

// count returns how many steps a validation can take at most, for each value
// that it looks at. within are the definitions that it is inside of.
func (c *checker) count(s *jsonschema.Schema, within []string) (int, error) {
	steps := 1
	for _, child := range children(s) {
		more, err := c.count(child, within)
		if err != nil {
			return 0, err
		}
		steps = min(steps+more, maxSchemaSteps+1)
	}
	if s.Ref == "" {
		return steps, nil
	}
	more, ok := c.steps[s.Ref]
	if !ok {
		if slices.Contains(within, s.Ref) {
			return 0, wrong("$ref %q: it leads back to itself", s.Ref)
		}
		target, _ := definition(c.root, s.Ref)
		var err error
		if more, err = c.count(target, append(slices.Clone(within), s.Ref)); err != nil {
			return 0, err
		}
		c.steps[s.Ref] = more
	}
	return min(steps+more, maxSchemaSteps+1), nil
}

// definition returns what a reference refers to.
func definition(root *jsonschema.Schema, ref string) (*jsonschema.Schema, bool) {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return root.Defs[name], root.Defs[name] != nil
	}
	name, ok := strings.CutPrefix(ref, "#/definitions/")
	return root.Definitions[name], ok && root.Definitions[name] != nil
}

// children returns the subschemas of a schema but for its definitions, with
// their places. (All of jsonschema.Schema's fields that are schemas are here; a
// test compares.)
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
		for name, child := range maps.All(named) {
			found[step+"/"+name] = child
		}
	}
	return found
}
