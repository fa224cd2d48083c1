package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// spread is Config.Spread by default.
const spread = 20 * time.Second

// bench is a room whose clock the test moves, with what it has told everybody.
type bench struct {
	*Room
	clock   time.Time
	overage bool

	mu     sync.Mutex
	stored map[string]ledger.PlanState
	told   []string // by their keys
	events []pluginsdk.PlanWindow
	broken error
	parked []parkedRun
}

// parkedRun is a run that is parked at the bench.
type parkedRun struct {
	pluginsdk.Parked

	people bool
}

// park parks a run that waits for what the ask waits for.
func (b *bench) park(t *testing.T, ask ledger.PlanAsk) {
	t.Helper()
	why := b.Admit(ask)
	if why == nil {
		t.Fatalf("%+v does not wait", ask)
	}
	b.parked = append(b.parked, parkedRun{b.ParkOf(*why, ask), ask.People})
}

// wait checks in how long the parked runs go on, after a round of the room.
func (b *bench) wait(t *testing.T, what string, want ...time.Duration) {
	t.Helper()
	b.round(t)
	for i, run := range b.parked {
		if got := run.Until.Sub(b.clock); got != want[i] {
			t.Errorf("%s: the run %d, people %v, goes on in %s, want %s", what, i, run.people, got, want[i])
		}
	}
}

func (b *bench) goOn(_ context.Context, later time.Time, due func(parked pluginsdk.Parked, people bool) time.Time) error {
	for i, run := range b.parked {
		if at := due(run.Parked, run.people); run.Until.After(later) && !at.IsZero() {
			b.parked[i].Until = at
		}
	}
	return nil
}

func (b *bench) PlanWindows(context.Context) (all []ledger.PlanState, err error) {
	for _, state := range b.stored {
		all = append(all, state)
	}
	return all, b.broken
}

func (b *bench) SavePlanWindow(_ context.Context, state ledger.PlanState, fresh bool) (kept bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, known := b.stored[state.Account+"/"+state.Name]
	if b.broken == nil && (fresh || known) {
		b.stored[state.Account+"/"+state.Name] = state
	}
	return fresh || known, b.broken
}

func (b *bench) Publish(kind pluginsdk.EventType, _ string, payload any) {
	if kind == pluginsdk.EventPlanWindow {
		b.events = append(b.events, payload.(pluginsdk.PlanPayload).Window) //nolint:forcetypeassert // the test's own
	}
}

func newBench() *bench {
	b := &bench{clock: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), stored: make(map[string]ledger.PlanState)}
	b.anew()
	return b
}

// anew is the daemon started again: of the room before there is what it has stored.
func (b *bench) anew() {
	b.Room = New(Config{
		Now:    func() time.Time { return b.clock },
		Jitter: func(most time.Duration) time.Duration { return most / 2 },
	}, Doors{
		Store: b, Events: b, Overage: func(string) bool { return b.overage }, GoOn: b.goOn,
		Notify: func(_ context.Context, key, text string) error {
			b.told = append(b.told, key+" "+text)
			return nil
		},
	})
	for _, state := range b.stored {
		b.windows[key{state.Account, state.Name}] = &window{PlanState: state, saved: state, held: everybody}
	}
}

// round is a round of the room's loop.
func (b *bench) round(t *testing.T) {
	t.Helper()
	b.look(t.Context())
}

func (b *bench) see(name string, used float64, status pluginsdk.PlanStatus, resetsIn time.Duration) {
	w := pluginsdk.PlanWindow{Name: name, Used: used, Status: status}
	if resetsIn != 0 {
		w.ResetsAt = b.clock.Add(resetsIn)
	}
	if family, ok := strings.CutPrefix(name, "seven_day_"); ok {
		w.Model = family
	}
	b.Observe("home", []pluginsdk.PlanWindow{w})
}

var (
	person = ledger.PlanAsk{Account: "home", Model: "claude-sonnet-4-6", People: true}
	plugin = ledger.PlanAsk{Account: "home", Model: "claude-sonnet-4-6"}
)

