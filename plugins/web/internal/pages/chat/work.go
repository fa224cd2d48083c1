package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/diff"
	"github.com/seed-706843ae/harness/plugins/web/internal/markdown"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How much of a step is shown before somebody asks for all of it: in bytes, and of a
// difference in lines.
const (
	stepBytes = 4 << 10
	stepLines = 80
	// workSteps is how many steps a page shows of a run; all are on the page of the run.
	workSteps = 200
)

// step is one thing that an agent did: it thought or said something (Text), or called a tool
// (Tool).
type step struct {
	Kind    pluginsdk.StreamEventType // text, thinking, tool_call, denied, retry
	Text    string
	Tool    string
	UseID   string
	Input   json.RawMessage
	Result  string
	Done    bool // the tool has answered
	Failed  bool
	Took    time.Duration // 0: that is not known
	Writing bool          // it is being written
	Cut     bool          // a part of it is not kept

	began time.Time
}

// HTML is what an agent said, as it is shown.
func (s step) HTML() templ.Component { return templ.Raw(markdown.HTML(s.Text)) }

// steps puts together what came one by one.
type steps struct{ all []step }

// add takes in an event, and returns the step that it is of; nil: of none.
func (s *steps) add(event pluginsdk.StreamEvent) *step {
	switch event.Type { //nolint:exhaustive // deltas are put together elsewhere
	case pluginsdk.StreamText, pluginsdk.StreamThinking, pluginsdk.StreamRetry:
		if event.Text == "" {
			return nil
		}
	case pluginsdk.StreamToolCall:
	case pluginsdk.StreamDenied:
		if called := s.call(event.ToolUseID); called != nil {
			called.Kind = pluginsdk.StreamDenied
			return called
		}
	case pluginsdk.StreamToolResult:
		called := s.call(event.ToolUseID)
		if called == nil {
			s.all = append(s.all, step{Kind: pluginsdk.StreamToolCall, Tool: cmp.Or(event.ToolName, "A tool"), UseID: event.ToolUseID})
			called = &s.all[len(s.all)-1]
		}
		called.Result, called.Done, called.Failed = event.Text, true, event.IsError
		if !called.began.IsZero() && event.Timestamp.After(called.began) {
			called.Took = event.Timestamp.Sub(called.began)
		}
		return called
	default:
		return nil
	}
	s.all = append(s.all, step{
		Kind: event.Type, Text: event.Text, Tool: event.ToolName, UseID: event.ToolUseID, Input: event.Input, began: event.Timestamp,
	})
	return &s.all[len(s.all)-1]
}

func (s *steps) call(useID string) *step {
	for i := len(s.all) - 1; i >= 0; i-- {
		if s.all[i].UseID == useID && useID != "" {
			return &s.all[i]
		}
	}
	return nil
}

// worked are the steps of a run that are stored, without its answer: as the run has them, or
// once those have been cleared away, as rows of the thread tell.
func (c *chat) worked(ctx context.Context, threadID, runID string) ([]step, error) {
	var run api.Run
	if err := c.Get(ctx, "/api/runs/"+url.PathEscape(runID), nil, &run); err != nil && site.Status(err) != http.StatusNotFound {
		return nil, err
	}
	made := &steps{}
	for _, event := range run.Events {
		made.add(event)
	}
	if len(run.Events) > 0 {
		if n := len(made.all); n > 0 && run.Result != nil && made.all[n-1].Kind == pluginsdk.StreamText && strings.TrimSpace(made.all[n-1].Text) == strings.TrimSpace(run.Result.Text) {
			made.all = made.all[:n-1] // it stands below as the answer
		}
		return made.all, nil
	}
	rows, err := c.messages(ctx, threadID, url.Values{"run": {runID}, "kind": {"thinking", "tool_call", "tool_result"}, "limit": {"1000"}})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		addRow(made, row)
	}
	return made.all, nil
}

// addRow takes in a row that the plugin activity has written.
func addRow(made *steps, row pluginsdk.Message) {
	var of struct {
		ToolName   string          `json:"toolName"`
		ToolUseID  string          `json:"toolUseId"`
		Input      json.RawMessage `json:"input"`
		Success    *bool           `json:"success"`
		DurationMS int64           `json:"durationMs"`
	}
	if len(row.Metadata) > 0 {
		_ = json.Unmarshal(row.Metadata, &of) // of others' rows it may be anything
	}
	event := pluginsdk.StreamEvent{Text: row.Content, ToolUseID: of.ToolUseID}
	switch row.Kind { //nolint:exhaustive // the others are no steps
	case pluginsdk.MessageThinking:
		event.Type = pluginsdk.StreamThinking
	case pluginsdk.MessageToolCall:
		event.Type, event.ToolName, event.Input = pluginsdk.StreamToolCall, cmp.Or(of.ToolName, row.Content), of.Input
	case pluginsdk.MessageToolResult:
		event.Type, event.IsError = pluginsdk.StreamToolResult, of.Success != nil && !*of.Success
	}
	if one := made.add(event); one != nil && of.DurationMS > 0 {
		one.Took = time.Duration(of.DurationMS) * time.Millisecond
	}
}

// work is the part that shows how an answer came about.
func (c *chat) work(r *http.Request) (templ.Component, error) {
	thread, run := r.PathValue("thread"), r.PathValue("run")
	all, err := c.worked(r.Context(), thread, run)
	if err != nil {
		return nil, err
	}
	return workPart(thread, run, all), nil
}

