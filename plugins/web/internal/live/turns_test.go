package live

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// broadcast has an event of a payload broadcast.
func (f *fixture) broadcast(kind pluginsdk.EventType, threadID string, payload any) {
	f.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		f.Fatal(err)
	}
	f.hub.Broadcast([]pluginsdk.Event{f.stream.add(kind, threadID, string(data))})
}

// begin has a run of the thread T begin, and does returns what tells what its agent does.
func (f *fixture) begin(run string) (does func(...pluginsdk.StreamEvent)) {
	f.broadcast(pluginsdk.EventPipelineStart, "T", pluginsdk.RunRef{ThreadID: "T", RunID: run, MessageID: 7, Attempt: 1})
	return f.doing(run)
}

func (f *fixture) doing(run string) func(...pluginsdk.StreamEvent) {
	return func(events ...pluginsdk.StreamEvent) {
		for _, event := range events {
			f.broadcast(pluginsdk.EventPipelineStream, "T", pluginsdk.StreamPayload{ThreadID: "T", RunID: run, Event: event})
		}
	}
}

// shown is what a page shows of the turn of T: TYPE:TEXT of each block, in brackets while it
// is written, with ! for what is lost and … for what is cut.
func (f *fixture) shown() string {
	f.Helper()
	turn, ok := f.hub.Turn("T")
	if !ok {
		return "none"
	}
	bytes, kept := 0, f.hub.turns.running[turn.RunID].blocks
	for _, one := range kept.kept {
		bytes += one.bytes
	}
	if bytes != kept.bytes || bytes > maxTurnBytes {
		f.Errorf("the blocks count for %d bytes, the turn for %d", bytes, kept.bytes)
	}
	words := make([]string, 0, len(turn.Blocks)+1)
	if !turn.FromStart {
		words = append(words, "...")
	}
	for _, block := range turn.Blocks {
		word := fmt.Sprintf("%s:%s", block.Type, block.Text)
		if block.Torn {
			word += "!"
		}
		if block.Cut {
			word += "…"
		}
		if block.Open {
			word = "[" + word + "]"
			if !block.Torn && block.Next != block.Offset+len(block.Text) && !block.Cut {
				f.Errorf("%s begins at %d and goes on at %d", word, block.Offset, block.Next)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func text(offset int, text string) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Offset: offset, Text: text}
}

func thought(offset int, text string) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: pluginsdk.StreamThinkingDelta, Offset: offset, Text: text}
}

func whole(kind pluginsdk.StreamEventType, text string) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: kind, Text: text}
}

// Who opens a page in the middle of an answer sees what is there of it, each word once.
func TestATurnIsWhatTheAgentHasDone(t *testing.T) {
	type events = []pluginsdk.StreamEvent
	for name, row := range map[string]struct {
		events events
		want   string
	}{
		"nothing yet":      {nil, ""},
		"being written":    {events{text(0, "one "), text(4, "two")}, "[text:one two]"},
		"whole":            {events{text(0, "one "), text(4, "two"), whole("text", "one two")}, "text:one two"},
		"never in pieces":  {events{whole("text", "one"), whole("text", "two"), text(0, "three")}, "text:one text:two [text:three]"},
		"the next one":     {events{text(0, "one"), whole("text", "one"), text(3, "two")}, "text:one [text:two]"},
		"thought and said": {events{thought(0, "hm"), text(0, "o"), thought(2, "m"), text(1, "h"), whole("thinking", "hmm")}, "thinking:hmm [text:oh]"},
		"tools between": {events{
			text(0, "look"), whole("text", "look"), whole("tool_call", ""), whole("tool_result", "found"), whole("denied", "no"), text(4, "so"),
		}, "text:look tool_call: tool_result:found denied:no [text:so]"},
		"a gap":                      {events{text(0, "one "), text(8, "three")}, "[text:one !]"},
		"a gap, whole":               {events{text(0, "one "), text(8, "three"), whole("text", "one two three"), text(13, "four")}, "text:one two three [text:four]"},
		"the beginning is lost":      {events{text(4, "two")}, "[text:!]"},
		"the end is lost":            {events{text(0, "one"), whole("text", "one two"), text(7, "three")}, "text:one two [text:three]"},
		"a gap to the end":           {events{text(0, "one "), text(8, "th"), whole("text", "one two three"), text(13, "four")}, "text:one two three [text:four]"},
		"all is lost":                {events{thought(0, "hm"), whole("thinking", "hm"), whole("thinking", "hmm"), thought(5, "oh")}, "thinking:hm thinking:hmm [thinking:oh]"},
		"the agent says it anew":     {events{text(0, "one "), whole("retry", "API error 529"), text(4, "one two")}, "retry:API error 529 [text:one two]"},
		"and what it said is thus":   {events{text(0, "on"), whole("retry", ""), text(2, "one"), whole("text", "one"), text(5, "x")}, "retry: text:one [text:x]"},
		"a character stays together": {events{text(0, strings.Repeat("ä", maxTurnBytes))}, "[text:" + strings.Repeat("ä", (maxTurnBytes-blockBytes)/2) + "…]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, Limits{})
			f.begin("R")(row.events...)
			if got := f.shown(); got != row.want {
				t.Errorf("shown:\n%.200s\nwant:\n%.200s", got, row.want)
			}
		})
	}
}

