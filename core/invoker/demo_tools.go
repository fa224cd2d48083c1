package invoker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/schema"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// DemoTools calls the plugins' tools for the demo agent.
type DemoTools interface {
	// Answer calls PLUGIN__TOOL in the turn of a run, and returns the result that an
	// agent would get.
	Answer(ctx context.Context, runID, name string, input json.RawMessage) pluginsdk.ToolResult
}

// callTool emits the rule's tool call and its result. It really calls a plugin's tool for
// which the rule has no result. The failure is that of a turn that is parked until people
// have answered.
func (t *demoTurn) callTool(ctx context.Context) *pluginsdk.Failure {
	if t.rule.ToolName == "" {
		return nil
	}
	input := t.rule.ToolInput
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	name, plugins := t.pluginTool()
	id := "demo_" + uuid.NewString()
	t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, ToolName: name, ToolUseID: id, Input: input})
	result := pluginsdk.ToolResult{Text: t.rule.ToolResult, IsError: t.rule.ToolError}
	switch answer := t.mayCall(ctx, name, id, input); {
	case answer.Park:
		return parkedFailure()
	case !answer.Allow:
		t.event(pluginsdk.StreamEvent{Type: pluginsdk.StreamDenied, ToolName: name, ToolUseID: id, Text: answer.Words, Input: input})
		result = pluginsdk.ToolResult{Text: answer.Words, IsError: true}
	case plugins:
		result = t.tools.Answer(ctx, t.request.RunID, strings.TrimPrefix(name, toolPrefix), input)
	}
	t.event(pluginsdk.StreamEvent{
		Type: pluginsdk.StreamToolResult, ToolName: name, ToolUseID: id, Text: resultText(result), IsError: result.IsError,
	})
	return nil
}

// mayCall asks people about the rule's call, if it says so.
func (t *demoTurn) mayCall(ctx context.Context, name, id string, input json.RawMessage) ledger.ToolAnswer {
	switch {
	case !t.rule.Ask:
		return ledger.ToolAnswer{Allow: true}
	case t.request.Ask == nil:
		return ledger.ToolAnswer{Words: denial(name)}
	}
	return t.request.Ask(ctx, ledger.ToolAsk{Tool: name, ToolUseID: id, Input: input, Cwd: t.cwd})
}

// pluginTool returns the name of the rule's tool, as the CLI would name it, and whether
// callTool has to call it because it is a plugin's.
func (t *demoTurn) pluginTool() (name string, plugins bool) {
	name = t.rule.ToolName
	if t.tools == nil || t.rule.ToolResult != "" || t.rule.ToolError {
		return name, false
	}
	local, ours := strings.CutPrefix(name, toolPrefix)
	if !ours && strings.HasPrefix(name, "mcp__") || !strings.Contains(local, "__") {
		return name, false
	}
	return toolPrefix + local, true
}

// resultText returns the text and the structured value of a result, as one text.
func resultText(result pluginsdk.ToolResult) string {
	if result.Text != "" && result.Structured != nil {
		return result.Text + "\n" + string(result.Structured)
	}
	return result.Text + string(result.Structured)
}

// maxFilled bounds the number of values in a structured output that is made up.
const maxFilled = 1000

// alternatives is how many entries of each anyOf, oneOf or list of types fill tries.
const alternatives = 4

var (
	errTooMuch  = errors.New("it asks for more values than are made up")
	errNoneFits = errors.New("no value that was made up fits it")
)

// fill makes up a value that fits a schema: only what is required, the first value of an
// enumeration, false for booleans, and numbers near zero. It does not understand all that
// a schema can ask for; it returns an error rather than a value that does not fit.
func fill(s *schema.Schema) (json.RawMessage, error) {
	reason := errNoneFits
	for choice := range alternatives {
		f := filler{schema: s, choice: choice}
		value, err := json.Marshal(f.value(s.Root()))
		if f.made > maxFilled {
			reason = errTooMuch
			continue
		}
		if err == nil && s.Validate(value) == nil {
			return value, nil
		}
	}
	return nil, reason
}

type filler struct {
	schema *schema.Schema
	choice int // index of the alternative that is taken; the last if there are fewer
	made   int
}

func pick[T any](f *filler, of []T) T { return of[min(f.choice, len(of)-1)] }

// parts returns s with the schemas that apply together with it.
func (f *filler) parts(s *jsonschema.Schema) []*jsonschema.Schema {
	s = f.schema.Target(s)
	parts := []*jsonschema.Schema{s}
	for _, also := range s.AllOf {
		parts = append(parts, f.parts(also)...)
	}
	for _, either := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(either) > 0 {
			parts = append(parts, f.parts(pick(f, either))...)
		}
	}
	return parts
}

