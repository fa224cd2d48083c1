package daemon_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var planKills = flag.Int("plan.kills", 6, "times that a daemon is killed whose runs are parked")

// movedClock is the clock of a daemon, here or in a process of its own: the file says how far it
// was moved.
func movedClock(data string) func() time.Time {
	return func() time.Time {
		moved, _ := os.ReadFile(filepath.Join(data, "clock"))
		by, _ := time.ParseDuration(string(moved)) // there is none: it was not moved
		return time.Now().Add(by)
	}
}

// hasty looks for runs that are due as often as a moved clock needs it.
func hasty(c *inbox.Config) { c.Sweep = 50 * time.Millisecond }

// planned is an installation whose clock the test moves, and whose demo agent has a plan.
type planned struct {
	*installation
	rows *store.Store

	by time.Duration // how far the clock was moved

	mu      sync.Mutex
	invoked map[string]int // by run
}

func newPlanned(t *testing.T, databaseURL, script string, parts ...string) *planned {
	t.Helper()
	return plannedFrom(leanInstallation(t, databaseURL, parts...), script)
}

func plannedFrom(in *installation, script string) *planned {
	p := &planned{installation: in, invoked: make(map[string]int)}
	p.demo(script)
	p.config.Now, p.config.Dispatch = movedClock(p.config.Data), hasty
	p.config.Fault = func(step, runID string) {
		if step == "invoke" {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.invoked[runID]++
		}
	}
	p.rows = p.database()
	return p
}

func (p *planned) now() time.Time { return p.config.Now() }

// move moves the clock on, as one sees it from outside: at once.
func (p *planned) move(by time.Duration) {
	p.t.Helper()
	p.by += by
	file := filepath.Join(p.config.Data, "clock")
	if err := os.WriteFile(file+".new", []byte(p.by.String()), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		p.t.Fatal(err)
	}
}

