package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// fuzzSeed makes a run repeatable, and fuzzRounds bounds it: requests of each operation, for
// each caller.
const (
	fuzzSeed   = 20261123
	fuzzRounds = 60
)

// Whatever is sent to whatever operation, by somebody or nobody: the answer is one that the
// description has, in status and body, and never a fault of the server's.
func TestNoRequestIsAnsweredOtherwiseThanDescribed(t *testing.T) {
	s := openSite(t, `{"auth":"always"}`, times{Typed: time.Millisecond}) // nobody carries out what is typed
	s.host.AddRun(pluginsdk.Run{ID: "R", ThreadID: "T", State: pluginsdk.RunFailed})
	s.host.AddTask(pluginsdk.Task{ID: "K", ThreadID: "T", Status: pluginsdk.TaskWaiting})
	s.host.AddPlugin(pluginsdk.PluginInfo{Name: "x", Enabled: true, State: pluginsdk.PluginServing})
	_, admin := s.token("admin", pluginsdk.ScopeAdmin)
	fuzz(t, s.described(), fuzzRounds, []string{"T", "R", "K", "x"}, admin, s.ask)
}

// fuzz makes requests of each operation, of which every fourth is nobody's, and fails where an
// answer is not as described. known are ids that there are.
func fuzz(t *testing.T, d description, rounds int, known []string, admin string, ask func(method, path, body string, headers ...string) got) {
	t.Helper()
	f := &fuzzer{Rand: rand.New(rand.NewPCG(fuzzSeed, 1)), document: d.whole, known: known} //nolint:gosec // no secret
	schemas := make(map[string]*jsonschema.Resolved)
	statuses := make(map[int]int)
	for round := range rounds {
		for _, o := range d.operations {
			path, body := f.request(o)
			headers := []string{"Authorization", admin}
			if round%4 == 3 {
				headers = nil
			}
			somebody := headers != nil
			if o.Body != nil {
				for media := range o.Body.Content {
					headers = append(headers, "Content-Type", media)
				}
			}
			answer := ask(o.method, path, body, headers...)
			statuses[answer.status]++
			what := fmt.Sprintf("%s %s %.300q", o.method, path, body)
			switch {
			case answer.status == 503 && answer.header.Get("Retry-After") != "": // what is asked for is turned off, say
			case answer.status >= 500 && answer.status != 501 && answer.status != 502:
				t.Errorf("%s: %d %s", what, answer.status, answer.body)
			case !somebody && o.Scope != "" && answer.status != 401:
				t.Errorf("%s by nobody: %d %s", what, answer.status, answer.body)
			}
			if wrong := f.undocumented(o, answer, schemas); wrong != "" {
				t.Errorf("%s: %d %s", what, answer.status, wrong)
			}
		}
	}
	// A fuzz that is refused at the door, or only ever right, tries nothing.
	for _, status := range []int{200, 401, 422, 404} {
		if statuses[status] < rounds {
			t.Errorf("%d was answered %d times: %v", status, statuses[status], statuses)
		}
	}
}

// fuzzer makes requests from schemas.
type fuzzer struct {
	*rand.Rand
	document map[string]any
	known    []string // ids that there are
}

// request is a path with its query, and a body, of an operation. Most parts are as the
// schemas want them.
func (f *fuzzer) request(o operation) (path, body string) {
	path = o.path
	query := url.Values{}
	for _, p := range o.Parameters {
		value := f.text(f.value(p.Schema, 0))
		if p.In == "path" {
			if f.IntN(3) > 0 { // something that there is
				value = f.known[f.IntN(len(f.known))]
			}
			path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(value), 1)
		} else if p.Required || f.IntN(3) == 0 {
			query.Add(p.Name, value)
		}
	}
	if path = strings.ReplaceAll(path, "//", "/x/"); strings.HasSuffix(path, "/") { // an empty part is another path
		path += "x"
	}
	if f.IntN(10) == 0 {
		query.Set("nobody", "knows")
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	if o.Body == nil {
		return path, ""
	}
	for _, media := range o.Body.Content {
		raw, err := json.Marshal(f.value(media.Schema, 0))
		if err != nil {
			panic(err)
		}
		body = string(raw)
	}
	switch f.IntN(20) {
	case 0:
		return path, ""
	case 1:
		return path, body[:f.IntN(len(body)+1)]
	case 2:
		return path, strings.Repeat("[", 1000)
	}
	return path, body
}

func (f *fuzzer) text(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return fmt.Sprint(value)
}

