package settings_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// courier is a schema with one of everything that people meet.
const courier = `{
  "type": "object", "additionalProperties": false, "required": ["token"],
  "properties": {
    "token":   {"type": "string", "secret": true, "minLength": 8, "description": "Of the bot"},
    "account": {"type": "object", "secret": true, "properties": {"user": {"type": "string"}}},
    "channel": {"type": "string", "description": "Where replies go", "default": "general"},
    "port":    {"type": "integer", "minimum": 1, "maximum": 65535},
    "size":    {"type": "integer", "maximum": 1048576},
    "mode":    {"enum": ["quiet", "loud"], "default": "quiet"},
    "hosts":   {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    "limits":  {"$ref": "#/$defs/limits"}
  },
  "$defs": {"limits": {"type": "object", "properties": {"size": {"type": "integer", "default": 5}}}}
}`

func compile(t *testing.T, raw string) *settings.Schema {
	t.Helper()
	schema, err := settings.Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// What an operator reads must say which setting is wrong and what to write
// instead, and must not repeat a secret.
func TestWrongSettingsAreNamedWithWhatIsAccepted(t *testing.T) {
	schema := compile(t, courier)
	const hidden = "hunter2"
	for _, c := range []struct{ raw, want string }{
		{`{"token":"long enough"}`, ""},
		{`{"token":"long enough","port":80,"mode":"loud","hosts":["a"],"limits":{}}`, ""},
		{`{}`, "token: it is required and not set; it takes a text of at least 8 characters"},
		{`{"token":"hunter2"}`, "token: the value is not accepted; it takes a text of at least 8 characters"},
		{`{"token":"long enough","account":"hunter2"}`, "account: the value is not accepted; it takes an object"},
		{`{"token":"long enough","port":"http"}`, `port: "http" is not accepted; it takes a whole number of 1 to 65535`},
		{`{"token":"long enough","port":0}`, `port: 0 is not accepted`},
		{`{"token":"long enough","size":"big"}`, `it takes a whole number of at most 1048576`},
		{`{"token":"long enough","mode":"shrill"}`, `mode: "shrill" is not accepted; it takes one of "quiet", "loud"`},
		{`{"token":"long enough","hosts":[1]}`, "hosts: [1] is not accepted; it takes a list of at most 2 items, each of them a text"},
		{`{"token":"long enough","limits":{"size":"hunter3"}}`, "limits: "},
		{`{"token":"long enough","tokn":"hunter2"}`, "tokn: there is no such setting; there are account, channel,"},
		{`{"token":"long enough","port":0,"mode":1}`, "port: 0 is not accepted; it takes a whole number of 1 to 65535"},
		{`[]`, "must be a JSON object"},
	} {
		err := schema.Validate(json.RawMessage(c.raw))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.raw, err)
			}
			continue
		}
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.raw, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: the error has a value that can be a secret: %v", c.raw, err)
		}
	}
}