func (f *filler) value(s *jsonschema.Schema) any {
	if f.made++; f.made > maxFilled {
		return nil
	}
	parts := f.parts(s)
	for _, part := range parts {
		switch {
		case part.Const != nil:
			return *part.Const
		case len(part.Enum) > 0:
			return part.Enum[0]
		}
	}
	switch f.typeOf(parts) {
	case "object":
		return f.object(parts)
	case "array":
		return f.array(parts)
	case "number":
		return number(parts, false)
	case "integer":
		return number(parts, true)
	case "boolean":
		return false
	case "null":
		return nil
	}
	return text(parts)
}

// typeOf returns the type that the parts name, or else the one that their keywords imply.
func (f *filler) typeOf(parts []*jsonschema.Schema) string {
	for _, part := range parts {
		switch {
		case part.Type != "":
			return part.Type
		case len(part.Types) > 0:
			return pick(f, part.Types)
		}
	}
	for _, part := range parts {
		switch {
		case len(part.Properties)+len(part.Required) > 0:
			return "object"
		case part.Items != nil || len(part.PrefixItems)+len(part.ItemsArray) > 0:
			return "array"
		case part.Minimum != nil || part.Maximum != nil:
			return "number"
		}
	}
	return "string"
}

func (f *filler) object(parts []*jsonschema.Schema) map[string]any {
	made := map[string]any{}
	for _, part := range parts {
		for _, name := range part.Required {
			if _, has := made[name]; !has {
				made[name] = f.value(property(parts, name))
			}
		}
	}
	return made
}

// property returns the schema of an object's property.
func property(parts []*jsonschema.Schema, name string) *jsonschema.Schema {
	for _, part := range parts {
		if named := part.Properties[name]; named != nil {
			return named
		}
	}
	for _, part := range parts {
		if part.AdditionalProperties != nil {
			return part.AdditionalProperties
		}
	}
	return &jsonschema.Schema{}
}

func (f *filler) array(parts []*jsonschema.Schema) []any {
	least, first, rest := 0, []*jsonschema.Schema(nil), &jsonschema.Schema{}
	for _, part := range parts {
		least = max(least, value(part.MinItems))
		first = append(first, slices.Concat(part.PrefixItems, part.ItemsArray)...)
		rest = cmp.Or(part.Items, part.AdditionalItems, rest)
	}
	made := []any{}
	for n := 0; n < least && f.made <= maxFilled; n++ {
		of := rest
		if n < len(first) {
			of = first[n]
		}
		made = append(made, f.value(of))
	}
	return made
}

// number returns the allowed number that is nearest to zero.
func number(parts []*jsonschema.Schema, whole bool) float64 {
	low, high, step := math.Inf(-1), math.Inf(1), 0.0
	for _, part := range parts {
		low, high = max(low, from(part.Minimum, low)), min(high, from(part.Maximum, high))
		low = max(low, math.Floor(from(part.ExclusiveMinimum, math.Inf(-1)))+1)
		high = min(high, math.Ceil(from(part.ExclusiveMaximum, math.Inf(1)))-1)
		step = max(step, value(part.MultipleOf))
	}
	if whole {
		step = max(step, 1)
	}
	switch near := max(low, min(high, 0)); {
	case step == 0:
		return near
	case near > 0:
		return math.Ceil(near/step) * step
	default:
		return math.Floor(near/step) * step
	}
}

// formats has a text for each of the most common formats.
var formats = map[string]string{
	"date-time": "2000-01-01T00:00:00Z", "date": "2000-01-01", "time": "00:00:00Z", "email": "demo@example.com",
	"uri": "https://example.com/", "uuid": "00000000-0000-4000-8000-000000000000", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
}

func text(parts []*jsonschema.Schema) string {
	made, least, most := "demo", 0, math.MaxInt
	for _, part := range parts {
		made = cmp.Or(formats[part.Format], made)
		least = max(least, value(part.MinLength))
		if part.MaxLength != nil {
			most = min(most, *part.MaxLength)
		}
	}
	if missing := least - len(made); missing > 0 && least <= outputLimits.Bytes {
		made += strings.Repeat(".", missing)
	}
	return made[:min(len(made), max(most, 0))]
}

// value returns what a pointer points to, or zero.
func value[T any](of *T) (found T) {
	if of != nil {
		found = *of
	}
	return found
}

// from returns what a pointer points to, or other.
func from(of *float64, other float64) float64 {
	if of != nil {
		return *of
	}
	return other
}