// Who writes finds room in the plan, whatever plugins have started; and what is used up of one
// model, or of one account, is nobody else's loss.
func TestWhoIsLetThrough(t *testing.T) {
	opus := person
	opus.Model = "claude-opus-4-6"
	work := person
	work.Account = "work"
	for name, c := range map[string]struct {
		see              func(b *bench)
		person, plugin   string // the window that they wait for; empty: they go
		opus, work       string
		overage, expired bool
	}{
		"nothing seen":     {see: func(*bench) {}},
		"room for all":     {see: func(b *bench) { b.see("five_hour", 0.79, pluginsdk.PlanAllowed, time.Hour) }},
		"room for people":  {see: func(b *bench) { b.see("five_hour", 0.8, pluginsdk.PlanWarning, time.Hour) }, plugin: "five_hour"},
		"used up":          {see: func(b *bench) { b.see("five_hour", 0, pluginsdk.PlanRejected, time.Hour) }, person: "five_hour", plugin: "five_hour", opus: "five_hour"},
		"used up for opus": {see: func(b *bench) { b.see("seven_day_opus", 1, pluginsdk.PlanRejected, time.Hour) }, opus: "seven_day_opus"},
		"the later of two": {see: func(b *bench) {
			b.see("five_hour", 1, pluginsdk.PlanRejected, time.Hour)
			b.see("seven_day", 1, pluginsdk.PlanRejected, 48*time.Hour)
		}, person: "seven_day", plugin: "seven_day", opus: "seven_day"},
		"paid for":   {see: func(b *bench) { b.see("five_hour", 1, pluginsdk.PlanRejected, time.Hour) }, overage: true, plugin: "five_hour"},
		"open again": {see: func(b *bench) { b.see("five_hour", 1, pluginsdk.PlanRejected, time.Hour) }, expired: true},
		"nobody allowed it": {see: func(b *bench) {
			b.Observe("home", []pluginsdk.PlanWindow{{Name: "five_hour", Used: 1, Status: pluginsdk.PlanAllowed, Overage: true, ResetsAt: b.clock.Add(time.Hour)}})
		}, person: "five_hour", plugin: "five_hour", opus: "five_hour"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			b.overage = c.overage
			c.see(b)
			b.round(t)
			b.anew() // all of it is known after a restart
			if c.expired {
				b.clock = b.clock.Add(time.Hour)
			}
			for _, one := range []struct {
				who  string
				ask  ledger.PlanAsk
				want string
			}{{"a person", person, c.person}, {"a plugin", plugin, c.plugin}, {"a person with opus", opus, c.opus}, {"a person of another account", work, c.work}} {
				parked := b.Admit(one.ask)
				if parked == nil {
					parked = &pluginsdk.Parked{}
				}
				if parked.Window != one.want || (parked.Reason != "") != (one.want != "") {
					t.Errorf("%s waits for %+v, want %q", one.who, *parked, one.want)
				}
			}
		})
	}
}

// What was told of a reset decides when somebody is answered. It must be believed to the
// second, and when it cannot be true it must cost nobody a year, nor the API a call a second.
func TestUntilWhenARunIsParked(t *testing.T) {
	for name, c := range map[string]struct {
		window    string
		told      time.Duration // 0: not at all
		want      time.Duration // after which people's runs go on, without the jitter
		parkedFor time.Duration // so far
	}{
		"to the second":                {"five_hour", 2*time.Hour + 17*time.Second, 2*time.Hour + 17*time.Second, 0},
		"a week":                       {"seven_day_opus", 6 * 24 * time.Hour, 6 * 24 * time.Hour, 0},
		"next year, of five hours":     {"five_hour", 365 * 24 * time.Hour, 6 * time.Hour, 0},
		"next year, of a week":         {"seven_day", 365 * 24 * time.Hour, 7*24*time.Hour + time.Hour, 0},
		"next year, of nobody knows":   {"moon", 365 * 24 * time.Hour, 7*24*time.Hour + time.Hour, 0},
		"in the past":                  {"five_hour", -time.Hour, time.Minute, 0},
		"not told":                     {"five_hour", 0, time.Minute, 0},
		"not told, for a minute":       {"five_hour", 0, time.Minute, time.Minute},
		"not told, for three minutes":  {"five_hour", 0, 3 * time.Minute, 3 * time.Minute},
		"not told, for hours":          {"five_hour", 0, 15 * time.Minute, 3 * time.Hour},
		"told by one that was not yet": {"five_hour", time.Hour, time.Hour, 3 * time.Hour},
	} {
		b := newBench()
		parked := pluginsdk.Parked{Account: "home", Window: c.window}
		if c.told != 0 {
			parked.Until = b.clock.Add(c.told)
		}
		ask := person
		since := b.clock
		if c.parkedFor > 0 {
			since = b.clock.Add(-c.parkedFor)
			ask.Last = &pluginsdk.Parked{Account: "home", Window: c.window, Since: since}
		}
		got := b.ParkOf(parked, ask)
		if want := b.clock.Add(c.want + spread/2); !got.Until.Equal(want) || !got.Since.Equal(since) || !strings.HasSuffix(got.Reason, "is used up (account \"home\").") {
			t.Errorf("%s: parked until %s since %s (%s), want %s", name, got.Until, got.Since, got.Reason, want)
		}
		ask.People = false
		if others := b.ParkOf(parked, ask); !others.Until.After(got.Until) || others.Until.Before(b.clock.Add(c.want+3*spread/2)) {
			t.Errorf("%s: what a plugin has started goes on at %s, people at %s", name, others.Until, got.Until)
		}
	}
	b := newBench()
	other := person
	other.Last = &pluginsdk.Parked{Account: "home", Window: "seven_day", Since: b.clock.Add(-time.Hour)}
	if got := b.ParkOf(pluginsdk.Parked{Window: "five_hour"}, other); !got.Since.Equal(b.clock) || got.Account != "home" {
		t.Errorf("another window: %+v", got)
	}
}

