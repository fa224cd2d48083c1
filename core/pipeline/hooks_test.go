package pipeline

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

var errHook = errors.New("broken")

// The table of the architecture: what a failing hook does to its turn, open
// and closed.
func TestFailingHooks(t *testing.T) {
	notify := func(hook pluginsdk.Hook) func(*fakePlugin) {
		return func(p *fakePlugin) {
			p.notify = func(h pluginsdk.Hook) error {
				if h == hook {
					return errHook
				}
				return nil
			}
		}
	}
	for hook, breakIt := range map[pluginsdk.Hook]func(*fakePlugin){
		pluginsdk.HookPipelineStart:    notify(pluginsdk.HookPipelineStart),
		pluginsdk.HookMessage:          notify(pluginsdk.HookMessage),
		pluginsdk.HookAfterInvoke:      notify(pluginsdk.HookAfterInvoke),
		pluginsdk.HookPipelineComplete: notify(pluginsdk.HookPipelineComplete),
		pluginsdk.HookBeforeInvoke: func(p *fakePlugin) {
			p.before = func(*pluginsdk.OnBeforeInvokeRequest) (string, error) { return "lost", errHook }
		},
		pluginsdk.HookBeforeReply: func(p *fakePlugin) { p.reply = func(string) (string, error) { return "lost", errHook } },
		pluginsdk.HookBeforeRun: func(p *fakePlugin) {
			p.gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				return nil, pluginsdk.Errorf(pluginsdk.CodeDeadline, "too late")
			}
		},
	} {
		for _, mode := range []pluginsdk.OnFailure{pluginsdk.FailOpen, pluginsdk.FailClosed} {
			b := newBench("bad", "good")
			breakIt(b.plugins[0])
			b.plugins[0].info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{hook: mode}
			err := b.handle()
			if mode == pluginsdk.FailClosed {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "bad") {
					t.Errorf("%s closed: %v", hook, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s open: %v", hook, err)
				continue
			}
			if b.store.finishes[0].Rows[0].Message.Content != "the answer" {
				t.Errorf("%s open: reply %+v", hook, b.store.finishes[0].Rows)
			}
			if !strings.HasPrefix(b.agent.requests[0].Prompt, "good(") {
				t.Errorf("%s open: the next plugin was not asked: %q", hook, b.agent.requests[0].Prompt)
			}
		}
	}
}

func TestPluginThatDoesNotServe(t *testing.T) {
	for _, mode := range []pluginsdk.OnFailure{pluginsdk.FailOpen, pluginsdk.FailClosed} {
		b := newBench("down", "good")
		b.plugins[0].down = true
		b.plugins[0].info.OnFailure = make(map[pluginsdk.Hook]pluginsdk.OnFailure)
		for _, hook := range pluginsdk.AllHooks() {
			b.plugins[0].info.OnFailure[hook] = mode
		}
		err := b.handle()
		if (mode == pluginsdk.FailOpen) != (err == nil) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestGateDenies(t *testing.T) {
	for name, row := range map[string]struct {
		verdict pluginsdk.OnBeforeRunResponse
		err     error
		reason  string
	}{
		"its word":  {verdict: pluginsdk.OnBeforeRunResponse{Deny: true, Reason: "over budget"}, reason: "over budget"},
		"no reason": {verdict: pluginsdk.OnBeforeRunResponse{Deny: true}, reason: "denied by a"},
		"its error": {err: errHook, reason: "broken"},
	} {
		b := newBench("a", "b")
		b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return &row.verdict, row.err }
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		finish := b.store.finishes[0]
		if finish.State != pluginsdk.RunFailed || !strings.Contains(finish.Rows[0].Message.Content, row.reason) {
			t.Errorf("%s: %+v", name, finish)
		}
		if got := strings.Join(b.journal.lines, "; "); got != "OnBeforeRun a; 11 failed; event pipeline:error" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A budget that is not held must not look as if it were: the operator is told, once.
func TestBoundsThatAreNotHeldAreTold(t *testing.T) {
	for name, row := range map[string]struct {
		verdict pluginsdk.OnBeforeRunResponse
		told    int
	}{
		"reservation": {pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{{Account: "day"}}}, 1},
		"cap":         {pluginsdk.OnBeforeRunResponse{CostCapUSD: 1}, 0}, // is held
		"neither":     {pluginsdk.OnBeforeRunResponse{}, 0},
	} {
		b, log := newBench("a"), &bytes.Buffer{}
		b.line = New(Config{Log: slog.New(slog.NewTextHandler(log, nil))}, b.doors())
		b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return &row.verdict, nil }
		for range 2 {
			if err := b.handle(); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(log.String(), "spend it as well\" plugin=a run=R"); got != row.told {
			t.Errorf("%s: told %d times, want %d: %s", name, got, row.told, log)
		}
	}
}

func TestEmptyResultOfAChainIsAValue(t *testing.T) {
	b := newBench("a")
	b.plugins[0].reply = func(string) (string, error) { return "", nil }
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if row := b.store.finishes[0].Rows[0].Message; row.Kind != pluginsdk.MessageStatus || !strings.Contains(row.Content, "the plugin a took") {
		t.Errorf("%+v", row)
	}
}

// A plugin that failed in a command may have half done it.
func TestFailedCommandIsNotHandedOn(t *testing.T) {
	b := newBench("a", "b", "c")
	b.agent.answer = says("/go\n[COMMAND type=\"nobody\"]x[/COMMAND]\nDone.")
	for i, plugin := range b.plugins {
		plugin.info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "go"}}
		plugin.cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
			if i == 1 {
				return nil, errHook
			}
			return &pluginsdk.OnCommandResponse{Handled: i == 2}, nil
		}
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, row := range b.store.finishes[0].Rows {
		said = append(said, row.Message.Source+"/"+row.Plugin+": "+row.Message.Content)
	}
	want := `b/b: The command go failed in the plugin b: broken; core/: Nobody answers the command "nobody".; agent/: Done.`
	if got := strings.Join(said, "; "); got != want {
		t.Error(got)
	}
}

func TestTaskThreadMayNotSchedule(t *testing.T) {
	b := newBench("a")
	b.claim.Thread.Kind = pluginsdk.ThreadTask
	b.plugins[0].info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "*"}}
	b.plugins[0].cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		t.Error("the command was given")
		return nil, nil
	}
	b.agent.answer = says(`[COMMAND type="cron_create"]daily[/COMMAND]`)
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if row := b.store.finishes[0].Rows[0].Message; !strings.Contains(row.Content, "refused") {
		t.Errorf("%+v", row)
	}
}
