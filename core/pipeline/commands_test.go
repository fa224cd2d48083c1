package pipeline

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestParseCommands(t *testing.T) {
	declared := map[string]bool{"delegate": true, "checkin": true}
	for name, row := range map[string]struct {
		text     string
		want     string // name<body>{attributes}, joined
		rest     string
		unclosed int
	}{
		"block": {"Sure.\n[COMMAND type=\"delegate\" model=\"sonnet\"]\nResearch X.\n[/COMMAND]\nDone.",
			"delegate<Research X.>{model=sonnet}", "Sure.\nDone.", 0},
		"order and quotes are free":      {"[COMMAND model='opus' type=delegate]x[/COMMAND]", "delegate<x>{model=opus}", "", 0},
		"several":                        {"[COMMAND type=a]1[/COMMAND]\n/checkin all\n[COMMAND type=b]2[/COMMAND]", "a<1>{} checkin<all>{} b<2>{}", "", 0},
		"slash line of a declared name":  {"I will.\n/checkin task 1\nBye.", "checkin<task 1>{}", "I will.\nBye.", 0},
		"slash line of another name":     {"/etc is a directory\n/usr/bin too", "", "/etc is a directory\n/usr/bin too", 0},
		"in a fence":                     {"```\n/checkin\n[COMMAND type=a]x[/COMMAND]\n```\nok", "", "```\n/checkin\n[COMMAND type=a]x[/COMMAND]\n```\nok", 0},
		"after a fence":                  {"~~~ text\n```\n/checkin 1\n~~~\n/checkin 2", "checkin<2>{}", "~~~ text\n```\n/checkin 1\n~~~", 0},
		"a fence inside a block":         {"[COMMAND type=a]\n```\ncode\n```\n[/COMMAND]\nok", "a<```\ncode\n```>{}", "ok", 0},
		"never closed":                   {"[COMMAND type=a]\nx\n/checkin 1", "checkin<1>{}", "[COMMAND type=a]\nx", 1},
		"never closed before another":    {"[COMMAND type=a]\nx\n[COMMAND type=b]y[/COMMAND]\nok", "b<y>{}", "[COMMAND type=a]\nx\nok", 1},
		"three backticks of inline code": {"```go run x```\n/checkin 1", "checkin<1>{}", "```go run x```", 0},
		"not at the start of a line":     {"see [COMMAND type=a]x[/COMMAND]", "", "see [COMMAND type=a]x[/COMMAND]", 0},
		"indented":                       {"  [COMMAND type=a]x[/COMMAND]", "a<x>{}", "", 0},
		"bracket in quotes":              {"[COMMAND type=\"a\" note=\"[x] y\"]z[/COMMAND]", "a<z>{note=[x] y}", "", 0},
		"carriage returns":               {"/checkin now\r\nok", "checkin<now>{}", "ok", 0},
		"no type":                        {"[COMMAND]x[/COMMAND]", "<x>{}", "", 0},
	} {
		commands, unclosed := findCommands(row.text, declared)
		var got []string
		for i, command := range commands {
			var attributes []string
			for _, key := range slices.Sorted(maps.Keys(command.Attributes)) {
				attributes = append(attributes, key+"="+command.Attributes[key])
			}
			got = append(got, fmt.Sprintf("%s<%s>{%s}", command.Name, command.Body, strings.Join(attributes, " ")))
			if command.Index != i {
				t.Errorf("%s: index %d of command %d", name, command.Index, i)
			}
		}
		if joined := strings.Join(got, " "); joined != row.want || unclosed != row.unclosed {
			t.Errorf("%s: %q unclosed %d, want %q %d", name, joined, unclosed, row.want, row.unclosed)
		}
		if rest := cut(row.text, commands); rest != row.rest {
			t.Errorf("%s: rest %q, want %q", name, rest, row.rest)
		}
	}
}