// A window of which nobody knows when it opens is tried by one run a minute, not by all that
// wait.
func TestAWindowThatIsNotToldToOpenIsTried(t *testing.T) {
	b := newBench()
	b.see("five_hour", 1, pluginsdk.PlanRejected, 0)
	if parked := b.Admit(person); parked == nil || !parked.Until.IsZero() {
		t.Errorf("at once: %+v", parked)
	}
	b.clock = b.clock.Add(unsureFor)
	b.see("seven_day", 1, pluginsdk.PlanRejected, time.Hour)
	if parked := b.Admit(person); parked == nil || parked.Window != "seven_day" {
		t.Errorf("another window is closed: %+v", parked)
	}
	b.see("seven_day", 0.1, pluginsdk.PlanAllowed, time.Hour)
	for minute := range 3 { // those that try are on their way
		through := 0
		for range 30 {
			if parked := b.Admit(person); parked == nil {
				through++
			} else if !parked.Until.IsZero() {
				t.Errorf("waits for %+v", parked)
			}
		}
		if through != 1 {
			t.Errorf("%d of 30 are let through in the minute %d", through, minute)
		}
		b.clock = b.clock.Add(unsureFor)
	}
	b.see("five_hour", 1, pluginsdk.PlanRejected, -time.Hour) // the one that has tried
	if parked := b.Admit(person); parked == nil || !parked.Until.IsZero() {
		t.Errorf("those behind it: %+v", parked)
	}
}

// An answer need not tell of windows. When nobody has told when a window opens, the answer of the
// turn that tried opens it: else the others would go on one by one, a minute each.
func TestAnAnswerOpensAWindowThatIsNotToldToOpen(t *testing.T) {
	b := newBench()
	b.see("five_hour", 1, pluginsdk.PlanRejected, -time.Second) // told when it had opened already
	b.round(t)
	b.clock = b.clock.Add(unsureFor)
	began := b.clock.Add(time.Second)
	if parked := b.Admit(person); parked != nil {
		t.Fatalf("nobody tries: %+v", parked)
	}
	waiting := person // for ten minutes already
	waiting.Last = &pluginsdk.Parked{Account: "home", Window: "five_hour", Since: b.clock.Add(-10 * time.Minute)}
	b.parked = append(b.parked, parkedRun{b.ParkOf(pluginsdk.Parked{Account: "home", Window: "five_hour"}, waiting), true})
	b.wait(t, "closed", 10*time.Minute+spread/2)
	b.Answered("another", person.Model, began)
	b.Answered("home", person.Model, began.Add(-2*unsureFor)) // it began before the window was used up
	if parked := b.Admit(person); parked == nil {
		t.Error("the answer of another account's turn, or of an earlier one, has opened it")
	}
	b.clock = began.Add(time.Second)
	b.Answered("home", person.Model, began)
	if parked := b.Admit(person); parked != nil {
		t.Errorf("it was answered, and the next waits for %+v", parked)
	}
	b.wait(t, "answered", spread/2)

	b.see("seven_day_opus", 1, pluginsdk.PlanRejected, 0)
	b.see("seven_day", 1, pluginsdk.PlanRejected, time.Hour)
	for _, w := range b.windows {
		w.Overage = w.Name == "five_hour"
	}
	b.clock = b.clock.Add(time.Minute)
	b.Answered("home", person.Model, b.clock)
	for name, want := range map[string]bool{"seven_day_opus": true, "seven_day": true, "five_hour": false} {
		if w := b.windows[key{"home", name}]; (w.Status == pluginsdk.PlanRejected) != want {
			t.Errorf("%s of another model, or whose time is told, is now %+v", name, w.PlanWindow)
		}
	}
}

