package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
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

// What gates set aside is stored with the intent: of one plugin in one account the latest.
func TestReservationsGoWithTheIntent(t *testing.T) {
	b := newBench("a", "b")
	day := func(amount float64) pluginsdk.Reservation {
		return pluginsdk.Reservation{Account: "day", LimitUSD: 3, AmountUSD: amount}
	}
	calls := 0
	b.claim.Absorbed = []pluginsdk.Message{{ID: 9, ThreadID: b.claim.Thread.ID, Role: pluginsdk.RoleUser, Content: "and this"}}
	b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		calls++
		return &pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{day(float64(calls))}}, nil
	}
	b.plugins[1].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
		return &pluginsdk.OnBeforeRunResponse{Reservations: []pluginsdk.Reservation{day(0.5), {Account: "thread"}}}, nil
	}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	want := []ledger.Reservation{
		{Plugin: "a", Reservation: day(2)},
		{Plugin: "b", Reservation: day(0.5)}, {Plugin: "b", Reservation: pluginsdk.Reservation{Account: "thread"}},
	}
	if got := b.store.intents[0].Reservations; !slices.Equal(got, want) {
		t.Errorf("reserved %+v, want %+v", got, want)
	}
}

// A run for which there is not enough left is denied as by the gate itself, and the
// agent is not asked.
func TestARunThatIsOverALimitIsDenied(t *testing.T) {
	b := newBench("a")
	b.store.fail["SaveIntent"] = fmt.Errorf("commit: %w", &ledger.OverLimit{Reservation: ledger.Reservation{
		Plugin: "a", Reservation: pluginsdk.Reservation{Account: "day", LimitUSD: 2, AmountUSD: 0.5},
	}, SpentUSD: 1.25, ReservedUSD: 0.5})
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	said := "Not run: the limit of day (a) is $2.00: $1.25 are spent, $0.50 are set aside for other runs, and this one would set $0.50 aside"
	if finish := b.store.finishes[0]; finish.State != pluginsdk.RunFailed || finish.Rows[0].Message.Content != said {
		t.Errorf("%+v", finish)
	}
	if len(b.agent.requests) != 0 {
		t.Error("the agent was asked")
	}
}

// Amounts that make no sense guard nothing: they are an error of the gate's, which
// denies.
func TestAmountsThatMakeNoSenseDeny(t *testing.T) {
	reserve := func(all ...pluginsdk.Reservation) pluginsdk.OnBeforeRunResponse {
		return pluginsdk.OnBeforeRunResponse{Reservations: all}
	}
	for words, verdict := range map[string]pluginsdk.OnBeforeRunResponse{
		"its cap of -1 USD":               {CostCapUSD: -1},
		"its cap of NaN USD":              {CostCapUSD: math.NaN()},
		`in an account ""`:                reserve(pluginsdk.Reservation{AmountUSD: 1}),
		`in an account "aaaa`:             reserve(pluginsdk.Reservation{Account: strings.Repeat("a", 201)}),
		`in an account "a\x00b"`:          reserve(pluginsdk.Reservation{Account: "a\x00b"}),
		"it reserves -1 USD":              reserve(pluginsdk.Reservation{Account: "day", AmountUSD: -1}),
		"of at most +Inf":                 reserve(pluginsdk.Reservation{Account: "day", LimitUSD: math.Inf(1)}),
		"in 17 accounts; 16 are possible": reserve(make([]pluginsdk.Reservation, 17)...),
	} {
		b := newBench("a")
		b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return &verdict, nil }
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if finish := b.store.finishes[0]; finish.State != pluginsdk.RunFailed || !strings.Contains(finish.Rows[0].Message.Content, words) {
			t.Errorf("%s: %s %q", words, finish.State, finish.Rows[0].Message.Content)
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
