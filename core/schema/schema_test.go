package schema_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var limits = schema.Limits{Bytes: 64 << 10, Depth: 40, Steps: 10_000, Work: 10_000_000}

// Each of these would take the daemon's stack or its processor.
func TestWhatHasNoEndIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"itself":          {`{"allOf":[{"$ref":"#"}]}`, `want "#/$defs/NAME"`},
		"around":          {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"not":{"$ref":"#/$defs/a"}}}}`, "leads back"},
		"its own place":   {`{"properties":{"a":{"items":{"$ref":"#/properties/a"}}}}`, "leads back"},
		"a part of it":    {`{"properties":{"a":{"items":{"$ref":"#/properties/a/items"}}}}`, "leads back"},
		"used by nothing": {`{"$defs":{"a":{"default":1,"allOf":[{"$ref":"#/$defs/a"}]}}}`, "leads back"},
		"elsewhere":       {`{"$ref":"http://127.0.0.1:1/schema.json"}`, `want "#/$defs/NAME"`},
		"doubling":        {`{"$ref":"#/$defs/d0","$defs":{"d24":{}` + doublings(24) + `}}`, "too large"},
		"deep":            {strings.Repeat(`{"not":`, 4900) + "{}" + strings.Repeat("}", 4900), "deep"},
		"long":            {`{"description":"` + strings.Repeat("x", 70_000) + `"}`, "at most 65536 bytes"},
		"a large pattern": {`{"properties":{"a":{"pattern":"(` + strings.Repeat("[a-z]", 100) + `){1000}"}}}`, "too large"},
		"a long pattern":  {`{"patternProperties":{"` + strings.Repeat("x", 1001) + `":{}}}`, "pattern: at most 1000 bytes"},
		"no pattern":      {`{"pattern":"("}`, "pattern"},
		"one word for many": {`{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 500) + `{}],"$defs":{"a":{"enum":["` + strings.Repeat("x", 30_000) + `"]}}}`,
			"too large"},
		"one default for many": {`{"items":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 500) + `{}],"$defs":{"a":{"default":"` + strings.Repeat("x", 30_000) + `"}}}`,
			"defaults are too large"},
		"nothing": {`{"properties":{"a":null}}`, "null"},
	} {
		if _, err := schema.Compile(json.RawMessage(c.raw), limits); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// doublings are n definitions, each of which refers to the next one twice.
func doublings(n int) string {
	var b strings.Builder
	for n := range n {
		fmt.Fprintf(&b, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, n, n+1, n+1)
	}
	return b.String()
}

// References are written by programs too, to where something stood first.
func TestReferencesToAnyPlaceHold(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"properties":{"a/b":{"type":"integer"},"c":{"$ref":"#/properties/a~1b"},
		"d":{"$ref":"#/definitions/e"}},"definitions":{"e":{"type":"boolean"}}}`), limits)
	if err != nil {
		t.Fatal(err)
	}
	for value, fits := range map[string]bool{`{"c":1,"d":true}`: true, `{"c":"x"}`: false, `{"d":1}`: false, `{`: false} {
		if err := s.Validate(json.RawMessage(value)); (err == nil) != fits {
			t.Errorf("%s: %v", value, err)
		}
	}
	if got := s.Target(s.Root().Properties["c"]); got != s.Root().Properties["a/b"] {
		t.Errorf("the reference leads to %v", got)
	}
}

// A value that is too large for the schema is said to be, and is not looked at.
func TestALargeValueNeedsASmallSchema(t *testing.T) {
	compile := func(raw string) *schema.Schema {
		t.Helper()
		s, err := schema.Compile(json.RawMessage(raw), limits)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	large := json.RawMessage(`{"a":[` + strings.Repeat(`0,`, 9999) + `"\",\"["]}`)
	if err := compile(`{"properties":{"a":{"type":"array"}}}`).Validate(large); err != nil {
		t.Error(err)
	}
	busy := compile(`{"properties":{"a":{"items":{"$ref":"#/$defs/d0"}}},"$defs":{"d8":{}` + doublings(8) + `}}`)
	if err := busy.Validate(json.RawMessage(`{"a":[0,0]}`)); err != nil {
		t.Error(err)
	}
	if err := busy.Validate(large); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "too large to be checked") {
		t.Errorf("got %v", err)
	}
	if err := compile(`{"type":"string"}`).Validate(large); err == nil || len(err.Error()) > 3000 {
		t.Errorf("the words for it are long: %.100v", err)
	}
}

// A field of a schema that is not looked into could hold a reference without an
// end.
func TestEveryPlaceOfASchemaIsLookedInto(t *testing.T) {
	of := reflect.TypeFor[jsonschema.Schema]()
	places := 0
	for n := range of.NumField() {
		field := of.Field(n)
		var inside string
		switch field.Type {
		case reflect.TypeFor[*jsonschema.Schema]():
			inside = `{"$ref":"#"}`
		case reflect.TypeFor[[]*jsonschema.Schema]():
			inside = `[{"$ref":"#"}]`
		case reflect.TypeFor[map[string]*jsonschema.Schema]():
			inside = `{"x":{"properties":{"y":{"$ref":"#"}}}}`
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
		if _, err := schema.Compile(json.RawMessage(raw), limits); err == nil || !strings.Contains(err.Error(), "$defs/NAME") {
			t.Errorf("%s: a reference in %s is not seen: %v", field.Name, raw, err)
		}
	}
	if places < 20 {
		t.Errorf("only %d places; the library has changed", places)
	}
}
