package invoker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A schema that cannot be used fails the turn before anything is paid for, with
// either agent.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	a := startAgent(t, "plain", nil)
	demo := NewDemo(DemoConfig{})
	for _, source := range []string{
		`no JSON`, `[]`, `true`, `{}`, `{"type":"array"}`, `{"type":"nonsense"}`, `{"type":["object","null"]}`,
		`{"type":"object","oneOf":[{"required":["a"]}]}`, `{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"type":"object","description":"` + strings.Repeat("x", 70_000) + `"}`,
	} {
		r := fresh("R", "thread", "say x")
		r.JSONSchema = json.RawMessage(source)
		for _, result := range []pluginsdk.InvokeResult{a.Invoke(t.Context(), r, nil), demo.Invoke(t.Context(), r, nil)} {
			if result.Failure == nil || result.Failure.Retryable || !strings.Contains(result.Failure.Message, "JSON schema") {
				t.Errorf("%.60s: %+v", source, result.Failure)
			}
		}
	}
	if n := len(a.starts()); n > 0 {
		t.Errorf("%d processes were started", n)
	}
}

// What the CLI would leave a whole schema out for is taken from what it gets, in
// schemas only: a property may be called so.
func TestASchemaAsTheCLITakesIt(t *testing.T) {
	for source, want := range map[string]string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"x","type":"object","x-mine":1}`: `{"type":"object"}`,
		`{"properties":{"format":{"type":"string","format":"date"},"$schema":true}}`:                      `{"properties":{"$schema":true,"format":{"type":"string"}}}`,
		`{"properties":{"a":{"prefixItems":[{"format":"date"}],"items":false}}}`:                          `{"properties":{"a":{"additionalItems":false,"items":[{}]}}}`,
		`{"items":{"format":"date"},"anyOf":[{"x":1,"const":{"format":1}}],"additionalProperties":false}`: `{"additionalProperties":false,"anyOf":[{"const":{"format":1}}],"items":{}}`,
		`{"$defs":{"a":{"x":1,"enum":["x"]}},"properties":{"b":{"$ref":"#/$defs/a"}}}`:                    `{"$defs":{"a":{"enum":["x"]}},"properties":{"b":{"$ref":"#/$defs/a"}}}`,
		``: ``,
	} {
		if got := forCLI(json.RawMessage(source)); got != want {
			t.Errorf("%s became\n%s, want\n%s", source, got, want)
		}
	}
}

// The demo agent's structured output fits the schema, and says no rather than yes.
func TestTheDemoAgentMakesUpWhatASchemaAsksFor(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{}`,
		`{"type":"object","properties":{"accept":{"type":"boolean"},"why":{"type":"string"},"left":{"type":"string"}},"required":["accept","why"]}`: `{"accept":false,"why":"demo"}`,
		`{"type":"object","properties":{"a":{"enum":["low","high"]},"b":{"const":7},"c":{"type":"null"}},"required":["a","b","c"]}`:                 `{"a":"low","b":7,"c":null}`,
		`{"type":"object","properties":{"n":{"type":"integer","minimum":2,"multipleOf":5},"m":{"type":"number","exclusiveMaximum":0},
			"o":{"type":"integer","exclusiveMinimum":3}},"required":["n","m","o"]}`: `{"m":-1,"n":5,"o":4}`,
		`{"type":"object","properties":{"s":{"type":"string","minLength":6},"t":{"type":"string","maxLength":2},
			"d":{"type":"string","format":"date"}},"required":["s","t","d"]}`: `{"d":"2000-01-01","s":"demo..","t":"de"}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":2,"items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},
			"e":{"type":"array","items":{"type":"string"}},"p":{"prefixItems":[{"type":"string"},{"type":"null"}],"minItems":2}},"required":["l","e","p"]}`: `{"e":[],"l":[{"x":0},{"x":0}],"p":["demo",null]}`,
		`{"type":"object","$defs":{"who":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}},
			"properties":{"by":{"$ref":"#/$defs/who"}},"required":["by"]}`: `{"by":{"name":"demo"}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]},
			"b":{"allOf":[{"type":"integer"},{"minimum":3}]}},"required":["a","b"]}`: `{"a":0,"b":3}`,
		// Only the second of the alternatives can be met.
		`{"type":"object","properties":{"a":{"type":"integer","oneOf":[{"type":"string"},{"minimum":1}]}},"required":["a"]}`: `{"a":1}`,
		`{"type":"object","required":["undeclared"],"additionalProperties":{"type":"integer"}}`:                              `{"undeclared":0}`,
	} {
		r := fresh("R", "thread", "judge it")
		r.JSONSchema = json.RawMessage(schema)
		result := NewDemo(DemoConfig{}).Invoke(t.Context(), r, nil)
		if result.Failure != nil || string(result.StructuredOutput) != want {
			t.Errorf("%s\ngave %s (%+v), want\n%s", schema, result.StructuredOutput, result.Failure, want)
		}
		if !strings.HasPrefix(result.Text, DemoMark) || !strings.Contains(result.Text, "structured output is a demo") {
			t.Errorf("it is not said to be a demo: %q", result.Text)
		}
	}
}

