package settings

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/core/schema"
)

// secretsIn checks what is of settings only in a schema, and returns which of
// them are secret.
func secretsIn(bounded *schema.Schema) (map[string]bool, error) {
	root := bounded.Root()
	if root.Type != "" && root.Type != "object" || root.Types != nil {
		return nil, wrong(`type: want "object", settings are one`)
	}
	secrets, err := marked(bounded, "secret")
	if err != nil {
		return nil, err
	}
	for name := range secrets {
		s := root.Properties[name]
		if s.Default != nil || bounded.Target(s).Default != nil {
			return nil, wrong("%s: a secret cannot have a default, which everybody could read", name)
		}
	}
	return secrets, nil
}

// marked returns the settings that a keyword, which is true or false, marks as a whole.
func marked(bounded *schema.Schema, keyword string) (map[string]bool, error) {
	root, names := bounded.Root(), make(map[string]bool)
	for at, s := range bounded.All() {
		is, err := isMarked(root, s, at, keyword)
		if err != nil {
			return nil, err
		}
		if is {
			names[nameIn(root, s)] = true
		}
	}
	return names, nil
}

// isMarked reads the keyword of a schema that stands at a place in root.
func isMarked(root, s *jsonschema.Schema, at, keyword string) (is bool, err error) {
	for written, value := range s.Extra {
		if !strings.EqualFold(written, keyword) {
			continue
		}
		isBool := false
		is, isBool = value.(bool)
		switch {
		case written != keyword:
			return false, wrong(`%s: the keyword is %q, not %q`, at, keyword, written)
		case !isBool:
			return false, wrong("%s: %s: want true or false", at, keyword)
		case nameIn(root, s) == "":
			return false, wrong("%s: %s: only a setting as a whole, in the schema's own properties, can be marked so", at, keyword)
		}
	}
	return is, nil
}

// nameIn returns the name of the setting that a schema is of; empty: of none.
func nameIn(root, s *jsonschema.Schema) string {
	for name, property := range root.Properties {
		if property == s {
			return name
		}
	}
	return ""
}