// Rules about several settings can fail for a secret: their words must not have
// its value.
func TestWhatDoesNotFitTogetherIsSaidWithoutValues(t *testing.T) {
	schema := compile(t, `{"properties":{"token":{"type":"string","secret":true},"user":{"type":"string"}},
		"allOf":[{"properties":{"token":{"pattern":"^x"}}}],"dependentRequired":{"user":["token"]}}`)
	err := schema.Validate(json.RawMessage(`{"token":"hunter2","user":"ann"}`))
	if err == nil || !strings.Contains(err.Error(), "allOf, dependentRequired") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreKnown(t *testing.T) {
	if got := compile(t, courier).Secrets(); !slices.Equal(got, []string{"account", "token"}) {
		t.Errorf("secrets: %v", got)
	}
}

// What a stranger's schema and an operator's row have in common must not keep
// every list of plugins busy.
func TestWorkIsBounded(t *testing.T) {
	list := "[" + strings.Repeat("0,", 3999) + "0]"
	wide := func(fallback string) string {
		return `{"properties":{"a":{"items":{"$ref":"#/$defs/d0"}` + fallback + `}},"$defs":{"d11":{}` + doublings(11) + `}}`
	}
	if _, err := settings.Compile(json.RawMessage(wide(`,"default":` + list))); err == nil || !strings.Contains(err.Error(), "defaults are too large") {
		t.Errorf("defaults: %v", err)
	}
	schema := compile(t, `{"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}},"$defs":{"d10":{}`+doublings(10)+`}}`)
	if err := schema.Validate(json.RawMessage(`{"a":[0,0]}`)); err != nil {
		t.Error(err)
	}
	if err := schema.Validate(json.RawMessage(`{"a":` + list + `}`)); err == nil || !strings.Contains(err.Error(), "too large to be checked") {
		t.Errorf("a long list: %v", err)
	}
}

// Without a schema, settings are what they were before there were schemas.
func TestNoSchemaAcceptsAnyObject(t *testing.T) {
	for _, raw := range []string{"", "null", "{}"} {
		schema := compile(t, raw)
		if err := schema.Validate(json.RawMessage(`{"any":[{"thing":1}]}`)); err != nil {
			t.Errorf("schema %q: %v", raw, err)
		}
		if err := schema.Validate(json.RawMessage(`7`)); err == nil {
			t.Errorf("schema %q accepts a number", raw)
		}
	}
}

func TestWrongSchemasAreRefusedInWords(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 50) + "{}" + strings.Repeat("}", 50)
	for _, c := range []struct{ raw, want string }{
		{`[]`, "settingsSchema"},
		{`{"type":"array"}`, `want "object"`},
		{`{"properties":{"a":{"type":5}}}`, "type"},
		{`{"properties":{"a":null}}`, "want a schema, got null"},
		{`{"properties":{"a":{"pattern":"("}}}`, "pattern"},
		{`{"properties":{"a":{"type":"integer","default":"x"}}}`, `want "integer"`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#"}`, "draft"},
		{`{"secret":true}`, "only a setting as a whole"},
		{`{"properties":{"a":{"properties":{"b":{"secret":true}}}}}`, "properties/a/properties/b: secret: only a setting as a whole"},
		{`{"properties":{"a":{"items":{"secret":true}}}}`, "properties/a/items: secret"},
		{`{"$defs":{"a":{"secret":true}}}`, "$defs/a: secret"},
		{`{"patternProperties":{"^a":{"secret":true}}}`, "patternProperties/^a: secret"},
		{`{"allOf":[{"properties":{"a":{"secret":true}}}]}`, "allOf/0/properties/a: secret"},
		{`{"if":{"properties":{"a":{"secret":true}}}}`, "if/properties/a: secret"},
		{`{"properties":{"a":{"secret":"yes"}}}`, "properties/a: secret: want true or false"},
		{`{"properties":{"a":{"Secret":true}}}`, `the keyword is "secret"`},
		{`{"properties":{"a":{"secret":true,"default":"x"}}}`, "a: a secret cannot have a default"},
		{`{"properties":{"a":{"secret":true,"$ref":"#/$defs/x"}},"$defs":{"x":{"default":"x"}}}`, "a: a secret cannot have a default"},
		{`{"properties":{"a":{"$ref":"https://example.org/s.json"}}}`, `want "#/$defs/NAME"`},
		{`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `want "#/$defs/NAME"`},
		{`{"properties":{"a":{"$ref":"#"}}}`, `want "#/$defs/NAME"`},
		{`{"properties":{"a":{"$dynamicRef":"#x"}}}`, "$dynamicRef"},
		{`{"properties":{"a":{"$id":"https://example.org/a"}}}`, "$id"},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "leads back to itself"},
		{`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"$ref":"#/$defs/a"}}}`, "leads back to itself"},
		{deep, "deep"},
		{doubling(), "too large"},
		{`{"description":"` + strings.Repeat("x", 70_000) + `"}`, "at most 65536 bytes"},
	} {
		_, err := settings.Compile(json.RawMessage(c.raw))
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: got %v, want %q", c.raw, err, c.want)
		}
	}
	// A property may have the keyword's name.
	if schema := compile(t, `{"properties":{"secret":{"type":"boolean"}}}`); len(schema.Secrets()) != 0 {
		t.Error("a setting called secret is taken for one")
	}
}

// doubling takes 2^30 steps to check anything, in 30 short lines.
func doubling() string {
	return `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{"d30":{}` + doublings(30) + "}}"
}

// doublings are n definitions, each of which refers to the next one twice.
func doublings(n int) string {
	var b strings.Builder
	for n := range n {
		fmt.Fprintf(&b, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n, n+1, n+1)
	}
	return b.String()
}

// A field of a schema that is not looked into could hide a secret, or a
// reference without an end.
func TestEveryPlaceOfASchemaIsLookedInto(t *testing.T) {
	of := reflect.TypeFor[jsonschema.Schema]()
	places := 0
	for n := range of.NumField() {
		field := of.Field(n)
		var inside string
		switch field.Type {
		case reflect.TypeFor[*jsonschema.Schema]():
			inside = `{"secret":true}`
		case reflect.TypeFor[[]*jsonschema.Schema]():
			inside = `[{"secret":true}]`
		case reflect.TypeFor[map[string]*jsonschema.Schema]():
			inside = `{"x":{"properties":{"y":{"secret":true}}}}`
		default:
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch field.Name {
		case "Items", "ItemsArray":
			name = "items"
		case "DependencySchemas":
			name = "dependencies"
		}
		places++
		raw := fmt.Sprintf(`{%q:%s}`, name, inside)
		if _, err := settings.Compile(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: a secret in %s is not seen: %v", field.Name, raw, err)
		}
	}
	if places < 20 {
		t.Errorf("only %d places; the library has changed", places)
	}
}

func TestValuesAreReadAsPeopleWriteThem(t *testing.T) {
	schema := compile(t, courier)
	ask := func(settings.Property) (string, error) { return "from stdin", nil }
	got, err := schema.Assign([]string{"channel=5", "port=80", "mode=loud", `hosts=["a","b"]`, "token"}, ask)
	want := `{"channel":"5","hosts":["a","b"],"mode":"loud","port":80,"token":"from stdin"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	for _, c := range []struct{ arg, want string }{
		{"token=hunter2", "token is a secret and was not set"},
		{"channel", "channel: want a value, channel=VALUE"},
		{"port=http", `port: "http" is not JSON; it takes a whole number`},
		{"account", "account: the value is not JSON; it takes an object"},
	} {
		_, err := schema.Assign([]string{c.arg}, ask)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.arg, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "from stdin")) {
			t.Errorf("%s: the error has the secret: %v", c.arg, err)
		}
	}
	if _, err := schema.Assign([]string{"port=1", "port=2"}, ask); err == nil {
		t.Error("a setting can be given twice")
	}
}