func FuzzParseCommands(f *testing.F) {
	f.Add("[COMMAND type=a]x[/COMMAND]\n/checkin\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		commands, _ := findCommands(text, map[string]bool{"checkin": true})
		at := 0
		for _, command := range commands {
			if command.Start < at || command.End <= command.Start || command.End > len(text) {
				t.Fatalf("command %+v in %d bytes after %d", command, len(text), at)
			}
			at = command.End
		}
		cut(text, commands)
	})
}

func TestHandledCommandWithoutWordsIsConfirmed(t *testing.T) {
	b := newBench("a")
	b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "deploy"}}
	b.plugins[0].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true}, nil
	}
	b.claim.Run.Kind, b.claim.Message.Content = pluginsdk.RunCommand, "/deploy"
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if rows := b.store.finishes[0].Rows; len(rows) != 1 || rows[0].Message.Content != "/deploy: done." {
		t.Errorf("%+v", rows)
	}
}

// A mistake of who types a command is told in the plugin's own words, and not as a failure of the plugin. A plugin that fails
// is named.
func TestACommandThatIsRefusedIsNoFailure(t *testing.T) {
	for _, row := range []struct {
		err     error
		kind    pluginsdk.RunKind
		refused bool
		shown   string
	}{
		{pluginsdk.Errorf(pluginsdk.CodeNotFound, "no schedule has the name x"), pluginsdk.RunCommand, true, "no schedule has the name x"},
		{pluginsdk.Errorf(pluginsdk.CodeInvalid, "no"), pluginsdk.RunCommand, true, "no"},
		{pluginsdk.Errorf(pluginsdk.CodeStale, "too late"), pluginsdk.RunCommand, true, "too late"},
		{pluginsdk.Errorf(pluginsdk.CodeInvalid, "no"), pluginsdk.RunMessage, true, "The command deploy was refused: no"},
		{errors.New("out of order"), pluginsdk.RunCommand, false, "The command deploy failed in the plugin a: out of order"},
		{pluginsdk.Errorf(pluginsdk.CodeUnavailable, "away"), pluginsdk.RunCommand, false, "The command deploy failed in the plugin a: away"},
	} {
		b := newBench("a")
		b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "deploy"}}
		b.plugins[0].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) { return nil, row.err }
		if b.claim.Run.Kind = row.kind; row.kind == pluginsdk.RunCommand {
			b.claim.Message.Content = "/deploy x"
		} else {
			b.agent.answer = says("Well.\n/deploy x\n")
		}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		end := b.store.finishes[0]
		outcome := b.store.outcomes[0]
		if end.State != pluginsdk.RunSucceeded || outcome.Refused != row.refused || outcome.Error == "" || outcome.Handled || end.Rows[0].Message.Content != row.shown {
			t.Errorf("%v: %s %+v, shown %q", row.err, end.State, outcome, end.Rows[0].Message.Content)
		}
		last := end.Hooks[len(end.Hooks)-1]
		for _, call := range end.Hooks {
			if call.Hook == pluginsdk.HookCommand {
				last = call
			}
		}
		if state := map[bool]pluginsdk.CallState{true: pluginsdk.CallRefused, false: pluginsdk.CallFailed}[row.refused]; last.State != state {
			t.Errorf("%v: the call is %+v", row.err, last)
		}
	}
}

func TestTypedCommandIsAnsweredWithoutTheAgent(t *testing.T) {
	b := newBench("a")
	b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "deploy"}}
	b.plugins[0].cmd = func(c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: string(c.Origin) + " " + c.Name + " <" + c.Body + ">"}, nil
	}
	b.claim.Run.Kind = pluginsdk.RunCommand
	b.claim.Message.Content = "  /deploy now\nand well"
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	rows := b.store.finishes[0].Rows
	if len(rows) != 1 || rows[0].Message.Content != "person deploy <now\nand well>" || len(b.agent.requests) != 0 {
		t.Errorf("%+v", rows)
	}
}

