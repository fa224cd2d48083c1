package terminal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func succeeded(rows ...pluginsdk.Message) *client.Ending {
	return &client.Ending{Run: client.Run{ID: "R", State: pluginsdk.RunSucceeded}, Messages: rows}
}

// wrote is succeeded when what the agent wrote is known, and which commands
// were in it.
func wrote(text string, ending *client.Ending, commands ...string) *client.Ending {
	ending.Run.Result = &client.Result{Text: text}
	for n, name := range commands {
		ending.Run.Outcomes = append(ending.Run.Outcomes, pluginsdk.Outcome{Index: n, Name: name, Handled: true})
	}
	return ending
}

func failed(state pluginsdk.RunState, reason string, rows ...pluginsdk.Message) *client.Ending {
	return &client.Ending{Run: client.Run{State: state, Error: reason}, Messages: rows}
}

func reply(text string) pluginsdk.Message {
	return pluginsdk.Message{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: text, RunID: "R", Key: "R:reply"}
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
		"a plugin rewrote it": {
			[]pluginsdk.StreamEvent{delta("My key is 123", 0), block("My key is 123")},
			wrote("My key is 123", succeeded(reply("My key is ***"))),
			"My key is 123\n— changed by a plugin before it was sent:\nMy key is ***\n",
		},
		"a plugin put something behind it": {
			[]pluginsdk.StreamEvent{block("Good evening.\n")}, wrote("Good evening.\n", succeeded(reply("Good evening.\n\n-- \nYour agent"))),
			"Good evening.\n— added by a plugin at the end:\n-- \nYour agent\n",
		},
		"a plugin put something in front": {
			[]pluginsdk.StreamEvent{block("Good evening.")}, wrote("Good evening.", succeeded(reply("To whom it may concern:\n\nGood evening."))),
			"Good evening.\n— added by a plugin at the beginning:\nTo whom it may concern:\n",
		},
		"a plugin made a word longer": {
			[]pluginsdk.StreamEvent{block("Yes")}, wrote("Yes", succeeded(reply("Yesterday"))),
			"Yes\n— changed by a plugin before it was sent:\nYesterday\n",
		},
		"a plugin left the end of it only": {
			[]pluginsdk.StreamEvent{block("The code is 123. Good evening.")},
			wrote("The code is 123. Good evening.", succeeded(reply("Good evening."))),
			"The code is 123. Good evening.\n— changed by a plugin before it was sent:\nGood evening.\n",
		},
		"a plugin emptied it": {
			[]pluginsdk.StreamEvent{block("My key is 123")},
			wrote("My key is 123", succeeded(system(pluginsdk.MessageStatus, "There is no reply: why."))),
			"My key is 123\nThere is no reply: why.\n",
		},
		"a plugin rewrote what was not seen whole": {
			[]pluginsdk.StreamEvent{delta("My", 0), delta("123", 10)}, wrote("My key is 123", succeeded(reply("My key is ***"))),
			"My\nMy key is ***\n",
		},
		"a reply and another message of the run": {
			[]pluginsdk.StreamEvent{block("Hello.")},
			wrote("Hello.", succeeded(pluginsdk.Message{Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Content: "From a plugin."}, reply("Hello."))),
			"Hello.\nFrom a plugin.\n",
		},
		"commands are cut by the daemon, not by a plugin": {
			[]pluginsdk.StreamEvent{block("On it.\n[COMMAND type=\"delegate\"]\nlook\n[/COMMAND]\n/checkin 5\n```\n/checkin is a command\n```\nMore soon.")},
			wrote("On it.\n[COMMAND type=\"delegate\"]\nlook\n[/COMMAND]\n/checkin 5\n```\n/checkin is a command\n```\nMore soon.",
				succeeded(reply("On it.\n```\n/checkin is a command\n```\nMore soon.")), "delegate", "checkin"),
			"On it.\n[COMMAND type=\"delegate\"]\nlook\n[/COMMAND]\n/checkin 5\n```\n/checkin is a command\n```\nMore soon.\n",
		},
		"commands are cut, and a plugin signed": {
			[]pluginsdk.StreamEvent{block("On it.\n/checkin 5\n")},
			wrote("On it.\n/checkin 5\n", succeeded(reply("On it.\n-- \nYour agent")), "checkin"),
			"On it.\n/checkin 5\n— added by a plugin at the end:\n-- \nYour agent\n",
		},
		"answers to messages that came in meanwhile are one reply": {
			[]pluginsdk.StreamEvent{
				block("One."), block("Let me see."),
				{Type: pluginsdk.StreamToolCall, ToolName: "Read", Input: json.RawMessage(`{}`)}, block("Two."),
			},
			wrote("One.\n\nTwo.", succeeded(reply("One.\n\nTwo."))), "One.\nLet me see.\n· Read {}\nTwo.\n",
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
			screen := NewScreen(&out, Style{}, nil)
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
	screen := NewScreen(&out, Style{}, nil)
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
