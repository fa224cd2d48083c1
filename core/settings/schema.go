package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Schema is a plugin's settings schema, ready to be used. A Schema that was
// compiled from nothing accepts every object. It does not change, and may be
// used concurrently.
type Schema struct {
	root    *jsonschema.Schema   // nil: there is none
	whole   *jsonschema.Resolved // all rules
	shape   *jsonschema.Resolved // the rules of each property by itself
	secrets map[string]bool
}

// Property is one setting that a schema declares.
type Property struct {
	Name        string
	Description string
	Accepts     string          // in words
	Default     json.RawMessage // empty: none
	Secret      bool
	Required    bool
}

// Compile checks a JSON Schema as a plugin declares it and readies it for use.
// Errors have CodeInvalid and say what is wrong with the schema. The schema is a
// stranger's: Compile, and what is done with the result, take bounded time
// whatever it is.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	if isNothing(raw) {
		return &Schema{}, nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			s, err = nil, wrong("the schema cannot be used: %v", cause)
		}
	}()
	if err := checkSize(raw); err != nil {
		return nil, err
	}
	root := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, wrong("%w", err)
	}
	s = &Schema{root: root}
	if s.secrets, err = checkSchema(root); err != nil {
		return nil, err
	}
	if s.whole, err = root.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true}); err != nil {
		return nil, wrong("%w", err)
	}
	if s.shape, err = shapeOf(root).Resolve(nil); err != nil {
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

// Declared reports whether the plugin declared a schema at all.
func (s *Schema) Declared() bool { return s.root != nil }

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

func (s *Schema) property(name string) Property {
	declared := s.root.Properties[name]
	p := Property{
		Name: name, Description: declared.Description, Accepts: s.accepts(declared, 0),
		Default: declared.Default, Secret: s.secrets[name], Required: slices.Contains(s.root.Required, name),
	}
	target := s.target(declared)
	if p.Description == "" {
		p.Description = target.Description
	}
	if p.Default == nil {
		p.Default = target.Default
	}
	return p
}

// target is where the references of a schema lead.
func (s *Schema) target(schema *jsonschema.Schema) *jsonschema.Schema {
	for schema.Ref != "" {
		schema, _ = definition(s.root, schema.Ref)
	}
	return schema
}

// Redact returns what may be shown of settings: the properties that the schema
// declares and that are not secret. What is not declared is left out as well,
// because nothing says that it is no secret.
func (s *Schema) Redact(settings json.RawMessage) json.RawMessage {
	values, err := object(settings)
	if err != nil {
		return json.RawMessage("{}")
	}
	return encode(s.shown(values))
}

func (s *Schema) shown(values map[string]json.RawMessage) map[string]json.RawMessage {
	shown := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		if _, declared := s.Property(name); declared && !s.secrets[name] {
			shown[name] = value
		}
	}
	return shown
}

// wrong is a fault of a schema.
func wrong(format string, args ...any) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "settingsSchema: %w", fmt.Errorf(format, args...))
}
