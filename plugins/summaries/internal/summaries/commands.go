package summaries

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/digest"
	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	command = "memory"
	usage   = "log [N] | diff [N] | revert N | consolidate"
	// toolConsolidate is the agent's way to have the inbox consolidated.
	toolConsolidate = "consolidate"
	// shownRecords is how many consolidations the log shows.
	shownRecords = 10
)

// errStrangers refuses the memory to who is not to know what the workspace holds.
var errStrangers = pluginsdk.Errorf(pluginsdk.CodeDenied, "the memory is not for this thread: it is apart, or the setting threads of the plugin summaries does not name it")

func commands() []pluginsdk.CommandSpec {
	return []pluginsdk.CommandSpec{{
		Name: command, Scope: pluginsdk.ScopeWork, Beside: true, Description: "the agent's memory: what was consolidated, refused and left out, and back", Usage: usage,
		Options: []pluginsdk.CommandOption{
			{Name: "what", Description: "what to do", Type: pluginsdk.OptionChoice, Choices: []string{"log", "diff", "revert", "consolidate"}},
			{Name: "number", Description: "of a consolidation; without one the newest, or all", Type: pluginsdk.OptionNumber},
		},
	}}
}

func tools() []pluginsdk.ToolSpec {
	return []pluginsdk.ToolSpec{{
		Name: toolConsolidate,
		Description: "Have the inbox (context/inbox.md) consolidated into the memory (context/memory.md), each entry with its date and the message that it comes from. " +
			"When you are asked to consolidate the memory, call this and do nothing else: do not edit the two files as well.",
		InputSchema: json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {}}`),
	}, {
		Name:        toolLog,
		Description: "What the last consolidations of the memory added, removed, refused and left out, and why.",
		InputSchema: json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {
			"number": {"type": "integer", "minimum": 1, "description": "Of one consolidation"}, "before": {"type": "integer", "minimum": 1}, "texts": {"type": "boolean"}}}`),
	}}
}

// CallTool has the inbox consolidated for an agent, or tells of the consolidations.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	result, err := p.called(ctx, call)
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others say what was wrong
	case "":
		return &pluginsdk.CallToolResponse{Result: result}, nil
	case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline, pluginsdk.CodeCancelled, pluginsdk.CodeInternal:
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: err.Error(), IsError: true}}, nil
}

func (p *Plugin) called(ctx context.Context, call *pluginsdk.CallToolRequest) (result pluginsdk.ToolResult, err error) {
	by, err := p.caller(ctx, call)
	if err != nil {
		return result, err
	}
	switch call.Name {
	case toolConsolidate:
		result.Text, err = p.consolidate(ctx, by)
		return result, err
	case toolLog:
		return p.answerLog(ctx, call)
	}
	return result, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no tool %q", call.Name)
}

// caller says who calls a tool, and refuses who is not to know the memory.
func (p *Plugin) caller(ctx context.Context, call *pluginsdk.CallToolRequest) (string, error) {
	if call.TaskID != "" {
		return "", pluginsdk.Errorf(pluginsdk.CodeDenied, "the memory is not for tasks")
	}
	if call.ThreadID == "" {
		return "an operator", nil
	}
	answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: call.ThreadID})
	if err != nil {
		return "", err
	}
	if thread := answer.Thread; !p.config.Load().mayKnow(thread) && (thread.Apart || thread.Kind != pluginsdk.ThreadCron) {
		return "", errStrangers
	}
	return "the agent of the thread " + call.ThreadID, nil
}

// OnCommand does what a person has typed.
func (p *Plugin) OnCommand(ctx context.Context, request *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	if request.Name != command {
		return nil, nil
	}
	if request.Origin != pluginsdk.FromPerson {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "/memory is for people; an agent calls the tool %s", toolConsolidate)
	}
	if !p.config.Load().mayKnow(request.Thread) {
		return nil, errStrangers
	}
	reply, err := p.typed(ctx, request.Message.Label(), strings.Fields(request.Body))
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: reply}, nil
}

func (p *Plugin) typed(ctx context.Context, by pluginsdk.Label, words []string) (string, error) {
	verb, n := "log", 0
	if len(words) > 0 {
		verb = words[0]
	}
	if len(words) > 1 {
		var err error
		if n, err = strconv.Atoi(words[1]); err != nil || n < 1 || len(words) > 2 {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "%q is no number of a consolidation; /memory log shows them", strings.Join(words[1:], " "))
		}
	}
	switch verb {
	case "log":
		return p.log(ctx, n)
	case "diff":
		return p.diff(ctx, n)
	case "consolidate":
		return p.consolidate(ctx, by.String())
	case "revert":
		if n == 0 {
			return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "say which consolidation: /memory revert N; /memory log shows them")
		}
		return p.revert(ctx, n, by.String())
	}
	return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "/memory has no %q; it has %s", verb, usage)
}

