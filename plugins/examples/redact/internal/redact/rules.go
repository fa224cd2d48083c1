package redact

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// schema is the JSON Schema of the settings. The daemon checks settings
// against it before the plugin sees them; that a pattern is a good one, only
// the plugin can say.
var schema = json.RawMessage(`{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "patterns": {
      "type": "array",
      "description": "Regular expressions (RE2) of what must not be shown; they replace the built-in ones",
      "items": {"type": "string", "minLength": 1}
    },
    "mark": {
      "type": "string",
      "description": "What stands for it",
      "default": "[redacted]"
    }
  }
}`)

const defaultMark = "[redacted]"

// builtIn are the patterns of an operator who names none: private keys, and
// access tokens that say by their form what they are.
var builtIn = []string{
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`,
	`\b(AKIA|ASIA)[0-9A-Z]{16}\b`,
	`\bgh[pousr]_[A-Za-z0-9]{36,}\b`,
	`\bxox[abprs]-[A-Za-z0-9-]{10,}`,
	`\bsk-[A-Za-z0-9_-]{20,}`,
}

// rules are compiled settings. They do not change.
type rules struct {
	patterns []*regexp.Regexp
	mark     string
}

// compile reads settings, all or nothing.
func compile(raw json.RawMessage) (*rules, error) {
	var settings struct {
		Patterns []string `json:"patterns"`
		Mark     *string  `json:"mark"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // a misspelt setting would be without effect
	if err := decoder.Decode(&settings); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: %w", err)
	}
	if settings.Patterns == nil { // an empty list is a choice
		settings.Patterns = builtIn
	}
	compiled := &rules{mark: defaultMark}
	if settings.Mark != nil {
		compiled.mark = *settings.Mark
	}
	for _, pattern := range settings.Patterns {
		expression, err := regexp.Compile(pattern)
		if err != nil {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: pattern %q: %w", pattern, err)
		}
		if expression.MatchString("") {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "settings: pattern %q matches nothing at all, so it would match everywhere", pattern)
		}
		compiled.patterns = append(compiled.patterns, expression)
	}
	return compiled, nil
}

func (r *rules) apply(text string) string {
	for _, pattern := range r.patterns {
		text = pattern.ReplaceAllLiteralString(text, r.mark)
	}
	return text
}