// A plan that is bought, a setting that is changed, a window that opens early: who waits for what
// is open now must not wait until the time that was told before.
func TestAWindowThatOpensEarly(t *testing.T) {
	soon, sooner := 3*spread/2+9*spread/4, spread/2 // of plugins, of people
	full := func(t *testing.T) *bench {
		b := newBench()
		b.see("five_hour", 1, pluginsdk.PlanRejected, 2*time.Hour)
		b.see("seven_day_opus", 1, pluginsdk.PlanRejected, 2*time.Hour)
		b.park(t, person)
		b.park(t, plugin)
		opus := person
		opus.Model = "claude-opus-4-6"
		b.parked = append(b.parked, parkedRun{b.ParkOf(pluginsdk.Parked{Window: "seven_day_opus", Until: b.clock.Add(2 * time.Hour)}, opus), true})
		b.wait(t, "closed", 2*time.Hour+sooner, 2*time.Hour+soon, 2*time.Hour+sooner)
		return b
	}
	t.Run("as the agent tells", func(t *testing.T) {
		b := full(t)
		b.see("five_hour", 0, pluginsdk.PlanAllowed, 2*time.Hour)
		if w := b.Windows("home")[0]; w.Used != 0 {
			t.Errorf("the plan is used up to %v, of which nobody has told", w.Used)
		}
		b.wait(t, "open", sooner, soon, 2*time.Hour+sooner)
		b.wait(t, "a round later", sooner, soon, 2*time.Hour+sooner)
	})
	t.Run("for people alone", func(t *testing.T) {
		b := full(t)
		b.see("five_hour", 0.9, pluginsdk.PlanWarning, 2*time.Hour)
		b.wait(t, "open for people", sooner, 2*time.Hour+soon, 2*time.Hour+sooner)
		b.see("five_hour", 0.1, pluginsdk.PlanAllowed, 5*time.Hour)
		b.wait(t, "open for all", sooner, soon, 2*time.Hour+sooner)
	})
	t.Run("as it is parked", func(t *testing.T) {
		b := full(t)
		b.see("five_hour", 0.1, pluginsdk.PlanAllowed, 2*time.Hour)
		b.round(t)
		late := parkedRun{b.ParkOf(pluginsdk.Parked{Account: "home", Window: "five_hour", Until: b.clock.Add(2 * time.Hour)}, person), true}
		b.parked = []parkedRun{late}
		b.clock = b.clock.Add(watchEvery)
		b.wait(t, "parked as it opened", sooner)
		b.parked = []parkedRun{late}
		b.wait(t, "parked for something else", 2*time.Hour+sooner-watchEvery)
	})
	t.Run("as the operator says", func(t *testing.T) {
		b := full(t)
		b.overage = true
		b.wait(t, "open for people", sooner, 2*time.Hour+soon, sooner)
	})
	t.Run("as the operator has said before the start", func(t *testing.T) {
		b := newBench()
		b.see("five_hour", 0.85, pluginsdk.PlanWarning, 2*time.Hour)
		b.park(t, plugin)
		b.wait(t, "closed", 2*time.Hour+soon)
		b.anew()
		b.config.Share = 0.9
		b.wait(t, "open", soon)
	})
}

