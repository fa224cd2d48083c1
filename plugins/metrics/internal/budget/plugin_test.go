package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// saturday is when the tests begin.
var saturday = time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)

// world is the plugin with a host in which there is a primary thread and an account that is billed.
type world struct {
	*testing.T
	host   *plugintest.Host
	plugin *plugintest.Plugin
	now    time.Time
	own    *Plugin
}

func newWorld(t *testing.T, before func(*plugintest.Host)) *world {
	t.Helper()
	w := &world{T: t, host: plugintest.NewHost(), now: saturday}
	w.host.AddThread(pluginsdk.Thread{ID: "primary", Kind: pluginsdk.ThreadPrimary, Source: "web"})
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	for i := range most {
		w.host.AddThread(pluginsdk.Thread{ID: fmt.Sprintf("t%d", i), Kind: pluginsdk.ThreadGeneral, Source: "web"})
	}
	if before != nil {
		before(w.host)
	}
	w.serve()
	return w
}

// serve starts the plugin, anew if it was.
func (w *world) serve() {
	w.Helper()
	w.own = &Plugin{Now: func() time.Time { return w.now }, Every: time.Hour}
	w.plugin = w.host.Serve(w.T, w.own)
	activate(w.T, w.plugin)
}

func activate(t *testing.T, plugin *plugintest.Plugin) {
	t.Helper()
	if err := plugin.Activate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plugin.Deactivate(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// say types a command.
func (w *world) say(body string) string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{Name: command, Body: body, Origin: pluginsdk.FromPerson, Message: pluginsdk.Message{Author: "Ann", Plugin: "web"}})
	if err != nil {
		return "error: " + err.Error()
	}
	return answer.Reply
}

func (w *world) wantSays(body string, parts ...string) {
	w.Helper()
	said := w.say(body)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			w.Errorf("budget %s says %q, want %q in it", body, said, part)
		}
	}
}

// gate asks whether a run may happen.
func (w *world) gate(request pluginsdk.OnBeforeRunRequest) *pluginsdk.OnBeforeRunResponse {
	w.Helper()
	answer, err := w.plugin.OnBeforeRun(w.Context(), &request)
	if err != nil {
		w.Fatal(err)
	}
	return answer
}

func message(thread string) pluginsdk.OnBeforeRunRequest {
	return pluginsdk.OnBeforeRunRequest{
		Thread:  pluginsdk.Thread{ID: thread, Kind: pluginsdk.ThreadGeneral},
		Message: pluginsdk.Message{Plugin: "web", Author: "Ann"},
		Run:     pluginsdk.Run{ID: "run-of-" + thread, Kind: pluginsdk.RunMessage},
	}
}

// wantAccounts checks what is set aside, as ACCOUNT LIMIT AMOUNT.
func (w *world) wantAccounts(request pluginsdk.OnBeforeRunRequest, want ...string) {
	w.Helper()
	var got []string
	for _, one := range w.gate(request).Reservations {
		got = append(got, fmt.Sprintf("%s %.2f %.2f", one.Account, one.LimitUSD, one.AmountUSD))
		if one.CapAtRest != (one.LimitUSD > 0) {
			w.Errorf("%s: CapAtRest is %t", one.Account, one.CapAtRest)
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("set aside %q, want %q", got, want)
	}
}

func (w *world) checks() (words []string) {
	w.Helper()
	answer, err := w.plugin.OnCheck(w.Context(), &pluginsdk.OnCheckRequest{})
	if err != nil {
		w.Fatal(err)
	}
	for _, check := range answer.Checks {
		words = append(words, fmt.Sprintf("%s %s: %s", check.Name, check.State, check.Detail))
	}
	return words
}

// No turn that is billed goes without a budget from the very first on, and one of a plan, which
// nobody is billed, is not bounded by dollars that are none.
func TestANewInstallationHasABudget(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		host.SetAccount(pluginsdk.Account{Name: "home", Kind: pluginsdk.AccountLogin, Usable: true})
		host.SetAccount(pluginsdk.Account{Name: "seen", Kind: pluginsdk.AccountEnvironment, Usable: true, Plan: true})
		host.SetAccount(pluginsdk.Account{Name: "demo", Kind: pluginsdk.AccountEnvironment, Usable: false})
	})
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
	for _, account := range []string{"home", "seen", "demo"} {
		of := message("talk")
		of.Thread.Account = account
		w.wantAccounts(of)
	}
	typed := message("talk")
	typed.Run.Kind = pluginsdk.RunCommand
	w.wantAccounts(typed)
	if got := w.checks(); !slices.Equal(got, []string{"budgets ok: 1, none of them used up"}) {
		t.Errorf("doctor says %q", got)
	}
}

