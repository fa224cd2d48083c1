package settings

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// SchemaOf returns a registered plugin's schema.
func (s *Settings) SchemaOf(ctx context.Context, plugin string) (*Schema, error) {
	info, err := s.store.Plugin(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return s.memory(info).compile()
}

// Assign makes a patch for Change of what was written on a command line:
// KEY=VALUE, or KEY alone for a secret, whose value comes from read.
func (s *Schema) Assign(args []string, read func(Property) (string, error)) (json.RawMessage, error) {
	patch := make(map[string]json.RawMessage, len(args))
	for _, arg := range args {
		name, text, given := strings.Cut(arg, "=")
		if _, twice := patch[name]; twice {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s is given twice", name)
		}
		property, _ := s.Property(name)
		switch {
		case s.Secret(name) && given:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid,
				"%s is a secret and was not set: what stands on a command line is in the list of processes and in the shell's history; "+
					"give %s alone, and the value when it is asked for, or on stdin. If others can have seen this one, take a new one", name, name)
		case !given && !s.Secret(name):
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: want a value, %s=VALUE; only secrets are asked for", name, name)
		case !given:
			var err error
			if text, err = read(property); err != nil {
				return nil, err
			}
		}
		value, err := s.Parse(name, text)
		if err != nil {
			return nil, err
		}
		patch[name] = value
	}
	return encode(patch), nil
}

// Parse reads the value of a setting as people write it: of a text the text
// itself, of anything else JSON.
func (s *Schema) Parse(name, text string) (json.RawMessage, error) {
	types := s.types(name)
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: the value cannot be written as JSON", name)
	}
	raw := json.RawMessage(strings.TrimSpace(text))
	switch {
	case len(types) == 1 && types[0] == "string":
		return quoted, nil
	case json.Valid(raw):
		return raw, nil
	case len(types) == 0 || slices.Contains(types, "string"):
		return quoted, nil
	}
	property, _ := s.Property(name)
	if property.Secret {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: the value is not JSON; it takes %s", name, property.Accepts)
	}
	return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not JSON; it takes %s", name, short(json.RawMessage(text)), property.Accepts)
}

// types are those that a setting may have; none: any.
func (s *Schema) types(name string) []string {
	if _, declared := s.Property(name); !declared {
		return nil
	}
	schema := s.bounded.Target(s.root.Properties[name])
	if schema.Type != "" {
		return []string{schema.Type}
	}
	return schema.Types
}
