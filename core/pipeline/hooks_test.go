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

// The table of the architecture: what a failing hook does to its turn, open and closed, whether
// the plugin says an error (a panic becomes one), does not answer in time, or has no process any
// more.
func TestFailingHooks(t *testing.T) {
	faults := map[string]error{
		"its error": errHook,
		"late":      pluginsdk.Errorf(pluginsdk.CodeDeadline, "too late"),
		"gone":      pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the process ended"),
	}
	for _, hook := range []pluginsdk.Hook{
		pluginsdk.HookBeforeRun, pluginsdk.HookPipelineStart, pluginsdk.HookMessage, pluginsdk.HookBeforeInvoke,
		pluginsdk.HookAfterInvoke, pluginsdk.HookCommand, pluginsdk.HookBeforeReply, pluginsdk.HookPipelineComplete,
	} {
		for how, fault := range faults {
			for _, mode := range []pluginsdk.OnFailure{pluginsdk.FailOpen, pluginsdk.FailClosed} {
				t.Run(fmt.Sprint(hook, "/", how, "/", mode), func(t *testing.T) { failingHook(t, hook, fault, mode) })
			}
		}
	}
}

// failingHook has a plugin, the first of two, fail in a hook.
func failingHook(t *testing.T, hook pluginsdk.Hook, fault error, mode pluginsdk.OnFailure) {
	b := newBench("bad", "good")
	b.agent.answer = says("/go\nthe answer")
	bad := b.plugins[0]
	bad.info.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{hook: mode}
	bad.info.Manifest.Commands = []pluginsdk.CommandSpec{{Name: "go"}}
	failing := func(h pluginsdk.Hook) error {
		if h == hook {
			return fault
		}
		return nil
	}
	bad.notify = failing
	bad.gate = func() (*pluginsdk.OnBeforeRunResponse, error) { return nil, failing(pluginsdk.HookBeforeRun) }
	chained := func(h pluginsdk.Hook, text string) (string, error) { // what is said beside an error does not count
		if err := failing(h); err != nil {
			return "lost", err
		}
		return text, nil
	}
	bad.before = func(r *pluginsdk.OnBeforeInvokeRequest) (string, error) {
		return chained(pluginsdk.HookBeforeInvoke, r.Prompt)
	}
	bad.reply = func(text string) (string, error) { return chained(pluginsdk.HookBeforeReply, text) }
	bad.cmd = func(*pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
		return &pluginsdk.OnCommandResponse{Handled: true, Reply: "gone to"}, failing(pluginsdk.HookCommand)
	}
	err := b.handle()
	switch ownWord := errors.Is(fault, errHook); {
	case mode == pluginsdk.FailClosed && hook == pluginsdk.HookBeforeRun && ownWord: // a verdict
		if err != nil || b.store.finishes[0].State != pluginsdk.RunFailed || len(b.agent.requests) > 0 {
			t.Errorf("%v, %+v", err, b.store.finishes)
		}
	case mode == pluginsdk.FailClosed:
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "bad") {
			t.Errorf("the attempt ends with %v", err)
		}
	case err != nil:
		t.Error(err)
	default:
		var said []string
		for _, row := range b.store.finishes[0].Rows {
			said = append(said, row.Message.Content)
		}
		want := "gone to; the answer"
		if hook == pluginsdk.HookCommand {
			want = "The command go failed in the plugin bad: " + fault.Error() + "; the answer"
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("said is %q, want %q", got, want)
		}
		if !strings.HasPrefix(b.agent.requests[0].Prompt, "good(") {
			t.Errorf("the next plugin was not asked: %q", b.agent.requests[0].Prompt)
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
	} else if metadata := string(finish.Rows[0].Message.Metadata); metadata != `{"denied":"a","event":"pipeline_error"}` {
		t.Errorf("its metadata is %s", metadata)
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