// Who had an installation before there were budgets is not stopped by one that nobody has asked
// for: people are told, and it holds once a person has said so.
func TestAnOldInstallationIsOnlyWarned(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		host.AddRun(pluginsdk.Run{ID: "old", ThreadID: "primary", State: pluginsdk.RunSucceeded, QueuedAt: saturday.AddDate(0, -1, 0)})
	})
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 0.00 0.00")
	w.serve() // it is still so for the next process
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 0.00 0.00")
	if got := w.checks(); len(got) != 1 || !strings.Contains(got[0], "budgets warning: nobody has confirmed one yet") {
		t.Errorf("doctor says %q", got)
	}
	w.wantSays("list", "**daily**: $25.00 a day for what is billed", "Nobody has confirmed a budget")
	w.host.SetBudgetAccount(name, "day:2026-11-28/billed", pluginsdk.BudgetAccount{SpentUSD: 26.5})
	w.look()
	w.look()
	told := w.host.Messages("primary")
	if len(told) != 1 || told[0].Kind != pluginsdk.MessageNotification || !strings.Contains(told[0].Content, "$26.50 were spent, which is more than $25.00 a day") || !strings.Contains(told[0].Content, "harness budget confirm") {
		t.Fatalf("people are told %+v", told)
	}
	offered := told[0].Actions()
	if len(offered) != 1 || offered[0] != (pluginsdk.RowAction{Label: "Confirm the budgets", Command: "/budget confirm"}) {
		t.Fatalf("people are offered %+v", offered)
	}
	w.wantSays(strings.TrimPrefix(offered[0].Command, "/budget "), "The budgets hold from the next turn on")
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
}

