package runs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// entry is one thing that happened in a run.
type entry struct {
	at    time.Time
	took  time.Duration // 0: it was an instant, or nobody knows
	icon  string
	name  string
	words string // a line more
	more  []text // what can be folded open
	calls []call // of plugins
	tone  ui.Tone
	// attempt is the one that it belongs to; 0: it does not tell.
	attempt int

	// Where it lies in the attempt, of 100: for its bar. An instant has a width of 0.
	from, width float64
}

// text is a long text with its name.
type text struct{ name, words string }

// maxShown is how much of a long text a page has, in bytes.
const maxShown = 4 << 10

// timeline is what a run tells of itself, attempt by attempt.
func timeline(run api.Run) []attempt {
	all := []entry{{at: run.QueuedAt, icon: "inbox", name: "Accepted"}}
	if !run.StartedAt.IsZero() {
		all = append(all, entry{at: run.StartedAt, icon: "play", name: "Started", words: waited(run)})
	}
	asked := hooks(run.Hooks)
	all = append(all, steps(run.Steps, asked, run.Attempt)...)
	all = append(all, asked...)
	all = append(all, events(run.Events)...)
	for _, failed := range run.Failures {
		all = append(all, entry{
			at: failed.At, attempt: failed.Attempt, icon: "circle-alert", name: "The attempt failed",
			words: ui.Cut(failed.Error, 300), tone: ui.Bad,
		})
	}
	if !run.FinishedAt.IsZero() {
		last := entry{at: run.FinishedAt, attempt: run.Attempt, icon: "circle-check", name: "Over", words: string(run.State), tone: ui.ToneOf(string(run.State))}
		if run.Error != "" {
			last.icon, last.words = "circle-alert", ui.Cut(run.Error, 500)
		}
		all = append(all, last)
	}
	return attempts(run, all)
}

func waited(run api.Run) string {
	if wait := run.StartedAt.Sub(run.QueuedAt); wait > 100*time.Millisecond {
		return "after " + ui.Long(wait) + " in the queue"
	}
	return ""
}

// events are the entries of what the agent did. A call of a tool and its result are one.
func events(of []pluginsdk.StreamEvent) (all []entry) {
	calls := make(map[string]int)
	for _, event := range of {
		switch event.Type {
		case pluginsdk.StreamText:
			all = append(all, entry{at: event.Timestamp, icon: "bot", name: "Said", words: ui.Cut(event.Text, 200), more: long("All of it", event.Text, 200)})
		case pluginsdk.StreamThinking:
			if event.Text != "" {
				all = append(all, entry{at: event.Timestamp, icon: "brain", name: "Thought", words: ui.Cut(event.Text, 120), more: long("All of it", event.Text, 120)})
			}
		case pluginsdk.StreamToolCall:
			calls[event.ToolUseID] = len(all)
			all = append(all, entry{at: event.Timestamp, icon: "wrench", name: cmp.Or(event.ToolName, "A tool"), more: long("Input", pretty(event.Input), 0)})
		case pluginsdk.StreamToolResult:
			n, known := calls[event.ToolUseID]
			if !known {
				n = len(all)
				all = append(all, entry{at: event.Timestamp, icon: "wrench", name: "The result of a tool"})
			} else {
				all[n].took = event.Timestamp.Sub(all[n].at)
			}
			if event.IsError {
				all[n].tone, all[n].words = ui.Bad, ui.Cut(event.Text, 200)
			}
			all[n].more = append(all[n].more, long("Result", event.Text, 0)...)
		case pluginsdk.StreamRetry:
			all = append(all, entry{at: event.Timestamp, icon: "rotate-ccw", name: "The agent asks the model again", words: ui.Cut(event.Text, 200), tone: ui.Wait})
		case pluginsdk.StreamDenied:
			all = append(all, entry{at: event.Timestamp, icon: "shield", name: "Denied: " + event.ToolName, words: ui.Cut(event.Text, 200), tone: ui.Bad})
		case pluginsdk.StreamTextDelta, pluginsdk.StreamThinkingDelta:
		}
	}
	return all
}

// long is a text that is to be folded, when a line of so many characters has not all of it.
func long(name, words string, line int) []text {
	if words == "" || line > 0 && len(words) <= line {
		return nil
	}
	if len(words) > maxShown {
		words = words[:maxShown] + "\n… and " + ui.Size(int64(len(words)-maxShown)) + " more"
	}
	return []text{{name, words}}
}

func pretty(input json.RawMessage) string {
	var value any
	if json.Unmarshal(input, &value) != nil {
		return string(input)
	}
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return string(input)
	}
	return string(text)
}

// since is how long after the beginning of the attempt an entry was.
func since(of attempt, e entry) string {
	after := e.at.Sub(of.entries[0].at)
	if after < time.Millisecond {
		return "0"
	}
	return "+" + ui.Long(after)
}

// later says how long after the run was accepted an attempt began.
func later(run api.Run, of attempt) string {
	if after := of.entries[0].at.Sub(run.QueuedAt); after >= time.Millisecond {
		return ", " + ui.Long(after) + " after it was accepted"
	}
	return ""
}

func percent(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