// What is kept for people is kept for them as well when nobody has told when the window opens.
func TestTheShareHoldsWithoutAReset(t *testing.T) {
	b := newBench()
	b.see("five_hour", 0.95, pluginsdk.PlanWarning, 0)
	b.clock = b.clock.Add(5 * time.Hour)
	if parked := b.Admit(plugin); parked == nil || !parked.Until.IsZero() || !strings.Contains(parked.Reason, "only people's messages are answered") {
		t.Errorf("a plugin waits for %+v", parked)
	}
	if parked := b.Admit(person); parked != nil {
		t.Errorf("a person waits for %+v", parked)
	}
	b.clock = b.clock.Add(slack)
	if parked := b.Admit(plugin); parked != nil {
		t.Errorf("the window has opened by now: %+v", parked)
	}
}

// A clock that is ahead when a run is parked, and is corrected then, must not cost anybody a year.
func TestAClockThatWasAhead(t *testing.T) {
	b := newBench()
	right := b.clock
	b.clock = b.clock.AddDate(1, 0, 0)
	b.see("five_hour", 1, pluginsdk.PlanRejected, 2*time.Hour)
	b.see("seven_day", 1, pluginsdk.PlanRejected, 0)
	b.round(t)
	b.park(t, person)
	b.park(t, plugin)
	b.clock = right
	b.wait(t, "corrected", spread/2, 3*spread/2+9*spread/4)
	b.clock = b.clock.Add(5*time.Hour + slack)
	for _, w := range b.Windows("home") {
		if w.SeenAt.After(b.clock) || w.ResetsAt.After(b.clock) {
			t.Errorf("of the clock that was ahead there is %+v", w)
		}
	}
	b.clock = b.clock.Add(unsureFor)
	if parked := b.Admit(person); parked != nil {
		t.Errorf("nobody tries whether it is so: %+v", parked)
	}

	// What can be true is left alone.
	b = newBench()
	b.see("five_hour", 1, pluginsdk.PlanRejected, 5*time.Hour+slack)
	b.park(t, plugin)
	b.wait(t, "the farthest", 5*time.Hour+slack+3*spread/2+9*spread/4)
}

// An account that is removed and added again, or that somebody else logs in to, has another plan:
// what the first one has used up must hold nobody up, nor come back into the database.
func TestAPlanIsForgotten(t *testing.T) {
	for how, forget := range map[string]func(b *bench){
		"in the daemon":       func(b *bench) { b.stored = make(map[string]ledger.PlanState); b.Forget("home") },
		"by the command line": func(b *bench) { b.stored = make(map[string]ledger.PlanState) },
	} {
		t.Run(how, func(t *testing.T) {
			b := newBench()
			b.see("five_hour", 1, pluginsdk.PlanRejected, 2*time.Hour)
			b.round(t)
			b.park(t, person)
			b.park(t, plugin)
			forget(b)
			b.wait(t, "forgotten", spread/2, 3*spread/2+9*spread/4)
			if parked := b.Admit(plugin); parked != nil || len(b.stored) != 0 || len(b.Windows("home")) != 0 {
				t.Errorf("waits for %+v, stored %v, known %v", parked, b.stored, b.Windows("home"))
			}
			b.see("five_hour", 0.3, pluginsdk.PlanAllowed, time.Hour)
			b.round(t)
			b.round(t)
			if w := b.Windows("home"); len(w) != 1 || w[0].Used != 0.3 || len(b.stored) != 1 {
				t.Errorf("of the new one: %+v, stored %v", w, b.stored)
			}
		})
	}
	// It is forgotten while it is stored.
	b := newBench()
	b.see("five_hour", 0.5, pluginsdk.PlanAllowed, 2*time.Hour)
	b.round(t)
	b.see("five_hour", 0.6, pluginsdk.PlanAllowed, 2*time.Hour)
	b.stored = make(map[string]ledger.PlanState)
	if err := b.keep(t.Context()); err != nil || len(b.stored) != 0 || len(b.Windows("home")) != 0 {
		t.Errorf("stored %v, known %v: %v", b.stored, b.Windows("home"), err)
	}
}