// look is what happens a minute after a turn has begun.
func (w *world) look() {
	w.Helper()
	if err := w.own.look(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// Each kind of budget counts what it says, and nothing else.
func TestWhatABudgetCounts(t *testing.T) {
	task := message("work")
	task.Thread.Kind = pluginsdk.ThreadTask
	job := message("fires")
	job.Thread.Kind, job.Thread.Name = pluginsdk.ThreadCron, "Morning Digest"
	review := message("")
	review.Run.Kind, review.Run.Plugin, review.Message.Plugin = pluginsdk.RunTurn, "validation", "validation"
	caused := message("work")
	caused.Message.Plugin, caused.Run.OnBehalfOf = "delegation", pluginsdk.OnBehalf{Source: "cron"}
	keyed := message("talk")
	keyed.Thread.Account = "spare"
	for _, c := range []struct {
		set   string
		of    pluginsdk.OnBeforeRunRequest
		want  []string
		other pluginsdk.OnBeforeRunRequest
	}{
		{"$10 week all", message("talk"), []string{"week:2026-11-23/all 10.00 0.05"}, pluginsdk.OnBeforeRunRequest{Run: pluginsdk.Run{Kind: pluginsdk.RunCommand}}},
		{"$10 month thread=talk", message("talk"), []string{"month:2026-11/thread/talk 10.00 0.05"}, message("other")},
		{"$10 ever thread=*", message("talk"), []string{"ever/thread/talk 10.00 0.05"}, review},
		{"$10 task=T", task, []string{"day:2026-11-28/task/work 10.00 0.05"}, message("talk")},
		{"$10 task=*", task, []string{"day:2026-11-28/task/work 10.00 0.05"}, job},
		{"$10 cron=Morning_Digest", job, []string{"day:2026-11-28/cron/morning_digest 10.00 0.05"}, task},
		{"$10 cron=*", job, []string{"day:2026-11-28/cron/morning_digest 10.00 0.05"}, message("talk")},
		{"$10 plugin=validation", review, []string{"day:2026-11-28/plugin/validation 10.00 0.05"}, message("talk")},
		{"$10 plugin=cron", caused, []string{"day:2026-11-28/plugin/cron 10.00 0.05"}, message("talk")},
		{"$10 plugin=delegation", caused, []string{"day:2026-11-28/plugin/delegation 10.00 0.05"}, message("talk")},
		{"$10 plugin=*", caused, []string{"day:2026-11-28/plugin/delegation 10.00 0.05"}, pluginsdk.OnBeforeRunRequest{Run: pluginsdk.Run{Kind: pluginsdk.RunCommand}}},
		{"$10 account=spare", keyed, []string{"day:2026-11-28/account/spare 10.00 0.05"}, message("talk")},
		{"$0.04 day all", message("talk"), []string{"day:2026-11-28/all 0.04 0.04"}, pluginsdk.OnBeforeRunRequest{Run: pluginsdk.Run{Kind: pluginsdk.RunCommand}}},
	} {
		t.Run(c.set, func(t *testing.T) {
			w := newWorld(t, func(host *plugintest.Host) { host.AddTask(pluginsdk.Task{ID: "T", ThreadID: "work"}) })
			w.wantSays("set it "+c.set, "**it**: $")
			w.wantSays("rm daily", "The budget daily is removed")
			w.wantAccounts(c.of, c.want...)
			w.wantAccounts(c.other)
		})
	}
}

// What plugins start leaves the last part to people, of what both spend from.
func TestWhatPluginsStartLeavesTheRestToPeople(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set each $10 thread=*", "**each**")
	review := message("talk")
	review.Run.Kind = pluginsdk.RunTurn
	w.wantAccounts(review, "day:2026-11-28/billed 20.00 0.05", "day:2026-11-28/thread/talk 10.00 0.05")
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05", "day:2026-11-28/thread/talk 10.00 0.05")
	if got := w.gate(review).Reservations[0].Reason; !strings.Contains(got, "what plugins start may use 80 % of the budget daily of $25.00 a day, which is {limit}: the rest is kept for people") {
		t.Errorf("it says %q", got)
	}
	if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"backgroundShare": 50}`)}); err != nil {
		t.Fatal(err)
	}
	w.wantAccounts(review, "day:2026-11-28/billed 12.50 0.05", "day:2026-11-28/thread/talk 10.00 0.05")
}

// Who is denied is told which budget it was, when it is free again, and how to raise it.
func TestADenialSaysWhatToDo(t *testing.T) {
	w := newWorld(t, nil)
	got := w.gate(message("talk")).Reservations[0].Reason
	want := "the budget daily of {limit} a day is used up: {spent} are spent, {set_aside} are set aside for turns at work, and a turn begins with $0.05 at least. " +
		"It is free again on Sun 2026-11-29 00:00 UTC, or with more money: harness budget set daily 50"
	if got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// The strictest of the budgets of one account holds, and raising one keeps what was spent.
func TestBudgetsOfOneAccount(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set strict $5 day billed", "**strict**: $5.00 a day for what is billed; $0.00 spent")
	w.wantSays("set told $1 day billed soft", "soft")
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 5.00 0.05")
	w.wantSays("set strict $50", "$50.00 a day for what is billed")
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
	w.host.SetBudgetAccount(name, "day:2026-11-28/billed", pluginsdk.BudgetAccount{SpentUSD: 25})
	if got := strings.Join(w.checks(), "; "); !strings.Contains(got, "budget daily warning: $25.00 are spent of $25.00 a day for what is billed; begins anew on Sun 2026-11-29 00:00 UTC; what people write waits for it, and what else it counts is denied") ||
		strings.Contains(got, "budget strict") || !strings.Contains(got, "budget told warning: $25.00 are spent of $1.00 a day for what is billed, soft") {
		t.Errorf("doctor says %q", got)
	}
}

// Nine of ten turns of a model have what they usually cost without asking for more.
func TestWhatATurnUsuallyCosts(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		for i := range 20 {
			host.AddRun(pluginsdk.Run{
				ID: fmt.Sprint("r", i), ThreadID: "talk", State: pluginsdk.RunSucceeded, CostUSD: float64(i+1) / 10, QueuedAt: saturday,
				Result: &pluginsdk.InvokeResult{Model: map[bool]string{true: "claude-opus-5", false: "claude-haiku-5"}[i >= 10]},
			})
		}
		host.AddRun(pluginsdk.Run{ID: "demo", ThreadID: "talk", State: pluginsdk.RunSucceeded, CostUSD: 24, QueuedAt: saturday, Result: &pluginsdk.InvokeResult{Demo: true}})
	})
	if err := w.own.remember(t.Context()); err != nil { // once more: what it has done at its start is the same
		t.Fatal(err)
	}
	for model, want := range map[string]string{"": "1.80", "opus": "1.90", "claude-haiku-5": "0.90", "unheard": "0.05"} {
		of := message("talk")
		of.Thread.Model = model
		w.wantAccounts(of, "day:2026-11-28/billed 25.00 "+want)
	}
	w.host.AddRun(pluginsdk.Run{ID: "run-of-talk", ThreadID: "talk", State: pluginsdk.RunSucceeded, CostUSD: 9, Result: &pluginsdk.InvokeResult{Model: "claude-new-1"}})
	w.look()
	of := message("talk")
	of.Thread.Model = "claude-new-1"
	w.wantAccounts(of, "day:2026-11-28/billed 25.00 9.00")
	summary := message("talk") // a turn of another model, in a thread that has its own
	summary.Thread.Model, summary.Model = "opus", "haiku"
	w.wantAccounts(summary, "day:2026-11-28/billed 25.00 0.90")
}

// Where nobody asks for a model, a turn costs what one of the model does that the agent chooses.
func TestATurnWithoutAModelCostsWhatTheAgentsOwnChoiceDoes(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		host.AddRun(pluginsdk.Run{ID: "dear", ThreadID: "talk", State: pluginsdk.RunSucceeded, CostUSD: 9, QueuedAt: saturday, Result: &pluginsdk.InvokeResult{Model: "claude-opus-5"}})
	})
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 9.00")
	w.host.AddRun(pluginsdk.Run{ID: "run-of-talk", ThreadID: "talk", State: pluginsdk.RunSucceeded, CostUSD: 0.5, Result: &pluginsdk.InvokeResult{Model: "claude-sonnet-5"}})
	w.look()
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.50")
}

// A turn waits for nobody: the gate answers from memory.
func TestTheGateAsksNobody(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set soft $1 week all soft", "soft")
	before := len(w.host.Calls())
	for range 100 {
		w.gate(message("talk"))
	}
	for _, call := range w.host.Calls()[before:] {
		if call.Call.ID != "" || call.Method == "Budgets.Account" {
			t.Errorf("it calls %s", call.Method)
		}
	}
}

// Who is asked every minute of an idle day whether all is well reads nothing for it.
func TestAnIdleDayReadsNothing(t *testing.T) {
	w := newWorld(t, nil)
	first := w.checks()
	before := len(w.host.Calls())
	for range 60 {
		w.now = w.now.Add(time.Minute)
		if got := w.checks(); !slices.Equal(got, first) {
			t.Errorf("doctor says %q, then %q", first, got)
		}
	}
	if calls := w.host.Calls()[before:]; len(calls) > 0 {
		t.Errorf("it has called %+v", calls)
	}
	w.host.SetBudgetAccount(name, "day:2026-11-28/billed", pluginsdk.BudgetAccount{SpentUSD: 30})
	w.gate(message("talk"))
	if got := w.checks(); !strings.Contains(got[0], "$30.00 are spent") {
		t.Errorf("after a turn doctor says %q", got)
	}
	w.host.AddRun(pluginsdk.Run{ID: "run-of-talk", State: pluginsdk.RunSucceeded})
	w.look()
	w.now = w.now.AddDate(0, 0, 1)
	if got := w.checks(); !slices.Equal(got, first) {
		t.Errorf("on the next day doctor says %q", got)
	}
}

// Days begin where the person lives.
func TestTheTimezoneOfADay(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) { host.SetSettings(json.RawMessage(`{"timezone": "Pacific/Auckland"}`)) })
	w.wantAccounts(message("talk"), "day:2026-11-29/billed 25.00 0.05")
	if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"timezone": "Nowhere"}`)}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("a zone that there is not: %v", err)
	}
	w.wantAccounts(message("talk"), "day:2026-11-29/billed 25.00 0.05")
}