func TestWhatTheDemoAgentCannotMakeUp(t *testing.T) {
	bounds := `"a":{"type":"array","minItems":100,"items":{"type":"array","minItems":100,"items":{}}}`
	for what, properties := range map[string]string{
		"no value that was made up fits": `"a":{"type":"string","pattern":"^[A-Z]{3}$"}`, "more values than are made up": bounds,
	} {
		r := fresh("R", "thread", "judge it")
		r.JSONSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%s},"required":["a"]}`, properties))
		failure := wantFailure(t, NewDemo(DemoConfig{}).Invoke(t.Context(), r, nil), pluginsdk.FailureOther, false)
		if !strings.Contains(failure.Message, what) || !strings.Contains(failure.Message, "structuredOutput") {
			t.Errorf("message %q", failure.Message)
		}
		scripted := NewDemo(DemoConfig{Script: NewScript(Rule{StructuredOutput: json.RawMessage(`{"a":"ABC"}`), Text: "scripted"})})
		if result := scripted.Invoke(t.Context(), r, nil); string(result.StructuredOutput) != `{"a":"ABC"}` || result.Text != DemoMark+" scripted" {
			t.Errorf("scripted: %+v", result)
		}
	}
}

// Schemas as people and libraries write them are taken: the CLI would leave some of
// them out as a whole, and say nothing.
func TestRealSchemasAsPeopleWriteThem(t *testing.T) {
	a := startReal(t, nil)
	r := fresh("R", "thread", `usetool:StructuredOutput {"a":"2026-01-01T00:00:00Z","b":["x"],"c":"y"}`)
	r.JSONSchema = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
		`"a":{"type":"string","format":"date-time","x-order":1},"b":{"type":"array","prefixItems":[{"type":"string"}],"items":false},` +
		`"c":{"$ref":"#/$defs/c"}},"$defs":{"c":{"type":"string","deprecated":true}}}`)
	result := a.Invoke(t.Context(), r, nil)
	if result.Failure != nil || string(result.StructuredOutput) != `{"a":"2026-01-01T00:00:00Z","b":["x"],"c":"y"}` {
		t.Errorf("%+v, failure %+v", result, result.Failure)
	}
	if calls := len(a.api.Requests(fakeapi.Main)); calls != 1 {
		t.Errorf("%d calls, want the one that gives it", calls)
	}
}

// inBothSessions runs a test of a turn in a fresh session, and of one in a
// conversation.
func inBothSessions(t *testing.T, test func(t *testing.T, request ledger.AgentRequest)) {
	t.Run("fresh", func(t *testing.T) { test(t, fresh("R", "thread", "go")) })
	t.Run("conversation", func(t *testing.T) { test(t, talk("thread", "", "go")) })
}

// One that it leaves out all the same fails the turn: an answer in words is not what
// was asked for.
func TestRealSchemaThatTheCLILeavesOut(t *testing.T) {
	inBothSessions(t, func(t *testing.T, r ledger.AgentRequest) {
		a := startReal(t, nil)
		a.api.Handle(func(fakeapi.Request) fakeapi.Reply { return fakeapi.Reply{Text: "words"} })
		r.JSONSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"(?i)yes"}}}`)
		failure := wantFailure(t, a.Invoke(t.Context(), r, nil), pluginsdk.FailureOther, false)
		if !strings.Contains(failure.Message, "does not take the JSON schema") {
			t.Errorf("message %q", failure.Message)
		}
	})
}

// What the CLI does not check is checked when the output has come.
func TestRealOutputThatTheCLIDoesNotCheck(t *testing.T) {
	a := startReal(t, nil)
	r := fresh("R", "thread", `usetool:StructuredOutput {"a":"x"}`)
	r.JSONSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["b"]}}`)
	failure := wantFailure(t, a.Invoke(t.Context(), r, nil), pluginsdk.FailureOther, false)
	if !strings.Contains(failure.Message, "does not fit its JSON schema") {
		t.Errorf("message %q", failure.Message)
	}
}