// People want to know in time that a plan comes to its end, once, and not of a window that has
// begun anew.
func TestPeopleAreWarnedOnce(t *testing.T) {
	b := newBench()
	warned := func(want ...string) {
		t.Helper()
		b.round(t)
		b.anew()
		if len(b.told) != len(want) {
			t.Fatalf("told %q, want %q", b.told, want)
		}
		for i, words := range want {
			if !strings.Contains(b.told[i], words) {
				t.Errorf("told %q, want %q", b.told[i], words)
			}
		}
	}
	b.see("five_hour", 0.5, pluginsdk.PlanAllowed, 2*time.Hour)
	warned()
	b.clock = b.clock.Add(10 * time.Minute)
	b.see("five_hour", 0.76, pluginsdk.PlanWarning, 110*time.Minute)
	first := "76 % of the plan's five-hour limit is used (account \"home\"). It resets at 14:00 UTC. At this pace it will be used up at 12:19 UTC."
	warned(first)
	b.see("five_hour", 0.8, pluginsdk.PlanWarning, 110*time.Minute)
	b.see("five_hour", 0, pluginsdk.PlanAllowed, 110*time.Minute) // a line that does not tell how much
	warned(first)
	b.see("five_hour", 0.93, pluginsdk.PlanWarning, 110*time.Minute+time.Second)
	warned(first, "93 %")
	b.see("five_hour", 0.95, pluginsdk.PlanWarning, 110*time.Minute)
	warned(first, "93 %")
	b.clock = b.clock.Add(2 * time.Hour)
	b.round(t)
	if w := b.Windows("home"); len(w) != 1 || w[0].Used != 0 || w[0].Status != pluginsdk.PlanAllowed || !w[0].ResetsAt.IsZero() {
		t.Errorf("after the reset: %+v", w)
	}
	warned(first, "93 %")
	b.see("five_hour", 0.91, pluginsdk.PlanWarning, 5*time.Hour)
	warned(first, "93 %", "91 %")

	// Of one that is used up those are told whose runs are parked.
	b = newBench()
	b.see("seven_day", 1, pluginsdk.PlanRejected, 24*time.Hour)
	warned()
}

// An agent that tells nonsense of a reset, again and again, tells of one window: people are warned
// of it once, and its time does not move away from those who wait.
func TestAnAbsurdResetIsNoNewWindow(t *testing.T) {
	b := newBench()
	opens := b.clock.Add(5*time.Hour + slack)
	for range 4 {
		b.see("five_hour", 0.8, pluginsdk.PlanWarning, 365*24*time.Hour)
		b.round(t)
		b.clock = b.clock.Add(10 * time.Minute)
	}
	if w := b.Windows("home")[0]; len(b.told) != 1 || !w.ResetsAt.Equal(opens) {
		t.Errorf("told %q, opens at %s, want %s", b.told, w.ResetsAt, opens)
	}
	b.see("five_hour", 0.8, pluginsdk.PlanWarning, time.Hour)
	if w := b.Windows("home")[0]; !w.ResetsAt.Equal(b.clock.Add(time.Hour)) {
		t.Errorf("what can be true is not believed: %s", w.ResetsAt)
	}
}

// Pages show what a plan is like as it changes, and must not be told the same again and again.
func TestEventsOfAWindow(t *testing.T) {
	b := newBench()
	expect := func(want string) {
		t.Helper()
		var got []string
		for _, w := range b.events {
			got = append(got, fmt.Sprintf("%s %.2f", w.Status, w.Used))
		}
		b.events = nil
		if strings.Join(got, ", ") != want {
			t.Errorf("events %q, want %q", got, want)
		}
	}
	b.see("five_hour", 0.1, pluginsdk.PlanAllowed, time.Hour)
	expect("allowed 0.10")
	b.see("five_hour", 0.2, pluginsdk.PlanAllowed, time.Hour)
	expect("")
	b.see("five_hour", 0.75, pluginsdk.PlanAllowed, time.Hour)
	expect("allowed 0.75")
	b.see("five_hour", 0.75, pluginsdk.PlanWarning, time.Hour)
	expect("warning 0.75")
	b.see("five_hour", 0.9, pluginsdk.PlanRejected, time.Hour)
	expect("rejected 1.00")
	b.clock = b.clock.Add(time.Hour)
	b.round(t)
	expect("allowed 0.00")
	b.round(t)
	expect("")
}