// kept is a run as it is stored.
func (p *planned) kept(id string) pluginsdk.Run {
	p.t.Helper()
	run, err := p.rows.Run(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return run
}

// parks waits until a run is parked, and returns how.
func (p *planned) parks(id string) pluginsdk.Run {
	p.t.Helper()
	var run pluginsdk.Run
	p.until("the parking of a run", func() bool {
		run = p.kept(id)
		return run.Parked != nil || run.State.Final()
	})
	if run.Parked == nil || run.Attempt != 0 || len(run.Failures) != 0 || run.Error != "" {
		p.t.Fatalf("the run is %s, attempt %d, parked %+v: %s", run.State, run.Attempt, run.Parked, run.Error)
	}
	return run
}

// answers waits until a run is answered, and checks that it was asked the agent so often.
func (p *planned) answers(id string, asked int) pluginsdk.Run {
	p.t.Helper()
	p.until("the answer of a run", func() bool { return p.kept(id).State.Final() })
	run := p.kept(id)
	if run.State != pluginsdk.RunSucceeded {
		p.t.Errorf("the run is %s: %s", run.State, run.Error)
	}
	if n := p.asked(id); n != asked {
		p.t.Errorf("the agent was asked %d times, want %d", n, asked)
	}
	replies := 0
	for _, message := range p.messages(run.ThreadID) {
		if message.RunID == id && message.Role == pluginsdk.RoleAssistant && message.Kind == pluginsdk.MessageText {
			replies++
		}
	}
	if run.Kind == pluginsdk.RunMessage && replies != 1 {
		p.t.Errorf("%d replies", replies)
	}
	return run
}

func (p *planned) asked(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.invoked[id]
}

// told are the rows of a thread that the core has told its people.
func (p *planned) told(thread string) (told []string) {
	for _, message := range p.messages(thread) {
		if message.Kind == pluginsdk.MessageNotification || strings.HasPrefix(message.Content, "This thread now uses") {
			told = append(told, message.Content)
		}
	}
	return told
}

// within wants a time to lie in a span behind another.
func within(t *testing.T, what string, at, from time.Time, least, most time.Duration) {
	t.Helper()
	if at.Before(from.Add(least)) || at.After(from.Add(most)) {
		t.Errorf("%s: %s, want %s to %s behind %s", what, at, least, most, from)
	}
}

// Whose plan is used up loses time, and neither a message nor work: in mid-turn and at the
// start, for people and for each model by itself, and they are told until when, once.
func TestAPlanThatIsUsedUpCostsTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"work hard","times":1,"toolName":"Read","toolResult":"ok","planUsedUp":{"window":"five_hour","resetsIn":"2h"}},
			{"match":"","text":"Done."}]`)
		stop := p.start()
		first, other, deep := p.thread("first"), p.thread("other"), p.thread("deep")
		began := p.now()
		mid := p.parks(p.chat(first, "work hard").RunID)
		if mid.Step != pluginsdk.StepInvoking || mid.Parked.Window != "five_hour" || mid.Parked.Account != pluginsdk.EnvironmentAccount {
			t.Errorf("parked in mid-turn: %+v, %+v", mid, mid.Parked)
		}
		within(t, "goes on", mid.Parked.Until, began, 2*time.Hour, 2*time.Hour+time.Minute)
		start := p.parks(p.chat(other, "work hard, too").RunID)
		if start.Step != pluginsdk.StepAccepted || p.asked(start.ID) != 0 {
			t.Errorf("at the start: %+v, asked %d times", start, p.asked(start.ID))
		}
		for _, thread := range []string{first, other} {
			if told := p.told(thread); len(told) != 1 || !strings.HasPrefix(told[0], "Parked: The plan's five-hour limit is used up (account \"environment\"). The message continues by itself at ") {
				t.Errorf("told %q", told)
			}
		}
		p.chat(other, "/status")
		if all := p.messages(other); !strings.Contains(all[len(all)-1].Content, "The message continues by itself at ") {
			t.Errorf("status: %s", all[len(all)-1].Content)
		}
		stop() // what is known of the plan outlasts the daemon
		p.demo(`[{"match":"think deep","times":1,"planUsedUp":{"window":"seven_day_opus","model":"opus","resetsIn":"48h"}},
			{"match":"","text":"Done."}]`)
		p.start()
		p.move(2*time.Hour - 5*time.Minute) // the test itself takes its time
		late := p.parks(p.chat(p.thread("late"), "work hard, as well").RunID)
		if p.asked(mid.ID) != 1 || p.asked(start.ID) != 0 || p.asked(late.ID) != 0 {
			t.Error("the agent was asked before the window has opened")
		}
		p.move(6 * time.Minute)
		p.answers(mid.ID, 2)
		p.answers(start.ID, 1)
		p.answers(late.ID, 1)
		if told := p.told(first); len(told) != 1 {
			t.Errorf("told %q", told)
		}

		if status := p.call(http.MethodPatch, "/api/threads/"+deep, map[string]string{"model": "claude-opus-4-6"}, nil); status != http.StatusOK {
			t.Fatalf("PATCH /api/threads: %d", status)
		}
		opus := p.parks(p.chat(deep, "think deep").RunID)
		if opus.Parked.Window != "seven_day_opus" || opus.Parked.Model != "opus" {
			t.Errorf("parked %+v", opus.Parked)
		}
		p.answers(p.chat(first, "something else").RunID, 1) // with another model
		p.chat(deep, "/plan go claude-haiku-4-5")
		if run := p.answers(opus.ID, 2); run.Override == nil || run.Override.Model != "claude-haiku-4-5" {
			t.Errorf("went on with %+v", run.Override)
		}
		gone := p.parks(p.chat(deep, "think deep again").RunID)
		p.chat(deep, "/stop")
		if run := p.kept(gone.ID); run.State != pluginsdk.RunCancelled {
			t.Errorf("stopped: %s", run.State)
		}
	})
}

// A window that opens before its time, as the agent tells, lets go on what waits for it; and who
// takes another model or account for a thread waits for the first one no more.
func TestAWindowThatOpensEarlyLetsGoOn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"use it up","times":1,"planUsedUp":{"window":"five_hour","resetsIn":"2h","lasts":"1ms"}},
			{"match":"it is open","times":1,"text":"Yes.","plan":{"window":"five_hour","used":0.1,"resetsIn":"2h"}},
			{"match":"of opus","times":1,"planUsedUp":{"window":"seven_day_opus","model":"opus","resetsIn":"48h"}},
			{"match":"","text":"Done."}]`)
		p.config.PlanSpread = 100 * time.Millisecond
		p.start()
		began := p.now()
		first := p.parks(p.chat(p.thread("first"), "use it up").RunID)
		second := p.parks(p.chat(p.thread("second"), "hello").RunID)
		third := p.thread("third")
		bold := p.parks(p.chat(third, "it is open").RunID)
		p.chat(third, "/plan go")
		p.answers(bold.ID, 1)
		p.answers(first.ID, 2)
		p.answers(second.ID, 1)

		deep := p.thread("deep")
		model := func(name string) {
			t.Helper()
			if status := p.call(http.MethodPatch, "/api/threads/"+deep, map[string]string{"model": name}, nil); status != http.StatusOK {
				t.Fatalf("PATCH /api/threads: %d", status)
			}
		}
		model("claude-opus-4-6")
		opus := p.parks(p.chat(deep, "of opus").RunID)
		model("claude-haiku-4-5")
		p.answers(opus.ID, 2)
		if now := p.now(); now.Sub(began) > time.Hour {
			t.Errorf("it has taken until %s", now)
		}
	})
}