// odd are values that nobody expects.
var odd = []any{nil, "", 0, -1, 1e300, true, []any{}, map[string]any{}, "\x00", "\u202e", "'; DROP TABLE threads; --", "../../etc/passwd", "💣", "1", strings.Repeat("long", 1000)}

// value is one that a schema allows, most of the time.
func (f *fuzzer) value(schema map[string]any, depth int) any {
	if f.IntN(12) == 0 {
		return odd[f.IntN(len(odd))]
	}
	if ref, ok := schema["$ref"].(string); ok {
		schema = f.at(ref)
	}
	if choices, ok := schema["enum"].([]any); ok && f.IntN(6) > 0 {
		return choices[f.IntN(len(choices))]
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = kinds[f.IntN(len(kinds))].(string)
	}
	switch kind {
	case "object":
		return f.object(schema, depth)
	case "array":
		list := []any{}
		items, _ := schema["items"].(map[string]any)
		for range f.IntN(3) {
			if depth < 5 {
				list = append(list, f.value(items, depth+1))
			}
		}
		return list
	case "integer":
		return []int{0, 1, 2, 10, 1000, 1001, -1, 1 << 40}[f.IntN(8)]
	case "number":
		return []float64{0, 0.5, 1, -1, 1e9}[f.IntN(5)]
	case "boolean":
		return f.IntN(2) == 0
	case "null":
		return nil
	case "string":
		switch schema["format"] {
		case "date-time":
			return []string{"2030-01-02T03:04:05Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday"}[f.IntN(4)]
		case "byte":
			return "aGk="
		}
		return []string{"T", "R", "x", "read", "hello there", "/help", "/tasks", "a\nb", strings.Repeat("é", f.IntN(300))}[f.IntN(9)]
	}
	return odd[f.IntN(len(odd))]
}

func (f *fuzzer) object(schema map[string]any, depth int) any {
	made := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		must := slices.Contains(required, any(name))
		if of, ok := properties[name].(map[string]any); ok && depth < 5 && (must && f.IntN(20) > 0 || !must && f.IntN(3) == 0) {
			made[name] = f.value(of, depth+1)
		}
	}
	if more, ok := schema["additionalProperties"].(map[string]any); ok && depth < 5 {
		for range f.IntN(3) {
			made[fmt.Sprintf("k%d", f.IntN(5))] = f.value(more, depth+1)
		}
	}
	if f.IntN(20) == 0 {
		made["nobody"] = "knows"
	}
	return made
}

// at is what a reference means.
func (f *fuzzer) at(ref string) map[string]any {
	var here any = f.document
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		node, ok := here.(map[string]any)
		if !ok {
			return map[string]any{}
		}
		here = node[part]
	}
	found, _ := here.(map[string]any)
	return found
}

// undocumented says what of an answer the description does not have; empty: nothing.
func (f *fuzzer) undocumented(o operation, answer got, schemas map[string]*jsonschema.Resolved) string {
	status := fmt.Sprint(answer.status)
	described := o.Responses[status]
	if described == nil && answer.status >= 400 {
		status, described = "default", o.Responses["default"]
	}
	if described == nil {
		return "is a status that is not described"
	}
	var media content
	if err := json.Unmarshal(described, &media); err != nil {
		return err.Error()
	}
	kind, _, _ := strings.Cut(answer.header.Get("Content-Type"), ";")
	if len(media.Content) == 0 {
		if answer.body != "" {
			return "has a body, and none is described: " + answer.body
		}
		return ""
	}
	of, ok := media.Content[kind]
	if !ok {
		return fmt.Sprintf("is %q, which is not described: %v", kind, slices.Collect(maps.Keys(media.Content)))
	}
	if !strings.HasSuffix(kind, "json") {
		return ""
	}
	key := o.ID + " " + status
	if schemas[key] == nil {
		resolved, err := f.compile(of.Schema)
		if err != nil {
			return "its schema: " + err.Error()
		}
		schemas[key] = resolved
	}
	var body any
	if err := json.Unmarshal([]byte(answer.body), &body); err != nil {
		return "is no JSON: " + answer.body
	}
	if err := schemas[key].Validate(body); err != nil {
		return fmt.Sprintf("is not as described: %v: %s", err, answer.body)
	}
	return ""
}

// compile makes a schema whole: with those that it refers to.
func (f *fuzzer) compile(schema map[string]any) (*jsonschema.Resolved, error) {
	whole := maps.Clone(schema)
	whole["$defs"] = f.at("#/components/schemas")
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	raw = []byte(strings.ReplaceAll(string(raw), "#/components/schemas/", "#/$defs/"))
	var parsed jsonschema.Schema
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
}