// wholeStep is the page of one step, with all of what a tool was called with and answered.
func (c *chat) wholeStep(r *http.Request) (site.View, error) {
	thread, run := r.PathValue("thread"), r.PathValue("run")
	all, err := c.worked(r.Context(), thread, run)
	if err != nil {
		return site.View{}, err
	}
	for _, one := range all {
		if one.UseID == r.PathValue("step") {
			return site.View{Title: one.title(), At: "/chat", Body: wholeStep(thread, run, one)}, nil
		}
	}
	return site.View{}, notThere("step", r.PathValue("step"))
}

// title is what a tool is called for people: a plugin's with its plugin.
func (s step) title() string {
	switch s.Kind { //nolint:exhaustive // the others are tools
	case pluginsdk.StreamThinking:
		return "Thinking"
	case pluginsdk.StreamRetry:
		return "Asked the model again"
	}
	return toolName(s.Tool)
}

// toolName is what a tool is called for people.
func toolName(name string) string {
	switch name {
	case "AskUserQuestion":
		return "Asks people"
	case "ExitPlanMode":
		return "Has a plan"
	}
	if local, ours := strings.CutPrefix(name, "mcp__harness__"); ours {
		name = local
	} else if local, ours := strings.CutPrefix(name, "mcp__"); ours {
		name = local
	}
	return strings.Replace(name, "__", ": ", 1)
}

// subjects are the fields of tools' inputs that say best what a call is about.
var subjects = []string{"command", "file_path", "notebook_path", "path", "pattern", "query", "url", "description", "prompt", "name", "id"}

// subject is what a call is about, on one line; it may be empty.
func (s step) subject() string {
	if s.Kind == pluginsdk.StreamThinking || s.Kind == pluginsdk.StreamRetry {
		return ui.Cut(s.Text, 100)
	}
	fields := fieldsOf(s.Input)
	for _, name := range subjects {
		for _, one := range fields {
			if one.Name == name {
				return ui.Cut(one.Value, 120)
			}
		}
	}
	return ""
}

// icon is the picture of a step.
func (s step) icon() string {
	switch {
	case s.Kind == pluginsdk.StreamThinking:
		return "brain"
	case s.Kind == pluginsdk.StreamRetry:
		return "rotate-ccw"
	case s.Tool == "Bash" || s.Tool == "BashOutput":
		return "terminal"
	case len(s.edits()) > 0:
		return "file-diff"
	case s.Tool == "Read" || s.Tool == "NotebookRead":
		return "file-text"
	case s.Tool == "Grep" || s.Tool == "Glob" || s.Tool == "WebSearch":
		return "search"
	case s.Tool == "WebFetch":
		return "globe"
	}
	return "wrench"
}

// edit is a change of a file that a tool was asked to make.
type edit struct{ Before, After string }

// edits are the changes that a call is about; none for other tools.
func (s step) edits() []edit {
	var in struct {
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		Content string `json:"content"`
		Source  string `json:"new_source"`
		Edits   []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		} `json:"edits"`
	}
	if json.Unmarshal(s.Input, &in) != nil {
		return nil
	}
	switch s.Tool {
	case "Edit":
		return []edit{{in.Old, in.New}}
	case "Write":
		return []edit{{"", in.Content}}
	case "NotebookEdit":
		return []edit{{"", in.Source}}
	case "MultiEdit":
		made := make([]edit, 0, len(in.Edits))
		for _, one := range in.Edits {
			made = append(made, edit{one.Old, one.New})
		}
		return made
	}
	return nil
}

// hunks are what an edit changes, at most so many lines of it. left is how many are left out.
func (e edit) hunks(most int) (hunks []diff.Hunk, left int) {
	file := diff.Of(e.Before, e.After)
	left = file.LeftOut
	for _, hunk := range file.Hunks {
		kept := min(most, len(hunk.Lines))
		left, most = left+len(hunk.Lines)-kept, most-kept
		if hunk.Lines = hunk.Lines[:kept]; kept > 0 {
			hunks = append(hunks, hunk)
		}
	}
	return hunks, left
}

// field is one of a tool's inputs.
type field struct {
	Name, Value string
	Long        bool // it has several lines, or a long one
}

// fieldsOf are the fields of a tool's input in their order, each as text; of an input that is
// no object one, without a name.
func fieldsOf(input json.RawMessage) (fields []field) {
	decoder := json.NewDecoder(bytes.NewReader(input))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		if text := valueOf(input); text != "" {
			fields = append(fields, field{Value: text, Long: true})
		}
		return fields
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return fields
		}
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return fields
		}
		text := valueOf(raw)
		label, _ := name.(string)
		fields = append(fields, field{label, text, len(text) > 80 || strings.Contains(text, "\n")})
	}
	return fields
}

// valueOf is a JSON value as text: a string as it is, the rest indented.
func valueOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var indented bytes.Buffer
	if json.Indent(&indented, raw, "", "  ") != nil {
		return string(raw)
	}
	if text = indented.String(); text == "null" {
		return ""
	}
	return text
}

// worth says what a run took, in a line.
func (f *figures) worth() string {
	if f == nil {
		return "How this came about"
	}
	var parts []string
	if f.Took > 0 {
		parts = append(parts, "Worked "+ui.Long(f.Took))
	}
	if f.Tools > 0 {
		parts = append(parts, ui.Plural(f.Tools, "tool"))
	}
	if f.Tokens > 0 {
		parts = append(parts, ui.Count(f.Tokens)+" tokens")
	}
	if len(parts) == 0 {
		return "How this came about"
	}
	return strings.Join(parts, " · ")
}