// An account that is removed, and added again with another login, has another plan: who uses it is
// answered at once.
func TestAnAccountThatIsAddedAgainHasAnotherPlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"use it up","times":1,"planUsedUp":{"window":"five_hour","resetsIn":"2h","lasts":"1ms"}}, {"match":"","text":"Done."}]`)
		p.start()
		thread := p.thread("talk")
		call := func(method, path string, body any) {
			t.Helper()
			if status := p.call(method, path, body, nil); status >= http.StatusBadRequest {
				t.Fatalf("%s %s: %d", method, path, status)
			}
		}
		use := func() {
			t.Helper()
			call(http.MethodPost, "/api/accounts", map[string]string{"name": "work", "kind": "key", "key": "sk-of-work"})
			call(http.MethodPatch, "/api/threads/"+thread, map[string]string{"account": "work"})
		}
		use()
		run := p.parks(p.chat(thread, "use it up").RunID)
		if run.Parked.Account != "work" {
			t.Fatalf("parked %+v", run.Parked)
		}
		p.chat(thread, "/stop")
		call(http.MethodPatch, "/api/threads/"+thread, map[string]string{"account": ""})
		call(http.MethodDelete, "/api/accounts/work", nil)
		if windows, err := p.rows.PlanWindows(t.Context()); err != nil || len(windows) != 0 {
			t.Errorf("of the account that is gone there is %+v: %v", windows, err)
		}
		use()
		p.answers(p.chat(thread, "hello").RunID, 1)
	})
}

// What is told of a reset may be nonsense. A run goes on all the same, and the API is not
// asked over and over.
func TestAResetThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		for told, most := range map[string]struct {
			wait  time.Duration
			asked int
		}{
			"":      {time.Hour, 9}, // not at all: 1, 1, 2, 4, 8, 15 minutes
			"-1h":   {time.Hour, 9},
			"8760h": {6*time.Hour + 30*time.Second, 2},
		} {
			p := newPlanned(t, database(t), fmt.Sprintf(`[
				{"match":"work","times":1,"planUsedUp":{"window":"five_hour","resetsIn":%q,"lasts":"40m"}}, {"match":"","text":"Done."}]`, told))
			stop := p.start()
			began := p.now()
			run := p.parks(p.chat(p.thread("talk"), "work").RunID)
			for waited := 0; !run.State.Final() && waited < 20; waited++ {
				asked := p.asked(run.ID)
				p.move(run.Parked.Until.Sub(p.now()) + time.Second)
				p.until("another try", func() bool { return p.asked(run.ID) > asked })
				p.until("the end of the try", func() bool {
					run = p.kept(run.ID)
					return run.Parked != nil || run.State.Final()
				})
			}
			within(t, "told "+told+": answered", p.now(), began, 40*time.Minute, most.wait)
			if n := p.asked(run.ID); n > most.asked || run.State != pluginsdk.RunSucceeded {
				t.Errorf("told %q: asked %d times, then %s", told, n, run.State)
			}
			stop()
		}
	})
}

// A key has no plan. What waits for the limit of the login that the environment had before must
// not wait for days once the environment has a key.
func TestAKeyDoesNotWaitForTheLoginBefore(t *testing.T) {
	if !apart(t) {
		return
	}
	p := newPlanned(t, "", `[{"match":"","planUsedUp":{"window":"seven_day","resetsIn":"100h"}}]`)
	stop := p.start()
	run := p.chat(p.thread("talk"), "say:with the key")
	p.parks(run.RunID)
	stop()
	p.claude() // whose environment has a key
	p.start()
	p.until("the answer", func() bool { return p.kept(run.RunID).State.Final() })
	if got := p.kept(run.RunID); got.State != pluginsdk.RunSucceeded || got.CostUSD == 0 || got.NotionalUSD != 0 {
		t.Errorf("%s, of $%v notional %v: %s", got.State, got.CostUSD, got.NotionalUSD, got.Error)
	}
	if windows, err := p.rows.PlanWindows(t.Context()); err != nil || len(windows) != 0 {
		t.Errorf("of the login before is still known: %+v, %v", windows, err)
	}
}

// Thirty runs that wait for one window must not come at the same second, nor keep those waiting
// who have written: people first, a few at a time, and none of them is lost, done twice, or
// said to have failed. What plugins have started stops before people have to.
func TestManyRunsGoOnPeopleFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"nearly","times":1,"text":"Nearly.","plan":{"window":"five_hour","used":0.85,"warning":true,"resetsIn":"2h"}},
			{"match":"use it up","times":1,"planUsedUp":{"window":"five_hour","resetsIn":"2h"}},
			{"match":"","text":"Done."}]`, turnerName)
		p.start()
		talk := p.thread("talk")
		p.answers(p.chat(talk, "nearly").RunID, 1)
		primary, err := p.rows.Primary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.until("a warning", func() bool {
			told := p.told(primary.ID)
			return len(told) == 1 && strings.HasPrefix(told[0], "85 % of the plan's five-hour limit is used (account \"environment\"). It resets at ")
		})

		// At the share, what plugins start waits, and people do not.
		var wanted []pluginsdk.StartTurnRequest
		for n := range 5 {
			wanted = append(wanted, pluginsdk.StartTurnRequest{Key: fmt.Sprint("k", n), Prompt: "review"})
		}
		if err := os.WriteFile(filepath.Join(p.config.Plugins, "crowd.txt"), []byte("5"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.adoptTurner(wanted...)
		var plugins []string // runs
		p.until("ten runs of plugins that are parked", func() bool {
			parked, err := p.rows.ParkedRuns(t.Context(), "", 0)
			if plugins = nil; err != nil {
				t.Fatal(err)
			}
			for _, run := range parked {
				plugins = append(plugins, run.ID)
			}
			return len(parked) == 10
		})
		if why := p.kept(plugins[0]).Parked.Reason; why != "85 % of the plan's five-hour limit is used (account \"environment\"). Above 80 % only people's messages are answered (HARNESS_PLAN_SHARE)." {
			t.Errorf("parked: %s", why)
		}
		p.answers(p.chat(talk, "hello").RunID, 1)

		reset := p.now().Add(2 * time.Hour)
		people := []string{p.parks(p.chat(talk, "use it up").RunID).ID}
		for n := range 19 {
			people = append(people, p.chat(p.thread(fmt.Sprint("thread ", n)), "hello").RunID)
		}
		seconds := make(map[int64]bool)
		for _, id := range people {
			until := p.parks(id).Parked.Until
			within(t, "a person's", until, reset, -time.Minute, time.Minute)
			seconds[until.Unix()] = true
		}
		if len(seconds) < 4 {
			t.Errorf("20 runs of people are due at %d seconds", len(seconds))
		}
		var earliest time.Time
		for _, id := range plugins {
			if until := p.kept(id).Parked.Until; earliest.IsZero() || until.Before(earliest) {
				earliest = until
			}
		}
		last := slices.MaxFunc(people, func(a, b string) int { return p.kept(a).Parked.Until.Compare(p.kept(b).Parked.Until) })
		p.move(p.kept(last).Parked.Until.Sub(p.now()))
		for n, id := range people {
			p.answers(id, map[bool]int{true: 2, false: 1}[n == 0])
		}
		if earliest.After(p.now()) { // the first window was told a moment before the second
			for _, id := range plugins {
				if p.asked(id) != 0 {
					t.Errorf("a run of a plugin has begun at the same time as people's: %+v", p.kept(id))
				}
			}
		}
		p.move(3 * time.Minute)
		for _, id := range plugins {
			p.answers(id, 1)
		}
	})
}