// Who spends the money does not say how much there is.
func TestOnlyPeopleSetBudgets(t *testing.T) {
	w := newWorld(t, nil)
	if scope := w.plugin.Manifest().Commands[0].Scope; scope != pluginsdk.ScopeApprove {
		t.Errorf("the command needs the right %s", scope)
	}
	for words, change := range map[string]func(*pluginsdk.OnCommandRequest){
		"is for people":               func(r *pluginsdk.OnCommandRequest) { r.Origin = pluginsdk.FromAgent },
		"say what you need":           func(r *pluginsdk.OnCommandRequest) { r.Message.Origin.RunID = "R" },
		"not for a thread apart":      func(r *pluginsdk.OnCommandRequest) { r.Thread.Apart = true },
		"in the thread of a task":     func(r *pluginsdk.OnCommandRequest) { r.Thread.Kind = pluginsdk.ThreadTask },
		"a task or of a schedule; us": func(r *pluginsdk.OnCommandRequest) { r.Thread.Kind = pluginsdk.ThreadCron },
	} {
		for _, body := range []string{"set daily $1000", "rm daily", "confirm"} {
			request := pluginsdk.OnCommandRequest{Name: command, Body: body, Origin: pluginsdk.FromPerson}
			change(&request)
			if _, err := w.plugin.OnCommand(t.Context(), &request); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want it denied with %q", body, err, words)
			}
		}
	}
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
}

