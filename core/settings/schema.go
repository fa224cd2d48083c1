package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Schema is a plugin's settings schema, ready to be used. A Schema that was
// compiled from nothing accepts every object. It does not change, and may be
// used concurrently.
type Schema struct {
	bounded *schema.Schema       // nil: there is none
	root    *jsonschema.Schema   // of bounded
	whole   *jsonschema.Resolved // all rules
	shape   *jsonschema.Resolved // the rules of each property by itself
	secrets map[string]bool
	// operators are the properties that only an operator changes.
	operators map[string]bool
}

// limits bound the schemas of strangers.
var limits = schema.Limits{Bytes: 64 << 10, Depth: 40, Steps: 10_000, Work: 50_000_000}

// Property is one setting that a schema declares.
type Property struct {
	Name        string
	Description string
	Accepts     string          // in words
	Default     json.RawMessage // empty: none
	Secret      bool
	Required    bool
	Operator    bool // only an operator changes it
}

// Compile checks a JSON Schema as a plugin declares it and readies it for use.
// Errors have CodeInvalid and say what is wrong with the schema. The schema is a
// stranger's: Compile, and what is done with the result, take bounded time
// whatever it is.
func Compile(raw json.RawMessage) (*Schema, error) {
	if isNothing(raw) {
		return &Schema{}, nil
	}
	bounded, err := schema.Compile(raw, limits)
	if err != nil {
		return nil, wrong("%w", err)
	}
	s := &Schema{bounded: bounded, root: bounded.Root()}
	if s.secrets, err = secretsIn(bounded); err != nil {
		return nil, err
	}
	if s.operators, err = marked(bounded, "operator"); err != nil {
		return nil, err
	}
	err = schema.Guard(func() (err error) {
		if s.whole, err = s.root.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
			return err
		}
		s.shape, err = shapeOf(s.root).Resolve(nil)
		return err
	})
	if err != nil {
		return nil, wrong("%w", err)
	}
	return s, nil
}

// shapeOf is a schema without the rules about several properties.
func shapeOf(root *jsonschema.Schema) *jsonschema.Schema {
	clone := root.CloneSchemas()
	return &jsonschema.Schema{
		Schema: clone.Schema, ID: clone.ID, Defs: clone.Defs, Definitions: clone.Definitions,
		Properties: clone.Properties, PatternProperties: clone.PatternProperties,
		AdditionalProperties: clone.AdditionalProperties,
	}
}

// Secrets returns the names of the properties that are secret, sorted.
func (s *Schema) Secrets() []string { return slices.Sorted(maps.Keys(s.secrets)) }

// Secret reports whether the property is secret.
func (s *Schema) Secret(name string) bool { return s.secrets[name] }

// Properties returns the declared settings by name.
func (s *Schema) Properties() []Property {
	if s.root == nil {
		return nil
	}
	properties := make([]Property, 0, len(s.root.Properties))
	for _, name := range slices.Sorted(maps.Keys(s.root.Properties)) {
		properties = append(properties, s.property(name))
	}
	return properties
}

// Property returns one declared setting, and whether it is declared.
func (s *Schema) Property(name string) (Property, bool) {
	if s.root == nil || s.root.Properties[name] == nil {
		return Property{}, false
	}
	return s.property(name), true
}

// free reports whether a setting can be any text, or have one in it: not when it is a
// number, true or false, or one of what the schema lists.
func (s *Schema) free(name string) bool {
	if _, declared := s.Property(name); !declared {
		return true
	}
	if of := s.bounded.Target(s.root.Properties[name]); of.Const != nil || len(of.Enum) > 0 {
		return false
	}
	types := s.types(name)
	return len(types) == 0 || slices.ContainsFunc(types, func(kind string) bool {
		return !slices.Contains([]string{"integer", "number", "boolean", "null"}, kind)
	})
}

// addresses are the formats of what something can be sent to.
var addresses = []string{
	"uri", "uri-reference", "uri-template", "iri", "iri-reference", "hostname", "idn-hostname", "ipv4", "ipv6", "email", "idn-email",
}

// address reports whether a setting is declared to be an address, or to have one in it.
func (s *Schema) address(name string) bool {
	_, declared := s.Property(name)
	return declared && s.bounded.Any(s.root.Properties[name], func(of *jsonschema.Schema) bool { return slices.Contains(addresses, of.Format) })
}

func (s *Schema) property(name string) Property {
	declared := s.root.Properties[name]
	p := Property{
		Name: name, Description: declared.Description, Accepts: s.accepts(declared, 0),
		Default: declared.Default, Secret: s.secrets[name], Operator: s.operators[name], Required: slices.Contains(s.root.Required, name),
	}
	target := s.bounded.Target(declared)
	if p.Description == "" {
		p.Description = target.Description
	}
	if p.Default == nil {
		p.Default = target.Default
	}
	return p
}

// wrong is a fault of a schema.
func wrong(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settingsSchema: %w", fmt.Errorf(format, args...))
}
