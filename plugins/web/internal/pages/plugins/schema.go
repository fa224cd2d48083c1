package plugins

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schema is as much of a JSON Schema as a form can be made of.
type schema struct {
	Type        any             `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Default     json.RawMessage `json:"default"`
	Secret      bool            `json:"secret"`
	Items       *schema         `json:"items"`
	Properties  properties      `json:"properties"`
	Required    []string        `json:"required"`

	Minimum          json.Number `json:"minimum"`
	Maximum          json.Number `json:"maximum"`
	ExclusiveMinimum json.Number `json:"exclusiveMinimum"`
	ExclusiveMaximum json.Number `json:"exclusiveMaximum"`
}

// property is a schema with its name.
type property struct {
	name string
	schema
}

// properties are in the order in which they were written.
type properties []property

// UnmarshalJSON reads an object.
func (p *properties) UnmarshalJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("properties: want an object, got %v: %w", start, err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		one := property{name: fmt.Sprint(name)}
		if err := decoder.Decode(&one.schema); err != nil {
			one.schema = schema{} // what is no schema here, such as true, takes any JSON
		}
		*p = append(*p, one)
	}
	return nil
}

// kind says which field of a form a value is typed into.
type kind int

const (
	ofJSON kind = iota // anything that the others are not for
	ofText
	ofChoice
	ofNumber
	ofInteger
	ofBool
	ofLines // a text on each line
	ofGroup // an object of some of the others
)

func (s schema) kind() kind {
	of, _ := s.Type.(string)
	switch {
	case len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(one any) bool { _, text := one.(string); return !text }):
		return ofChoice
	case len(s.Enum) > 0:
		return ofJSON
	case of == "string":
		return ofText
	case of == "number":
		return ofNumber
	case of == "integer":
		return ofInteger
	case of == "boolean":
		return ofBool
	case of == "array" && s.Items != nil && s.Items.kind() == ofText:
		return ofLines
	case of == "object" && len(s.Properties) > 0:
		return ofGroup
	}
	return ofJSON
}

// textOf is a value as it is typed into its field; an absent one is empty.
func textOf(kind kind, value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var text string
	var lines []string
	switch {
	case (kind == ofText || kind == ofChoice) && json.Unmarshal(value, &text) == nil:
		return text
	case kind == ofLines && json.Unmarshal(value, &lines) == nil:
		return strings.Join(lines, "\n")
	case kind == ofNumber, kind == ofInteger, kind == ofBool:
		return string(value)
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, value, "", "  ") != nil {
		return string(value)
	}
	return pretty.String()
}

// nothing is the value of a setting that is taken back, so that its default holds.
var nothing = json.RawMessage("null")

// valueOf reads what textOf has written. wrong says what is wrong with it.
func valueOf(of schema, text string) (value json.RawMessage, wrong string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	trimmed := strings.TrimSpace(text)
	kind := of.kind()
	if trimmed == "" && kind != ofLines {
		return nothing, ""
	}
	switch kind {
	case ofText, ofChoice:
		return encoded(text), ""
	case ofNumber, ofInteger:
		var number json.Number
		if json.Unmarshal([]byte(trimmed), &number) != nil || strings.HasPrefix(trimmed, `"`) {
			return nil, "This is no number."
		}
		if kind == ofInteger && strings.ContainsAny(trimmed, ".eE") {
			return nil, "This is no whole number."
		}
		return json.RawMessage(trimmed), ""
	case ofLines:
		lines := []string{}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		return encoded(lines), ""
	case ofBool, ofJSON, ofGroup:
	}
	if !json.Valid([]byte(trimmed)) {
		return nil, "This is no JSON."
	}
	return json.RawMessage(trimmed), ""
}

func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return nothing
	}
	return raw
}

// bounds say in words what a number may be.
func (s schema) bounds() (least, most, words string) {
	var parts []string
	if s.Minimum != "" {
		parts = append(parts, "at least "+s.Minimum.String())
	}
	if s.ExclusiveMinimum != "" {
		parts = append(parts, "more than "+s.ExclusiveMinimum.String())
	}
	if s.Maximum != "" {
		parts = append(parts, "at most "+s.Maximum.String())
	}
	if s.ExclusiveMaximum != "" {
		parts = append(parts, "less than "+s.ExclusiveMaximum.String())
	}
	return s.Minimum.String(), s.Maximum.String(), strings.Join(parts, ", ")
}