// A command that a person types is theirs, and so is what its hook makes. Other hooks of its run
// are asked of plugins that the person has not called.
func TestOnlyTheHookOfATypedCommandIsThePersons(t *testing.T) {
	b := newBench("a", "b")
	b.plugins[1].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "*", Scope: pluginsdk.ScopeAdmin}, {Name: "deploy", Scope: pluginsdk.ScopeApprove}}
	b.plugins[1].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true}, nil
	}
	b.claim.Run.Kind = pluginsdk.RunCommand
	b.claim.Message.Content, b.claim.Message.Author = "/deploy now", "Ann"
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	var typed []string
	for _, behalf := range b.tokens.behalves {
		if behalf.Typed != (ledger.By{}) || behalf.TypedScope != "" {
			typed = append(typed, behalf.Typed.Author+" "+string(behalf.TypedScope))
		}
	}
	if len(typed) != 1 || typed[0] != "Ann approve" || len(b.tokens.behalves) < 4 {
		t.Errorf("of %d calls of hooks these are a person's: %q", len(b.tokens.behalves), typed)
	}
}

// The start of a run is told beside its command: it is no person's while the command's hook is.
func TestTheStartBesideATypedCommandIsNoPersons(t *testing.T) {
	b := newBench("a", "b")
	hooksOf(b, []pluginsdk.Hook{pluginsdk.HookPipelineStart}, []pluginsdk.Hook{pluginsdk.HookCommand})
	commanded, told := make(chan struct{}), make(chan struct{})
	b.plugins[0].asking = func(pluginsdk.Hook) { <-commanded }
	b.plugins[0].notify = func(pluginsdk.Hook) error { close(told); return nil }
	b.plugins[1].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "deploy"}}
	b.plugins[1].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		close(commanded)
		<-told
		return &pluginsdk.OnCommandResponse{Handled: true}, nil
	}
	b.claim.Run.Kind = pluginsdk.RunCommand
	b.claim.Message.Content, b.claim.Message.Author = "/deploy now", "Ann"
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if of := b.tokens.behalves; len(of) != 2 || of[0].Typed.Author != "Ann" || of[1].Typed != (ledger.By{}) {
		t.Errorf("the command's call and the start's: %+v", of)
	}
}

// A plugin that answers what nobody else does is not asked before the one whose command it is.
func TestAPluginOfAnyCommandIsAskedLast(t *testing.T) {
	b := newBench("any", "deploys")
	var asked []string
	for i, name := range []string{"*", "deploy"} {
		b.plugins[i].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: name}}
		b.plugins[i].cmd = func(c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
			asked = append(asked, b.plugins[i].info.Name+" "+c.Name)
			return &pluginsdk.OnCommandResponse{Handled: true}, nil
		}
	}
	b.agent.answer = says("[COMMAND type=\"deploy\"]x[/COMMAND][COMMAND type=\"other\"]x[/COMMAND]")
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"deploys deploy", "any other"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// A command of the agent's brings a plugin what the agent wrote in it, and not what people said.
func TestACommandOfTheAgentsDoesNotShowTheMessage(t *testing.T) {
	for _, row := range []struct {
		granted []pluginsdk.Capability
		want    string
	}{{nil, ""}, {[]pluginsdk.Capability{pluginsdk.CapTurnsRead}, "my password is hunter2"}} {
		b := newBench("a")
		b.plugins[0].info.Manifest.Commands, b.plugins[0].info.Granted = []pluginsdk.CommandSpec{{Name: "*"}}, row.granted
		b.plugins[0].info.Manifest.Hooks = []pluginsdk.Hook{pluginsdk.HookCommand}
		var seen []pluginsdk.Message
		b.plugins[0].cmd = func(c *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
			seen = append(seen, c.Message)
			return &pluginsdk.OnCommandResponse{Handled: true}, nil
		}
		b.agent.answer = says("[COMMAND type=\"any\"]x[/COMMAND]")
		b.claim.Message.Content, b.claim.Message.Metadata = "my password is hunter2", []byte(`{"a":1}`)
		b.claim.Message.Attachments = []pluginsdk.Attachment{{Name: "n"}}
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 1 || seen[0].Content != row.want || (len(seen[0].Metadata)+len(seen[0].Attachments) > 0) != (row.want != "") {
			t.Errorf("granted %v: it was shown %+v", row.granted, seen)
		}
	}
}