// What is over is the database's to show; a turn that goes on is not taken for over.
func TestATurnEnds(t *testing.T) {
	f := open(t, Limits{})
	if turn, ok := f.hub.Turn("T"); ok || turn.At.Boot != boot {
		t.Errorf("nothing is at work: %+v", turn)
	}
	for _, end := range []pluginsdk.EventType{
		pluginsdk.EventPipelineComplete, pluginsdk.EventPipelineError, pluginsdk.EventPipelineRetry, pluginsdk.EventPipelineMerged,
	} {
		f.begin("R")(text(0, "one"))
		f.broadcast(end, "T", pluginsdk.RunRef{RunID: "another"})
		f.broadcast(end, "U", pluginsdk.RunRef{RunID: "yet another"})
		if got := f.shown(); got != "[text:one]" {
			t.Errorf("after the %s of another: %s", end, got)
		}
		f.broadcast(end, "T", pluginsdk.RunRef{RunID: "R"})
		if got := f.shown(); got != "none" {
			t.Errorf("after %s: %s", end, got)
		}
	}
	does := f.begin("R")
	does(text(0, "one"))
	f.begin("R")(text(0, "anew"))
	if got := f.shown(); got != "[text:anew]" {
		t.Errorf("the next attempt: %s", got)
	}
	f.hub.Broadcast([]pluginsdk.Event{{Type: pluginsdk.EventResync, Boot: boot, Seq: 1}})
	if got := f.shown(); got != "none" {
		t.Errorf("events were missed, and its end may be among them: %s", got)
	}
	does(text(4, "on"), whole("text", "anewon"), text(6, "more"))
	if got := f.shown(); got != "... text:anewon [text:more]" {
		t.Errorf("since then: %s", got)
	}
	f.hub.Broadcast([]pluginsdk.Event{{Type: pluginsdk.EventPluginState, Boot: "boot-2", Seq: 1}})
	if got := f.shown(); got != "none" {
		t.Errorf("another daemon: %s", got)
	}
}

// What a plugin asks the agent beside a conversation is not what a person is told in it, and a command does not
// take the place of the turn that it is beside.
func TestTurnsOfPluginsAreNotShown(t *testing.T) {
	f := open(t, Limits{})
	f.begin("R")(text(0, "for people"))
	f.broadcast(pluginsdk.EventPipelineStart, "T", pluginsdk.RunRef{ThreadID: "T", RunID: "asked", Attempt: 1})
	f.doing("asked")(text(0, "for a plugin"))
	f.broadcast(pluginsdk.EventPipelineStart, "T", pluginsdk.RunRef{ThreadID: "T", RunID: "command", MessageID: 8, Attempt: 1, Kind: pluginsdk.RunCommand})
	turn, _ := f.hub.Turn("T")
	if got := f.shown(); got != "[text:for people]" || turn.RunID != "R" || turn.MessageID != 7 || turn.Attempt != 1 {
		t.Errorf("%s: %+v", got, turn)
	}
	f.broadcast(pluginsdk.EventPipelineComplete, "T", pluginsdk.RunRef{RunID: "R"})
	if got := f.shown(); got != "none" {
		t.Error(got)
	}
}