// What is typed wrong is said, and changes nothing.
func TestWhatIsTypedWrong(t *testing.T) {
	w := newWorld(t, nil)
	for body, want := range map[string]string{
		"set daily":                 "say it so: budget set NAME AMOUNT",
		"set Daily $5":              "no name of a budget",
		"set daily $0":              "no amount of a budget",
		"set daily -5":              "no amount of a budget",
		"set daily $NaN":            "no amount of a budget",
		"set daily $1e9":            "no amount of a budget",
		"set daily $5 hourly":       `"hourly" is not understood`,
		"set daily $5 thread=":      "say which thread",
		"set x 5 thread=nowhere":    `there is no thread "nowhere"`,
		"set daily $5 all=web":      "takes no =web",
		"set daily $5 task=nowhere": "error: ",
		"set other hard":            "there is no budget \"other\" yet: say its amount",
		"rm other":                  "there is no budget \"other\"; there are daily",
		"raise":                     "has no \"raise\"; it has list",
	} {
		if said := w.say(body); !strings.HasPrefix(said, "error: ") || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q in it", body, said, want)
		}
	}
	for i := range most - 1 {
		w.wantSays(fmt.Sprintf("set b%d $5 thread=t%d", i, i), "It holds from the next turn on")
	}
	w.wantSays("set last $5", "there are 16 budgets, and can be no more")
	w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
}

// Two processes, as while one takes over from the other, lose nothing of what people set in each.
func TestTwoProcessesSetBudgets(t *testing.T) {
	w := newWorld(t, nil)
	first := w.plugin
	w.serve()
	var wait sync.WaitGroup
	for i := range most - 1 {
		wait.Go(func() {
			request := pluginsdk.OnCommandRequest{Name: command, Body: fmt.Sprintf("set b%d 5 thread=t%d", i, i), Origin: pluginsdk.FromPerson}
			if _, err := []*plugintest.Plugin{first, w.plugin}[i%2].OnCommand(t.Context(), &request); err != nil {
				t.Errorf("%s: %v", request.Body, err)
			}
		})
	}
	wait.Wait()
	var stored ledger
	if err := json.Unmarshal(w.host.State(name)[0].Value, &stored); err != nil || len(stored.Budgets) != most {
		t.Errorf("%d budgets are stored (%v), want %d", len(stored.Budgets), err, most)
	}
}

// What cannot be read must not let everything be spent.
func TestAStateThatCannotBeRead(t *testing.T) {
	for _, raw := range []string{`not JSON`, `{"version": 9}`, `{"version": 1, "confirmed": true, "budgets": [{"name": "x", "usd": -1, "scope": {"kind": "all"}}]}`} {
		w := newWorld(t, func(host *plugintest.Host) {
			_, err := host.As(new(Plugin).Manifest()).State.Put(t.Context(), &pluginsdk.PutStateRequest{Key: stateKey, Value: []byte(raw)})
			if err != nil {
				t.Fatal(err)
			}
		})
		w.wantAccounts(message("talk"), "day:2026-11-28/billed 25.00 0.05")
		if got := w.checks(); !strings.Contains(got[0], "budgets failing: what is stored of them cannot be read") {
			t.Errorf("%s: doctor says %q", raw, got)
		}
		w.wantSays("set daily $5", "error: the budgets that are stored cannot be read")
		if stored := w.host.State(name)[0].Value; string(stored) != raw {
			t.Errorf("it is overwritten: %s", stored)
		}
	}
}