// Where the primary thread reports to somewhere, its people read there that most of a limit is
// used: once at 75 and once at 90 per cent. The row says what it is, for who carries it unasked.
func TestAWarningIsCarried(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"most","times":1,"text":"Most.","plan":{"window":"five_hour","used":0.76,"resetsIn":"2h"}},
			{"match":"more","times":1,"text":"More.","plan":{"window":"five_hour","used":0.78,"resetsIn":"2h"}},
			{"match":"nearly","times":1,"text":"Nearly.","plan":{"window":"five_hour","used":0.91,"warning":true,"resetsIn":"2h"}},
			{"match":"","text":"Done."}]`, courierName)
		p.start()
		primary, err := p.rows.Primary(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.sql("UPDATE plugins SET enabled = true WHERE name = 'courier'")
		to := pluginsdk.Target{Plugin: courierName, Place: "door"}
		if _, err := p.rows.UpdateThread(t.Context(), primary.ID, pluginsdk.ThreadPatch{ReportTo: &to}); err != nil {
			t.Fatal(err)
		}
		talk := p.thread("talk")
		for n, said := range []string{"most", "more", "nearly"} {
			p.answers(p.chat(talk, said).RunID, 1)
			p.until("what is carried after "+said, func() bool { return len(p.carried()) == (n+2)/2 })
		}
		told := p.carried()
		for n, want := range []string{" door 76 % of the plan's ", " door 91 % of the plan's "} {
			if !strings.Contains(told[n], want) {
				t.Errorf("carried %q, want %q", told[n], want)
			}
		}
		for _, message := range p.messages(primary.ID) {
			if message.Kind == pluginsdk.MessageNotification && !strings.Contains(string(message.Metadata), pluginsdk.NotePlanWarning) {
				t.Errorf("the row's metadata is %s", message.Metadata)
			}
		}
	})
}

// Paid use beyond the plan is for the operator to allow, and a key in its place for a person to
// ask for, within a day's limit that the core holds.
func TestWhatIsPaidForIsAllowedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[
			{"match":"beyond","times":1,"text":"Paid for.","plan":{"window":"five_hour","used":1,"overage":true,"resetsIn":"2h"}},
			{"match":"flaky","times":1,"failure":{"kind":"api","message":"overloaded","apiStatus":529,"retryable":true}},
			{"match":"more","text":"Paid by the key.","costUsd":0.995},
			{"match":"","text":"Done."}]`)
		account := func(name string, edit func(*ledger.Account)) {
			t.Helper()
			_, err := p.rows.EditAccount(t.Context(), ledger.AccountChange{Name: name, Who: "test", Action: "account.update",
				Edit: func(row *ledger.Account, _ bool, _ []ledger.Account) (string, error) { edit(row); return "", nil }})
			if err != nil {
				t.Fatal(err)
			}
		}
		account("spare", func(a *ledger.Account) { a.Kind, a.DailyLimitUSD = pluginsdk.AccountKey, 1 })
		account(pluginsdk.EnvironmentAccount, func(a *ledger.Account) { a.Kind, a.Fallback = pluginsdk.AccountEnvironment, "spare" })
		stop := p.start()
		thread := p.thread("talk")
		p.answers(p.chat(thread, "beyond").RunID, 1)
		flaky := p.thread("flaky")
		run := p.parks(p.chat(flaky, "flaky").RunID)
		p.chat(flaky, "/plan go fallback") // the second attempt has the whole limit as well
		p.until("the first attempt's end", func() bool { run = p.kept(run.ID); return len(run.Failures) == 1 })
		if wait := run.NextAttemptAt.Sub(p.now()); run.State == pluginsdk.RunQueued && wait > 0 {
			p.move(wait)
		}
		if run = p.answers(run.ID, 2); run.Account != "spare" {
			t.Errorf("tried again with the account %q", run.Account)
		}
		run = p.parks(p.chat(thread, "more").RunID)
		p.chat(thread, "/plan go fallback")
		if run = p.answers(run.ID, 1); run.Account != "spare" {
			t.Errorf("answered with the account %q", run.Account)
		}
		if told := p.told(thread); !slices.Contains(told, "This thread now uses the account spare: a new session with its history.") {
			t.Errorf("told %q", told)
		}
		purse := ledger.FallbackAccount("spare", p.now().UTC().Format(time.DateOnly))
		if used, err := p.rows.Reserved(t.Context(), "core", purse); err != nil || used != 0.995 {
			t.Errorf("the key has cost %v today, %v", used, err)
		}
		other := p.thread("other")
		next := p.parks(p.chat(other, "more again").RunID)
		p.chat(other, "/plan go fallback") // half a cent is left
		p.until("the run to be parked anew", func() bool {
			run := p.kept(next.ID).Parked
			return run != nil && strings.HasPrefix(run.Reason, "The API key \"spare\" has reached its daily limit as a fallback: all of the $1.00 is spent")
		})
		if p.asked(next.ID) != 0 {
			t.Error("the agent was asked for what nobody pays")
		}
		stop()
		account(pluginsdk.EnvironmentAccount, func(a *ledger.Account) { a.Overage = true })
		p.start()
		p.answers(p.chat(p.thread("third"), "hello").RunID, 1)
	})
}