// An agent that does much and says much costs the plugin what it costs: the newest is kept.
func TestTurnsAreBounded(t *testing.T) {
	f := open(t, Limits{})
	does := f.begin("R")
	does(text(0, "first"), thought(0, "hm"))
	result := strings.Repeat("x", maxTurnBytes/4)
	does(whole("tool_result", "1"+result), whole("tool_result", "2"+result), whole("tool_result", "3"+result), whole("tool_result", "4"+result))
	turn, _ := f.hub.Turn("T")
	if len(turn.Blocks) != 3 || turn.FromStart || turn.Blocks[0].Text[0] != '2' || turn.Blocks[2].Text[0] != '4' {
		t.Fatalf("%d blocks, from the start %t", len(turn.Blocks), turn.FromStart)
	}
	does(text(5, "and on"), thought(2, "m"))
	if got := f.shown(); !strings.HasSuffix(got, "[text:!] [thinking:!]") {
		t.Errorf("what goes on begins in its middle: %.300s", got[len(got)-50:])
	}
	does(pluginsdk.StreamEvent{Type: pluginsdk.StreamToolCall, Input: json.RawMessage(`"` + strings.Repeat("x", maxTurnBytes) + `"`)})
	if turn, _ := f.hub.Turn("T"); len(turn.Blocks) != 1 || !turn.Blocks[0].Cut || turn.Blocks[0].Input != nil {
		t.Errorf("half an input was kept: %d blocks", len(turn.Blocks))
	}
	for range 2 * maxTurnBytes / blockBytes {
		f.hub.turns.running["R"].blocks.take(whole("tool_result", ""))
	}
	if kept := f.hub.turns.running["R"].blocks; kept.bytes > maxTurnBytes || len(kept.kept) != maxTurnBytes/blockBytes {
		t.Errorf("%d bytes, %d blocks", kept.bytes, len(kept.kept))
	}
	for n := range maxTurns {
		f.doing(fmt.Sprint("run ", n))(text(0, "x"))
		does(text(0, "still there"))
	}
	if running := f.hub.turns.running; len(running) != maxTurns || running["R"] == nil || running["run 0"] != nil {
		t.Errorf("%d turns", len(running))
	}
}

// A page that is rendered while the agent writes, and goes on over the socket from where
// that stood, has each word once.
func TestATurnAndTheSocketAfterItHaveEachWordOnce(t *testing.T) {
	f := open(t, Limits{})
	does := f.begin("R")
	const words = 200
	var writer sync.WaitGroup
	said := make(chan struct{}, words)
	writer.Go(func() {
		for n := range words {
			does(text(4*n, fmt.Sprintf("%03d ", n)))
			said <- struct{}{}
		}
	})
	for range words / 20 {
		for range 20 {
			<-said
		}
		turn, ok := f.hub.Turn("T")
		if !ok || turn.At.Seq < 20 || len(turn.Blocks) != 1 {
			t.Fatalf("%+v", turn)
		}
		block := turn.Blocks[0]
		for n := range len(block.Text) / 4 {
			if block.Text[4*n:4*n+4] != fmt.Sprintf("%03d ", n) {
				t.Fatalf("word %d in %q", n, block.Text)
			}
		}
		if at := f.hub.Position(); at.Boot != boot || at.Seq < turn.At.Seq {
			t.Errorf("the stream stands at %+v, which was at %+v", at, turn.At)
		}
		if block.Next == 4*words {
			break
		}
		p, _ := f.join(fmt.Sprintf("?stream=T&boot=%s&seq=%d", turn.At.Boot, turn.At.Seq))
		var next pluginsdk.StreamPayload
		if err := json.Unmarshal(p.next().Data, &next); err != nil || next.Event.Offset != block.Next {
			t.Fatalf("goes on at %d, shown is up to %d (%v)", next.Event.Offset, block.Next, err)
		}
	}
	writer.Wait()
}