// A plugin that does not know the budgets does not start: nothing is let through meanwhile.
func TestWithoutItsBudgetsItDoesNotStart(t *testing.T) {
	host := plugintest.NewHost()
	host.Fail("State.Get", pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away"))
	plugin, err := host.New(t, new(Plugin))
	if err != nil {
		t.Fatal(err)
	}
	if err := plugin.Start(t.Context()); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
		t.Errorf("it starts: %v", err)
	}
}

// A soft budget of a thread is told to that thread, once, and stops nothing.
func TestASoftBudgetIsToldOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w.wantSays("set talk $1 thread=talk soft", "soft")
	w.gate(message("talk"))
	w.look()
	if told := w.host.Messages("talk"); len(told) != 0 {
		t.Errorf("told before it is passed: %+v", told)
	}
	for _, spent := range []float64{1.2, 1.4} {
		w.host.SetBudgetAccount(name, "day:2026-11-28/thread/talk", pluginsdk.BudgetAccount{SpentUSD: spent})
		w.gate(message("talk"))
		w.look()
	}
	told := w.host.Messages("talk")
	if len(told) != 1 || !strings.Contains(told[0].Content, "The budget talk ($1.00 a day for the thread talk, soft) is passed: $1.20 are spent") || len(w.host.Deliveries()) > 1 {
		t.Fatalf("told %+v", told)
	}
	offered := told[0].Actions()
	if len(offered) != 1 || offered[0].Label != "Have it hold" {
		t.Fatalf("people are offered %+v", offered)
	}
	w.wantSays(strings.TrimPrefix(offered[0].Command, "/budget "), "$1.00 a day for the thread talk; ", "It holds from the next turn on")
}

// Killed at any of its calls while a budget is set, it has the one or the other, and goes on.
func TestKilledAtEveryCall(t *testing.T) {
	const ofItsStart = 3
	for call, died := int64(ofItsStart+1), true; died; call++ {
		for _, carriedOut := range []bool{false, true} {
			died = killedAt(t, plugintest.Death{Call: call, CarriedOut: carriedOut})
		}
		if !died && call <= ofItsStart+3 {
			t.Errorf("it was not killed at call %d", call)
		}
	}
}

func killedAt(t *testing.T, death plugintest.Death) (died bool) {
	host := plugintest.NewHost()
	plugin := func() *Plugin {
		return &Plugin{Now: func() time.Time { return saturday }, Every: time.Hour}
	}
	activate(t, host.Serve(t, plugin())) // its first start is over
	dying := host.ServeUntil(t, plugin(), death)
	request := &pluginsdk.OnCommandRequest{Call: pluginsdk.Call{ID: "R:OnCommand:0:metrics"}, Name: command, Body: "set daily $40", Origin: pluginsdk.FromPerson}
	_, err := dying.OnCommand(t.Context(), request)
	died = dying.Died()
	next := host.Serve(t, plugin())
	answer, gateErr := next.OnBeforeRun(t.Context(), &pluginsdk.OnBeforeRunRequest{Run: pluginsdk.Run{ID: "R", Kind: pluginsdk.RunMessage}})
	if gateErr != nil || len(answer.Reservations) != 1 {
		t.Fatalf("%+v: %+v, %v", death, answer, gateErr)
	}
	if limit := answer.Reservations[0].LimitUSD; limit != 40 && (err == nil || limit != 25) {
		t.Errorf("%+v: the budget is %v, and the person was told %v", death, limit, err)
	}
	again, err := next.OnCommand(t.Context(), request)
	if err != nil || len(again.Audit) != 1 || !strings.Contains(again.Audit[0], "to $40.00 a day for what is billed, from $25.00") {
		t.Errorf("%+v, then: %+v, %v", death, again, err)
	}
	return died
}
