package summaries

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/plugins/summaries/internal/heard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// leftOutOfAnswer stands in a prompt for the sentences of an answer that may be of tools.
	leftOutOfAnswer = "[...]"
	// mostKnownRuns is how many runs it is kept in memory of whether they used tools.
	mostKnownRuns = 5000
)

// quietTools bring nothing into a conversation but what the agent or a person puts there.
var quietTools = []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "TodoWrite", "ExitPlanMode", "AskUserQuestion"}

// usedTools reports whether the agent used tools in a run that bring something in from outside. Of a run that
// is not kept any more, or whose events are not (HARNESS_RETENTION_DAYS), it is taken that it did: what an agent answers is an event
// too. Commands are answered by no agent. The caller holds mu.
func (p *Plugin) usedTools(ctx context.Context, runID string) (bool, error) {
	if used, known := p.tools[runID]; known {
		return used, nil
	}
	got, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: runID})
	if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		return false, err
	}
	used := err != nil || len(got.Run.Events) == 0 && got.Run.Kind != pluginsdk.RunCommand || slices.ContainsFunc(got.Run.Events, func(e pluginsdk.StreamEvent) bool {
		return e.Type == pluginsdk.StreamToolCall && !slices.Contains(quietTools, e.ToolName)
	})
	if p.tools == nil || len(p.tools) >= mostKnownRuns {
		p.tools = make(map[string]bool)
	}
	p.tools[runID] = used
	return used, nil
}

// toolsKnown is what is known of the tools that the agent used in a thread: the answer Upto is the first one with tools when Used is
// set; else no answer up to Upto had any.
type toolsKnown struct {
	Upto int64
	Used bool `json:",omitempty"`
}

// after reports whether an answer may have been given after the agent had used tools in the thread.
func (k toolsKnown) after(id int64) bool { return k.Used && id >= k.Upto || !k.Used && id > k.Upto }

// knowTools goes on from what is known of a thread's tools with the answers since then, at most mostSince of them, and notes it in the
// work. It is known of the whole thread, whatever session the agent has: the next session is given the summary row, which says what
// tools said. An answer that is not known to be without tools counts as one with them; so does an answer of no run, such as one that
// a branch has from the thread that it was made of. The caller holds mu.
func (p *Plugin) knowTools(ctx context.Context, w *work, threadID string) (toolsKnown, error) {
	known := w.Tools[threadID]
	if known.Used {
		return known, nil
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: threadID, After: known.Upto, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Roles: []pluginsdk.Role{pluginsdk.RoleAssistant}, Limit: mostSince,
	}})
	if err != nil {
		return known, err
	}
	for _, row := range page.Messages {
		known.Upto, known.Used = row.ID, row.RunID == ""
		if !known.Used {
			if known.Used, err = p.usedTools(ctx, row.RunID); err != nil {
				return known, err
			}
		}
		if known.Used {
			break
		}
	}
	if known.Upto > 0 {
		if w.Tools == nil {
			w.Tools = make(map[string]toolsKnown)
		}
		w.Tools[threadID] = known
	}
	return known, nil
}

// sentences ends where one sentence does.
var sentences = lazy.Regexp(`(?:[^.!?\n。！？]|[.!?]+[^\s.!?。！？])*[.!?\n。！？]*\s*`)

// heardOf is what an answer says that people have said. The rest of it may be of tools.
func heardOf(answer string, people *heard.Words, at time.Time) string {
	var kept []string
	for _, sentence := range sentences.FindAllString(answer, -1) {
		sentence = strings.TrimSpace(sentence)
		switch {
		case sentence == "":
		case len(people.Missing(sentence, at)) == 0:
			kept = append(kept, sentence)
		case len(kept) == 0 || kept[len(kept)-1] != leftOutOfAnswer:
			kept = append(kept, leftOutOfAnswer)
		}
	}
	return strings.Join(kept, " ")
}

// withoutTools keeps of what the agent answers of a thread the lines, and the name, that say what the prompt shows of it as new, or
// what was noted before. The prompt also has the whole conversation for a summary row, which stays in its thread.
func withoutTools(t *turn, one asked, at time.Time, lines []string, threadName string) ([]string, string) {
	if !one.Tools {
		return lines, threadName
	}
	var shown []conversation
	if json.Unmarshal([]byte(strings.TrimPrefix(t.Request.Prompt, summaryPrompt)), &shown) != nil {
		return nil, ""
	}
	i := slices.IndexFunc(shown, func(c conversation) bool { return c.Thread == one.Ref })
	if i < 0 {
		return nil, ""
	}
	known := heard.New(heard.Message{Text: shown[i].SoFar, At: at}, heard.Message{Text: shown[i].Name, At: at})
	for _, row := range shown[i].New {
		known.Add(heard.Message{Text: row.Text, At: at})
	}
	missing := func(line string) bool { return len(known.Missing(line, at)) > 0 }
	if missing(threadName) {
		threadName = ""
	}
	return slices.DeleteFunc(slices.Clone(lines), missing), threadName
}
