package terminal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func succeeded(rows ...pluginsdk.Message) *client.Ending {
	return &client.Ending{Run: client.Run{State: pluginsdk.RunSucceeded}, Messages: rows}
}

func failed(state pluginsdk.RunState, reason string, rows ...pluginsdk.Message) *client.Ending {
	return &client.Ending{Run: client.Run{State: state, Error: reason}, Messages: rows}
}

func reply(text string) pluginsdk.Message {
	return pluginsdk.Message{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: text}
}

func system(kind pluginsdk.MessageKind, text string) pluginsdk.Message {
	return pluginsdk.Message{Role: pluginsdk.RoleSystem, Kind: kind, Content: text}
}

func delta(text string, offset int) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: text, Offset: offset}
}

func block(text string) pluginsdk.StreamEvent {
	return pluginsdk.StreamEvent{Type: pluginsdk.StreamText, Text: text}
}

// What a person reads must be the stored reply, once, however it was streamed.
func TestTurnShowsWhatHappened(t *testing.T) {
	for name, test := range map[string]struct {
		stream []pluginsdk.StreamEvent
		ending *client.Ending
		want   string
	}{
		"streamed and stored alike": {
			[]pluginsdk.StreamEvent{delta("Hel", 0), delta("lo.\n", 3), block("Hello.\n")}, succeeded(reply("Hello.")), "Hello.\n",
		},
		"no deltas came":   {[]pluginsdk.StreamEvent{block("Hello.")}, succeeded(reply("Hello.")), "Hello.\n"},
		"nothing came":     {nil, succeeded(reply("Hello.")), "Hello.\n"},
		"block never came": {[]pluginsdk.StreamEvent{delta("Hello.", 0)}, succeeded(reply("Hello.")), "Hello.\n"},
		"the reply was rewritten": {
			[]pluginsdk.StreamEvent{delta("My key is 123", 0), block("My key is 123")}, succeeded(reply("My key is ***")),
			"My key is 123\nMy key is ***\n",
		},
		"deltas were lost, the block came": {
			[]pluginsdk.StreamEvent{delta("Hel", 0), delta("!", 9), block("Hello you!")}, succeeded(reply("Hello you!")),
			"Hel\nHello you!\n",
		},
		"deltas were lost, the block too": {
			[]pluginsdk.StreamEvent{delta("Hel", 0), delta("!", 9)}, succeeded(reply("Hello you!")), "Hel\nHello you!\n",
		},
		"two blocks around a tool, the last is the reply": {
			[]pluginsdk.StreamEvent{
				delta("Let me look.", 0), block("Let me look."),
				{Type: pluginsdk.StreamToolCall, ToolName: "Read", ToolUseID: "1", Input: json.RawMessage(`{"file":"x"}`)},
				{Type: pluginsdk.StreamToolResult, ToolUseID: "1", Text: "no such\nfile", IsError: true},
				delta("It is gone.", 12), block("It is gone."),
			},
			succeeded(reply("It is gone.")),
			"Let me look.\n· Read {\"file\":\"x\"}\n  ✗ Read failed: no such file\nIt is gone.\n",
		},
		"thinking is one line": {
			[]pluginsdk.StreamEvent{
				{Type: pluginsdk.StreamThinkingDelta, Text: "Let"}, {Type: pluginsdk.StreamThinkingDelta, Text: " me"},
				{Type: pluginsdk.StreamThinking, Text: "Let me\nsee."}, delta("Yes.", 0),
			},
			succeeded(reply("Yes.")), "· thinking: Let me see.\nYes.\n",
		},
		"thinking that is cut off by the answer": {
			[]pluginsdk.StreamEvent{{Type: pluginsdk.StreamThinkingDelta, Text: "Let"}, delta("Yes.", 0)},
			succeeded(reply("Yes.")), "· thinking\nYes.\n",
		},
		"repeated calls and refusals": {
			[]pluginsdk.StreamEvent{
				{Type: pluginsdk.StreamRetry, Text: "529 overloaded"},
				{Type: pluginsdk.StreamDenied, ToolName: "Bash", Text: "not allowed by rule"},
			},
			succeeded(reply("Sorry.")),
			"· the agent repeats a call that failed: 529 overloaded\n· denied: Bash not allowed by rule\nSorry.\n",
		},
		"a command's answer beside the reply": {
			[]pluginsdk.StreamEvent{block("Done.")},
			succeeded(system(pluginsdk.MessageText, "Task made."), reply("Done.")), "Done.\nTask made.\n",
		},
		"empty": {nil, succeeded(system(pluginsdk.MessageStatus, "There is no reply.")), "There is no reply.\n"},
		"failed": {
			[]pluginsdk.StreamEvent{delta("I wi", 0)},
			failed(pluginsdk.RunFailed, "x", system(pluginsdk.MessageStatus, "I could not answer: x")), "I wi\n✗ I could not answer: x\n",
		},
		"failed without a row":      {nil, failed(pluginsdk.RunFailed, "it broke"), "✗ it broke\n"},
		"cancelled":                 {nil, failed(pluginsdk.RunCancelled, "", system(pluginsdk.MessageStatus, "Stopped.")), "cancelled: Stopped.\n"},
		"cancelled while it waited": {nil, failed(pluginsdk.RunCancelled, "dropped from the queue"), "cancelled: dropped from the queue\n"},
		"failed, and how to go on": {
			nil, &client.Ending{Run: client.Run{ID: "R", State: pluginsdk.RunFailed, Error: "529"}}, "✗ 529\nTo try again: harness retry R\n",
		},
		"a command that failed": {
			nil, &client.Ending{Run: client.Run{ID: "R", Kind: pluginsdk.RunCommand, State: pluginsdk.RunFailed, Error: "no"}}, "✗ no\n",
		},
		"control characters": {
			[]pluginsdk.StreamEvent{delta("a\x1b[2Jb\u009b31m\r\x07", 0)}, succeeded(reply("a\x1b[2Jb\u009b31m\r\x07")), "a[2Jb31m\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			screen := NewScreen(&out, Style{})
			turn := &turn{}
			turn.begin(screen)
			for _, event := range test.stream {
				turn.stream(screen, event)
			}
			turn.end(screen, test.ending)
			if out.String() != test.want {
				t.Errorf("shown:\n%s\nwant:\n%s", out.String(), test.want)
			}
		})
	}
}

// A second attempt counts its deltas from 0 again.
func TestTurnBeginsAnewWithASecondAttempt(t *testing.T) {
	var out bytes.Buffer
	screen := NewScreen(&out, Style{})
	turn := &turn{}
	turn.begin(screen)
	turn.stream(screen, delta("First ", 0))
	turn.begin(screen)
	turn.stream(screen, delta("Second.", 0))
	turn.end(screen, succeeded(reply("Second.")))
	if want := "First \nSecond.\n"; out.String() != want {
		t.Errorf("shown %q; want %q", out.String(), want)
	}
}

func TestShortFitsALine(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"as it is":            "as it is",
		"one\n  two\tthree":   "one two thr…",
		"ünïcödé is counted!": "ünïcödé is…",
	} {
		if got := Short(text, 12); got != want {
			t.Errorf("Short(%q) = %q; want %q", text, got, want)
		}
	}
}

func TestColoursAreForTerminalsThatWantThem(t *testing.T) {
	var out bytes.Buffer
	if style := StyleFor(&out, func(string) (string, bool) { return "", false }); style.Red("x") != "x" {
		t.Error("a file got colours")
	}
	if got := (Style{coloured: true}).Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("Red = %q", got)
	}
}
