package settings

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/core/schema"
)

// secretsIn checks what is of settings only in a schema, and returns which of
// them are secret.
func secretsIn(bounded *schema.Schema) (map[string]bool, error) {
	root, secrets := bounded.Root(), make(map[string]bool)
	if root.Type != "" && root.Type != "object" || root.Types != nil {
		return nil, wrong(`type: want "object", settings are one`)
	}
	for at, s := range bounded.All() {
		secret, err := isSecret(root, s, at)
		if err != nil {
			return nil, err
		}
		if !secret {
			continue
		}
		if s.Default != nil || bounded.Target(s).Default != nil {
			return nil, wrong("%s: a secret cannot have a default, which everybody could read", nameIn(root, s))
		}
		secrets[nameIn(root, s)] = true
	}
	return secrets, nil
}

// isSecret reads the keyword of a schema that stands at a place in root.
func isSecret(root, s *jsonschema.Schema, at string) (secret bool, err error) {
	for keyword, value := range s.Extra {
		if !strings.EqualFold(keyword, "secret") {
			continue
		}
		isBool := false
		secret, isBool = value.(bool)
		switch {
		case keyword != "secret":
			return false, wrong(`%s: the keyword is "secret", not %q`, at, keyword)
		case !isBool:
			return false, wrong("%s: secret: want true or false", at)
		case nameIn(root, s) == "":
			return false, wrong("%s: secret: only a setting as a whole, in the schema's own properties, can be a secret", at)
		}
	}
	return secret, nil
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
