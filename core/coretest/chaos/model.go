package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/fakeapi"
)

const (
	// wordSlow and wordTool in a message make its turn long, and make it use a
	// tool: kills then hit it in the middle.
	wordSlow = "slowly"
	wordTool = "with a tool"
	// wordLong makes a turn so long that those who came with it can begin, too.
	wordLong = "at great length"

	// wordWhole makes an answer too long for one message of Discord's, wordSeen makes its turn
	// say something and then work for so long that it is shown meanwhile, and wordGreet
	// puts into the answer what would notify everybody.
	wordWhole = "the whole of it"
	wordSeen  = "where it can be seen"
	wordGreet = "greet everybody"

	slowTurn = time.Second
	longTurn = 4 * time.Second
	// interruptedNote begins what the pipeline says to an agent that may have
	// acted already.
	interruptedNote = "Note: you were given this message before and were interrupted"
)

// turnHead is how the core begins what it says about a thread: once in each
// prompt.
var turnHead = regexp.MustCompile(`\[thread [0-9a-f-]{36}, kind `)

// anyMarker is what a message of a person carries, or a plugin's work.
var anyMarker = regexp.MustCompile(check.Marker.String() + "|" + check.WorkMarker.String())

// model is the fake model: it answers every message with its marker, and
// writes down what it was asked. It outlives the daemon.
type model struct {
	api   *fakeapi.Server
	deeds string // the file to which a deed adds a line
	onAsk func() // called for every request

	mu       sync.Mutex
	asked    []check.Ask
	tries    []check.Try
	closed   *fakeapi.Windows // the plan's window is used up; nil: it is not
	closings []check.Closing
}

func startModel(deeds string, onAsk func()) (*model, error) {
	m := &model{api: fakeapi.New(), deeds: deeds, onAsk: onAsk}
	m.api.Keep(1)
	m.api.Handle(m.answer)
	return m, m.api.Listen("127.0.0.1:0")
}

// answer echoes every marker of the turn that the request belongs to.
func (m *model) answer(r fakeapi.Request) fakeapi.Reply {
	if !fakeapi.Main(r) {
		return fakeapi.Reply{Text: "aside"}
	}
	if reply, is := m.refused(); is {
		return reply
	}
	m.onAsk()
	if reply, is := delegated(r); is {
		return reply
	}
	turn := turnOf(r)
	m.mu.Lock()
	for _, marker := range turn.fresh {
		m.asked = append(m.asked, check.Ask{Marker: marker, At: time.Now(), Interrupted: turn.interrupted})
	}
	m.mu.Unlock()
	if reply, is := m.deed(turn); is {
		return reply
	}
	if strings.Contains(turn.newest, wordTool) && len(r.ToolResults()) == 0 {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: "Bash", Input: json.RawMessage(`{"command":"sleep 0.5"}`)}}}
	}
	if strings.Contains(turn.newest, wordSeen) && len(r.ToolResults()) == 0 && len(turn.markers) > 0 {
		return fakeapi.Reply{
			Text:  "I look at " + turn.markers[len(turn.markers)-1] + " first.",
			Tools: []fakeapi.ToolUse{{Name: "Bash", Input: json.RawMessage(`{"command":"sleep 2"}`)}},
		}
	}
	reply := fakeapi.Reply{Text: "I have read " + strings.Join(turn.markers, " and ") + "."}
	if strings.Contains(turn.newest, wordGreet) {
		reply.Text += " Hello, @everyone and @here."
	}
	if strings.Contains(turn.newest, wordWhole) {
		reply.Text += whole(turn.markers[len(turn.markers)-1])
	}
	switch {
	case strings.Contains(turn.newest, wordSlow):
		reply.Delay = slowTurn
	case strings.Contains(turn.newest, wordLong):
		reply.Delay = longTurn
	}
	return reply
}

// whole is the rest of a long answer: lines that can be told apart.
func whole(marker string) string {
	const lines = 60
	var b strings.Builder
	for n := range lines {
		fmt.Fprintf(&b, "\n\nLine %d of %d about %s: what there is to say of it is said here.", n+1, lines, marker)
	}
	return b.String()
}

func (m *model) log() []check.Ask {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]check.Ask(nil), m.asked...)
}

// said is what a person may have said in a block. What joins a turn while a
// tool runs, the CLI puts into the tool's result or into a reminder.
func said(block fakeapi.Block) string {
	reminder := strings.HasPrefix(strings.TrimSpace(block.Text), "<system-reminder>")
	switch {
	case block.Type == "tool_result":
		return string(block.Content)
	case block.Type != "text", reminder && !strings.Contains(block.Text, "The user sent a new message"):
		return ""
	}
	return block.Text
}

// turn is what a request says about the turn it belongs to.
type turn struct {
	markers     []string // of the messages that the turn is to answer
	fresh       []string // those of them that this request is the first to bring
	newest      string   // the text of the newest message
	results     int      // of tools
	interrupted bool
}

// turnOf reads the texts of the request from the newest head on: what stands
// before belongs to turns that are over.
func turnOf(r fakeapi.Request) turn {
	var t turn
	for _, message := range r.Messages {
		if message.Role != "user" {
			t.fresh = nil // said before the model's last words
			continue
		}
		for _, block := range message.Content {
			text := said(block)
			if block.Type == "tool_result" {
				t.results++
			}
			if turnHead.MatchString(text) {
				t = turn{interrupted: strings.Contains(text, interruptedNote)}
				text = text[strings.LastIndex(text, "\n\n---\n\n")+1:]
			}
			markers := anyMarker.FindAllString(text, -1)
			t.markers, t.fresh = append(t.markers, markers...), append(t.fresh, markers...)
			if len(markers) > 0 {
				t.newest = text
			}
		}
	}
	return t
}
