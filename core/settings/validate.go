package settings

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	maxShown  = 80 // how much of a wrong value an error repeats
	maxFaults = 20 // how many an error names
)

// Validate checks settings, with their secrets and their defaults. The error has
// CodeInvalid and names every property that is wrong, why, and what is accepted;
// it never has the value of a secret, or of a property that is not declared.
func (s *Schema) Validate(settings json.RawMessage) error {
	values, err := object(settings)
	if err != nil {
		return err
	}
	return asError(s.faults(values))
}

func asError(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s", strings.Join(faults, "; "))
}

// faults are what is wrong with settings as a whole.
func (s *Schema) faults(values map[string]json.RawMessage) []string {
	if faults := s.wrongValues(values); len(faults) > 0 {
		return faults
	}
	return s.wrongTogether(values)
}

// wrongValues are the properties that are wrong by themselves.
func (s *Schema) wrongValues(values map[string]json.RawMessage) (faults []string) {
	if s.root == nil {
		return nil
	}
	if err := s.bounded.Affords(encode(values)); err != nil {
		return []string{err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if fault := s.wrongValue(name, values[name]); fault != "" {
			faults = append(faults, fault)
		}
		if len(faults) == maxFaults {
			break
		}
	}
	return faults
}

func (s *Schema) wrongValue(name string, raw json.RawMessage) string {
	value, err := decode(raw)
	if err == nil && schema.Guard(func() error { return s.shape.Validate(map[string]any{name: value}) }) == nil {
		return ""
	}
	property, declared := s.Property(name)
	switch {
	case !declared:
		return s.wrongName(name)
	case property.Secret:
		return name + ": the value is not accepted; it takes " + property.Accepts
	}
	return name + ": " + short(raw) + " is not accepted; it takes " + property.Accepts
}

// wrongName says that a property has a name, or for its name a value, that the
// schema refuses.
func (s *Schema) wrongName(name string) string {
	if len(s.root.PatternProperties) > 0 || len(s.root.Properties) == 0 {
		return name + ": it is not accepted here"
	}
	return name + ": there is no such setting; there are " + joined(s.Properties(), func(p Property) string { return p.Name })
}

// wrongTogether are the rules about several properties that are broken.
func (s *Schema) wrongTogether(values map[string]json.RawMessage) (faults []string) {
	if s.root == nil {
		return nil
	}
	for _, name := range s.root.Required {
		if _, ok := values[name]; !ok {
			faults = append(faults, s.missing(name))
		}
	}
	if len(faults) > 0 {
		return faults
	}
	whole := make(map[string]any, len(values))
	for name, raw := range values {
		whole[name], _ = decode(raw) // wrongValues has decoded them
	}
	// The library's words can hold values, so they are not used.
	if schema.Guard(func() error { return s.whole.Validate(whole) }) != nil {
		return []string{"each setting is accepted by itself, but the plugin's schema does not accept them together (" +
			s.togetherKeywords() + ")"}
	}
	return nil
}

func (s *Schema) missing(name string) string {
	if property, ok := s.Property(name); ok {
		return name + ": it is required and not set; it takes " + property.Accepts
	}
	return name + ": it is required and not set"
}

// togetherKeywords names the rules of the schema about several properties.
func (s *Schema) togetherKeywords() string {
	var keywords []string
	for keyword, has := range map[string]bool{
		"allOf": s.root.AllOf != nil, "anyOf": s.root.AnyOf != nil, "oneOf": s.root.OneOf != nil, "not": s.root.Not != nil,
		"if": s.root.If != nil, "dependentRequired": s.root.DependentRequired != nil,
		"dependentSchemas": s.root.DependentSchemas != nil, "minProperties": s.root.MinProperties != nil,
		"maxProperties": s.root.MaxProperties != nil, "propertyNames": s.root.PropertyNames != nil,
		"unevaluatedProperties": s.root.UnevaluatedProperties != nil, "$ref": s.root.Ref != "",
		"dependencies": s.root.DependencyStrings != nil || s.root.DependencySchemas != nil,
	} {
		if has {
			keywords = append(keywords, keyword)
		}
	}
	slices.Sort(keywords)
	return strings.Join(keywords, ", ")
}

func short(raw json.RawMessage) string {
	text := []rune(string(raw))
	if len(text) > maxShown {
		return string(text[:maxShown]) + "..."
	}
	return string(text)
}