// A projection that is wrong sends people away for nothing: it is made of what was seen, and
// only when it says something.
func TestProjection(t *testing.T) {
	b := newBench()
	full := func() time.Duration {
		at := b.Windows("home")[0].FullAt
		if at.IsZero() {
			return 0
		}
		return at.Sub(b.clock)
	}
	b.see("five_hour", 0.2, pluginsdk.PlanAllowed, 5*time.Hour)
	if full() != 0 {
		t.Errorf("of one sight: in %s", full())
	}
	b.clock = b.clock.Add(5 * time.Minute)
	b.see("five_hour", 0.3, pluginsdk.PlanAllowed, 4*time.Hour+55*time.Minute)
	if full() != 0 {
		t.Errorf("of five minutes: in %s", full())
	}
	b.clock = b.clock.Add(55 * time.Minute)
	b.see("five_hour", 0.4, pluginsdk.PlanAllowed, 4*time.Hour)
	if got := full(); got != 3*time.Hour {
		t.Errorf("0.2 an hour, 0.6 are left: in %s", got)
	}
	b.clock = b.clock.Add(time.Hour)
	b.see("five_hour", 0.41, pluginsdk.PlanAllowed, 3*time.Hour)
	if full() != 0 {
		t.Errorf("it opens before: in %s", full())
	}
}

func TestWhatIsShown(t *testing.T) {
	b := newBench()
	if text := b.Show(); !strings.HasPrefix(text, "Nothing was seen of a plan") {
		t.Error(text)
	}
	b.see("five_hour", 1, pluginsdk.PlanRejected, 90*time.Minute)
	b.see("seven_day_opus", 0.31, pluginsdk.PlanAllowed, 72*time.Hour)
	want := "Account home:\n██████████ 100 %  five-hour limit, resets at 13:30 UTC, used up\n" +
		"███░░░░░░░  31 %  weekly limit for Opus, resets at Thu 26 Nov 12:00 UTC"
	if text := b.Show(); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if text := b.Told(pluginsdk.Parked{Reason: "Because.", Until: b.clock.Add(time.Hour)}); text != "Parked: Because. The message continues by itself at 13:00 UTC." {
		t.Error(text)
	}
	for _, figure := range b.Figures() {
		if figure.Name == "harness_plan_used_ratio" && (len(figure.Samples) != 2 || figure.Samples[0].Value != 1) {
			t.Errorf("%+v", figure)
		}
	}
}

// What was seen must not be lost because the database was away for a moment, nor a person be
// told twice for that.
func TestWhatIsSeenIsStored(t *testing.T) {
	b := newBench()
	b.broken = errors.New("away")
	b.see("five_hour", 0.8, pluginsdk.PlanWarning, time.Hour)
	b.round(t)
	if len(b.stored) != 0 || len(b.told) == 0 {
		t.Fatalf("stored %v, told %q", b.stored, b.told)
	}
	b.broken, b.told = nil, nil
	b.round(t)
	b.round(t)
	if len(b.stored) != 1 || len(b.told) != 1 {
		t.Errorf("stored %v, told %q", b.stored, b.told)
	}
	b.see("five_hour", 0.805, pluginsdk.PlanWarning, time.Hour)
	b.round(t)
	if used := b.stored["home/five_hour"].Used; used != 0.8 {
		t.Errorf("stored for nothing: %v", used)
	}
	b.see("five_hour", 0.82, pluginsdk.PlanWarning, time.Hour)
	b.round(t)
	if used := b.stored["home/five_hour"].Used; used != 0.82 {
		t.Errorf("stored %v", used)
	}
}

// A daemon that is stopped takes along what it has just seen, and the next one begins with it.
func TestWhatIsSeenLastIsStored(t *testing.T) {
	b := newBench()
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.see("five_hour", 0.4, pluginsdk.PlanAllowed, time.Hour)
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.Room = New(Config{Now: func() time.Time { return b.clock }}, b.doors)
	if err := b.Stop(t.Context()); err != nil { // one that never began has nothing to stop
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if windows := b.Windows("home"); len(windows) != 1 || windows[0].Used != 0.4 || windows[0].Account != "home" {
		t.Errorf("after a restart: %+v", windows)
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.broken = errors.New("away")
	if err := New(Config{}, b.doors).Start(t.Context()); err == nil {
		t.Error("it has begun without knowing what was stored")
	}
}
