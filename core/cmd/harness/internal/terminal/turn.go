package terminal

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The longest lines, in characters, about what happens beside the answer.
const (
	detailLimit   = 120
	thinkingLimit = 200
)

// turn shows one run.
type turn struct {
	said    string // the message that is answered
	foreign bool   // it was said elsewhere
	waited  bool   // others were before it
	stopped bool   // a person asked for its end

	shown    []string          // the agent's finished blocks of text
	block    strings.Builder   // of the block that is being written
	deltas   int               // bytes of text deltas so far, as their offsets count
	torn     bool              // deltas of this block are missing
	thinking bool              // a line about thinking is begun
	tools    map[string]string // names of the tools called, by the call's id

	doing string        // what it is at
	since time.Time     // when something was last heard of it
	due   time.Duration // after so long without a word the person is told
}

// quiet is how long a turn may show nothing before it is said that it goes on; then twice
// as long, and so forth.
const quiet = 10 * time.Second

// heard notes a sign of life, and what the turn is at; empty: the same as before.
func (t *turn) heard(now time.Time, doing string) {
	t.doing, t.since, t.due = cmp.Or(doing, t.doing), now, quiet
}

// still says what a turn is at of which nothing was heard for long.
func (t *turn) still(screen *Screen, now time.Time) {
	span := now.Sub(t.since)
	if span < t.due {
		return
	}
	for t.due <= span {
		t.due *= 2
	}
	screen.Line(screen.Dim("· " + t.doing + " (" + Took(span) + ")"))
}

// begin is an attempt's beginning.
func (t *turn) begin(screen *Screen) {
	if t.waited {
		t.waited = false
		screen.Line(screen.Dim("» " + Short(t.said, detailLimit)))
	}
	t.deltas, t.torn = 0, false
	t.block.Reset()
}

// stream shows what the agent is doing.
func (t *turn) stream(screen *Screen, event pluginsdk.StreamEvent) {
	switch event.Type {
	case pluginsdk.StreamTextDelta:
		t.textDelta(screen, event)
	case pluginsdk.StreamText:
		t.textBlock(screen, event.Text)
	case pluginsdk.StreamThinkingDelta:
		if !t.thinking {
			t.thinking = true
			screen.Begin(screen.Dim("· thinking"))
		}
	case pluginsdk.StreamThinking:
		t.thought(screen, event.Text)
	case pluginsdk.StreamToolCall:
		t.toolCall(screen, event)
	case pluginsdk.StreamToolResult:
		if event.IsError {
			screen.Line(screen.Red("  ✗ " + t.tool(event) + " failed: " + Short(event.Text, detailLimit)))
		}
	case pluginsdk.StreamRetry:
		screen.Line(screen.Yellow("· the agent repeats a call that failed: " + Short(event.Text, detailLimit)))
	case pluginsdk.StreamDenied:
		screen.Line(screen.Yellow("· denied: " + t.tool(event) + " " + Short(event.Text, detailLimit)))
	}
}

func (t *turn) textDelta(screen *Screen, event pluginsdk.StreamEvent) {
	if event.Offset != t.deltas {
		t.torn = true
	}
	t.deltas = event.Offset + len(event.Text)
	if t.torn {
		return // the whole block follows
	}
	if t.block.Len() == 0 {
		t.thinking = false
		screen.Passage()
	}
	t.block.WriteString(event.Text)
	screen.Text(event.Text)
}

// textBlock is a block that is whole: it is shown unless its deltas were.
func (t *turn) textBlock(screen *Screen, text string) {
	if t.torn || t.block.String() != text {
		screen.Passage()
		screen.Text(text)
	}
	screen.Flush()
	t.shown = append(t.shown, text)
	t.block.Reset()
	t.torn, t.thinking = false, false
}

func (t *turn) thought(screen *Screen, text string) {
	if !t.thinking {
		screen.Begin(screen.Dim("· thinking"))
	}
	t.thinking = false
	if short := Short(text, thinkingLimit); short != "" {
		screen.Add(screen.Dim(": " + short))
	}
	screen.Fresh()
}

func (t *turn) toolCall(screen *Screen, event pluginsdk.StreamEvent) {
	if t.tools == nil {
		t.tools = make(map[string]string)
	}
	t.tools[event.ToolUseID] = event.ToolName
	t.thinking = false
	screen.Line(screen.Dim("· " + Clean(event.ToolName) + " " + Short(string(event.Input), detailLimit)))
}

// tool is the name of the tool that an event is about.
func (t *turn) tool(event pluginsdk.StreamEvent) string {
	if event.ToolName != "" {
		return Clean(event.ToolName)
	}
	if name := t.tools[event.ToolUseID]; name != "" {
		return Clean(name)
	}
	return "the tool"
}

// end shows what the database says about the run, as far as it is not on the
// screen.
func (t *turn) end(screen *Screen, ending *client.Ending) {
	if ending.Err != nil {
		screen.Line(screen.Red("✗ " + Clean(ending.Err.Error())))
		return
	}
	for _, message := range ending.Texts() {
		if message.Role == pluginsdk.RoleAssistant {
			t.reply(screen, ending, message)
		} else {
			screen.Line(Clean(message.Content))
		}
	}
	screen.Fresh()
	for _, message := range ending.Messages {
		for _, line := range Attached(message) {
			screen.Line(screen.Dim(line))
		}
	}
	if ending.Run.State == pluginsdk.RunCancelled {
		screen.Line(screen.Yellow(Cancelled(ending)))
		return
	}
	for _, message := range ending.Statuses() {
		if ending.Succeeded() {
			screen.Line(screen.Dim(Clean(message.Content)))
		} else {
			screen.Line(screen.Red("✗ " + Clean(message.Content)))
		}
	}
	if len(ending.Messages) == 0 && !ending.Succeeded() {
		screen.Line(screen.Red("✗ " + Clean(ending.Reason())))
	}
	if again := Again(ending.Run); again != "" {
		screen.Line(screen.Dim(again))
	}
}

// payload reads an event's data; a wrong one reads as empty.
func payload[T any](event pluginsdk.Event) T {
	var data T
	_ = json.Unmarshal(event.Data, &data)
	return data
}