// log shows the newest consolidations, or one with all that was refused and left out.
func (p *Plugin) log(ctx context.Context, n int) (string, error) {
	all, err := p.numbers(ctx)
	if err != nil {
		return "", err
	}
	open, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	var lines []string
	if open != nil && (n == 0 || n == open.N) {
		lines = append(lines, open.line())
	}
	shown := 0
	for i := len(all) - 1; i >= 0 && shown < shownRecords; i-- {
		if n != 0 && all[i] != n || open != nil && open.N == all[i] {
			continue
		}
		r, err := p.record(ctx, recordKey(all[i]))
		if err != nil {
			return "", err
		}
		if r == nil {
			continue
		}
		lines = append(lines, r.line())
		if shown++; n != 0 || shown == 1 { // the newest, and one that is asked for
			lines = append(lines, r.details()...)
		}
	}
	switch {
	case len(lines) > 0:
		return strings.Join(lines, "\n"), nil
	case n != 0:
		return "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no consolidation %d; /memory log shows those that are kept", n)
	}
	return "Nothing was consolidated yet. /memory consolidate does it now, `harness cron on memory` every night.", nil
}

// line is what has become of a consolidation.
func (r *record) line() string {
	text := fmt.Sprintf("**%d** %s, by %s: %s", r.N, r.At.UTC().Format("2006-01-02 15:04"), r.By, r.Phase)
	if r.Why != "" {
		text += " (" + r.Why + ")"
	}
	switch r.Phase {
	case phaseDone, phaseReverted, phaseReverting:
		text += fmt.Sprintf("; %d added, %d removed, %d lines left aside, %d refused, %d left in the inbox; $%.3f",
			len(r.Plan.Added), len(r.Plan.Removed), len(r.Plan.Skipped), len(r.Plan.Refused), r.left(), r.CostUSD)
	case phaseAsked, phaseTurning, phaseWriting, phaseNothing, phaseFailed:
	}
	if r.Phase == phaseReverted {
		text += fmt.Sprintf("; reverted %s by %s", r.RevertedAt.UTC().Format(time.RFC3339), r.RevertedBy)
	}
	return text
}

// left is how many lines the inbox had afterwards: those that were left out, and those that the agent was given in vain.
func (r *record) left() int {
	inbox := r.Inbox.After
	if r.Phase == phaseReverted {
		inbox = r.RevertedInbox.After
	}
	return len(memory.Parse(inbox).Items())
}

// mostDetails is how many lines of a kind are shown.
const mostDetails = 30

// details are what was refused and left out, each with its reason.
func (r *record) details() (lines []string) {
	for _, kind := range []struct {
		what  string
		notes []memory.Note
	}{{"refused", r.Plan.Refused}, {"left in the inbox", append(slices.Clone(r.LeftOut), r.inVain()...)}} {
		for i, note := range kind.notes {
			if i == mostDetails {
				lines = append(lines, fmt.Sprintf("  - %d more %s", len(kind.notes)-i, kind.what))
				break
			}
			lines = append(lines, fmt.Sprintf("  - %s: %s (%s)", kind.what, digest.OneLine(note.What, 300), note.Why))
		}
	}
	return lines
}

// inVain are the lines that a consolidation has left in the inbox though it has not left them out.
func (r *record) inVain() (lines []memory.Note) {
	if r.Phase != phaseDone {
		return nil
	}
	for _, item := range memory.Parse(r.Inbox.After).Items() {
		if !slices.ContainsFunc(r.LeftOut, func(note memory.Note) bool { return note.What == item.Raw }) {
			lines = append(lines, memory.Note{What: item.Raw, Why: "nothing was made of it"})
		}
	}
	return lines
}

// diff shows what a consolidation has changed; 0: the newest that has changed something.
func (p *Plugin) diff(ctx context.Context, n int) (string, error) {
	open, err := p.open(ctx)
	if err != nil {
		return "", err
	}
	if open != nil && n == open.N {
		return open.atWork(), nil
	}
	all, err := p.numbers(ctx)
	if err != nil {
		return "", err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if n != 0 && all[i] != n {
			continue
		}
		r, err := p.record(ctx, recordKey(all[i]))
		if err != nil {
			return "", err
		}
		if r != nil && (n != 0 || r.Phase == phaseDone) {
			return r.diff(), nil
		}
	}
	if n != 0 {
		return "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no consolidation %d; /memory log shows those that are kept", n)
	}
	return "No consolidation has changed anything yet.", nil
}

// atWork says that what a consolidation changes is not known yet.
func (r *record) atWork() string {
	switch r.Phase {
	case phaseReverting:
		return fmt.Sprintf("Consolidation %d is being reverted; /memory log shows what becomes of it.\n\n%s", r.N, r.diff())
	case phaseWriting:
		return fmt.Sprintf("Consolidation %d is being written; /memory log shows what becomes of it.\n\n%s", r.N, r.diff())
	case phaseAsked, phaseTurning, phaseDone, phaseNothing, phaseFailed, phaseReverted:
	}
	return fmt.Sprintf("Consolidation %d is at work (%s): it has changed nothing yet. /memory log shows what becomes of it.", r.N, r.Phase)
}

func (r *record) diff() string {
	lines := []string{r.line(), "", "```diff"}
	for _, note := range r.Plan.Removed {
		lines = append(lines, "-memory "+strings.ReplaceAll(note.What, "\n", "\n-memory "))
	}
	for _, note := range r.Plan.Added {
		lines = append(lines, "+memory "+note.What)
	}
	for _, raw := range r.Plan.Taken {
		lines = append(lines, "-inbox  "+strings.ReplaceAll(raw, "\n", "\n-inbox  "))
	}
	return strings.Join(append(lines, "```"), "\n")
}