// A daemon that is killed, many times, while runs are parked: each is answered once when the
// window opens, and none before.
func TestKillWhileRunsAreParked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		p := newPlanned(t, database(t), `[{"match":"use it up","times":1,"planUsedUp":{"window":"five_hour","resetsIn":"2h"}},
			{"match":"","text":"Done."}]`)
		p.spawn()
		waits := func(id string) { // an attempt counts that the daemon has died in
			p.until("the parking of a run", func() bool { return p.kept(id).Parked != nil })
		}
		runs := []string{p.chat(p.thread("first"), "use it up").RunID}
		t.Cleanup(func() {
			for _, id := range runs {
				if run, err := p.rows.Run(context.Background(), id); t.Failed() && err == nil { // the test's context is over
					t.Logf("run %s is %s at %q in attempt %d, next at %s, parked %+v: %s", id, run.State, run.Step, run.Attempt, run.NextAttemptAt, run.Parked, run.Error)
				}
			}
		})
		p.parks(runs[0])
		p.until("the storing of the window", func() bool { // which is not done at once: who dies before asks once more
			windows, err := p.rows.PlanWindows(t.Context())
			return err == nil && len(windows) == 1 && windows[0].Status == pluginsdk.PlanRejected
		})
		// The next daemons' demo agent knows nothing of the window: they do.
		if err := os.WriteFile(p.config.DemoScript, []byte(`[{"match":"","text":"Done."}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		for n := range *planKills {
			runs = append(runs, p.chat(p.thread(fmt.Sprint("thread ", n)), "hello").RunID)
			if n%2 == 0 { // else it is killed on the way
				waits(runs[len(runs)-1])
			}
			p.kill()
			p.living()
		}
		for _, id := range runs {
			waits(id)
		}
		steps := lines(t, filepath.Join(p.config.Data, "steps.log"))
		if early := slices.DeleteFunc(slices.Clone(steps), func(l string) bool { return !strings.HasPrefix(l, "invoke ") || l == "invoke "+runs[0] }); len(early) > 0 {
			t.Errorf("the agent was asked before the window has opened: %q", early)
		}
		p.move(2*time.Hour + time.Minute)
		p.kill() // also while they go on
		p.living()
		for _, id := range runs {
			p.until("the answer of a run", func() bool { return p.kept(id).State.Final() })
			run := p.kept(id)
			replies := slices.DeleteFunc(p.messages(run.ThreadID), func(m pluginsdk.Message) bool {
				return m.Role != pluginsdk.RoleAssistant || m.Kind != pluginsdk.MessageText
			})
			if run.State != pluginsdk.RunSucceeded || len(replies) != 1 || run.Error != "" {
				t.Errorf("run %s is %s with %d replies: %s", id, run.State, len(replies), run.Error)
			}
		}
		p.quit()
	})
}

// A task whose worker or reviewer has to wait for the plan waits with them: nobody takes it for
// stuck, nothing is judged twice, and no word of it is lost with the daemon.
func TestATaskWaitsForThePlan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		accepted := reviewSaying(t, "accept", "")
		work := `{"match":"make a result","toolName":"scribe__write","toolInput":{"file":"result.txt","text":"ok"},"text":"DONE: it"}`
		p := plannedFrom(delegating(t, database(t)), `[
			{"match":"# Review of task","times":1,"planUsedUp":{"window":"five_hour","resetsIn":"2h"}},
			{"match":"# Review of task","structuredOutput":`+accepted+`},
			{"match":"make a result","times":1,"toolName":"Read","toolResult":"ok","planUsedUp":{"window":"five_hour","resetsIn":"2h"}},`+work+`]`)
		stop := p.start()
		p.atWork(p.rows)
		r := newRepository(t)
		parent := p.threadIn(r, "parent")
		p.chat(parent, "/delegate make a result")
		var task pluginsdk.Task
		look := func(holds func() bool) func() bool {
			return func() bool {
				tasks, err := p.rows.Tasks(t.Context(), pluginsdk.TaskQuery{ParentThreadID: parent})
				if err != nil || len(tasks) != 1 {
					return false
				}
				task = tasks[0]
				return holds()
			}
		}
		var parked []pluginsdk.Run
		oneIsParked := func(kind pluginsdk.RunKind) func() bool {
			return look(func() (is bool) {
				var err error
				parked, err = p.rows.ParkedRuns(t.Context(), "", 0)
				return err == nil && len(parked) == 1 && parked[0].Kind == kind
			})
		}
		p.until("the parking of the worker", oneIsParked(pluginsdk.RunMessage))
		if task.Status != pluginsdk.TaskRunning || task.CurrentIteration != 1 {
			t.Errorf("the task is %s in iteration %d", task.Status, task.CurrentIteration)
		}
		p.move(2*time.Hour + 3*time.Minute)
		p.until("the parking of the reviewer", oneIsParked(pluginsdk.RunTurn))
		turn := parked[0].ID
		p.demo(`[{"match":"# Review of task","structuredOutput":` + accepted + `},` + work + `]`)
		stop() // in the middle of the hook that waits for the reviewer
		p.start()
		p.atWork(p.rows)
		p.until("the reviewer to wait again", oneIsParked(pluginsdk.RunTurn))
		if state, err := p.rows.TaskState(t.Context(), task.ID); err != nil || task.Status != pluginsdk.TaskEvaluating || state.Failures != 0 || parked[0].ID != turn {
			t.Errorf("the task is %s, failures %d, the reviewer's turn %s was %s: %v", task.Status, state.Failures, parked[0].ID, turn, err)
		}
		p.move(2*time.Hour + 3*time.Minute)
		p.until("the verdict", look(func() bool { return task.Status == pluginsdk.TaskWaiting })) // the demo agent's merges nothing
		p.tryToDecide(task, pluginsdk.VerdictAccept)
		p.until("the end of the task", look(func() bool { return !task.CompletedAt.IsZero() }))
		if task.Status != pluginsdk.TaskCompleted || task.CurrentIteration != 1 || task.ValidationIterations != 0 || r.merges() != 1 {
			t.Errorf("it ended as %s in iteration %d, rejected %d times, merged %d times: %s",
				task.Status, task.CurrentIteration, task.ValidationIterations, r.merges(), task.Error)
		}
		if turns := turnsOf(t, p.rows); len(turns) != 1 || turns[0].State != pluginsdk.RunSucceeded {
			t.Errorf("%d turns: %+v", len(turns), turns)
		}
	})
}
