package inbox

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// noRoom is how the pipeline returns a run that a plugin's gate has wait.
func noRoom(until time.Time) error {
	return &pluginsdk.Failure{
		Kind: pluginsdk.FailureBudget, Message: "the budget daily is used up", Retryable: true,
		Parked: &pluginsdk.Parked{Reason: "the budget daily is used up", Account: "home", Plugin: "metrics", Budget: "daily", Until: until},
	}
}

// endsAfterOnePark has a message answered, whose run waits once on the way.
func (f *fixture) endsAfterOnePark(t *testing.T) {
	t.Helper()
	f.begin(t)
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the end of the run", f.store.allFinal)
	if len(f.store.parks) != 1 {
		t.Errorf("parked %d times", len(f.store.parks))
	}
}

// Who writes when the money is used up is told once, loses neither the message nor an attempt, and is
// answered as soon as the budget is raised: nobody has to type the message again.
func TestWhatWaitsForABudgetGoesOnWhenThatIsRaised(t *testing.T) {
	for what, until := range map[string]time.Time{"a day": time.Now().Add(8 * time.Hour), "for ever": {}} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, Config{MaxAttempts: 1})
			var room atomic.Bool
			tries := make(chan int, 10)
			f.line.handle = func(_ context.Context, claim ledger.Claim) error {
				tries <- claim.Run.Attempt
				if !room.Load() {
					return noRoom(until)
				}
				return nil
			}
			f.begin(t)
			run := f.submit(t, "T", "1", "hello")
			f.store.until(t, "the run to wait", func() bool { return len(f.store.parks) == 1 && f.store.runs[0].State == pluginsdk.RunQueued })
			parked := f.store.parks[0]
			if wait := time.Until(parked.Due); wait < 59*time.Minute || wait > time.Hour+recheckSpread {
				t.Errorf("it is tried again in %v, want about an hour", wait)
			}
			said := parked.Row.Message.Content
			if said != "The message waits: the budget daily is used up. It then continues by itself. To drop the message: /stop" {
				t.Errorf("people are told %q", said)
			}
			if status := f.typed(t, pluginsdk.Submission{Content: "/status"}); !strings.Contains(status, "The message waits: the budget daily is used up.") {
				t.Errorf("/status says %q", status)
			}

			// Others' gates, and a plan that opens, do not concern it.
			if err := f.Recheck(t.Context(), "another"); err != nil {
				t.Fatal(err)
			}
			if err := f.GoOn(t.Context(), time.Now(), func(pluginsdk.Parked, bool) time.Time { return time.Now() }); err != nil {
				t.Fatal(err)
			}
			// It is raised, and still too little: the same row, so nobody is told again.
			if err := f.Recheck(t.Context(), "metrics"); err != nil {
				t.Fatal(err)
			}
			f.store.until(t, "the run to wait again", func() bool { return len(f.store.parks) == 2 && f.store.runs[0].State == pluginsdk.RunQueued })
			if again := f.store.parks[1]; again.Row.Key != parked.Row.Key || !again.Parked.Since.Equal(parked.Parked.Since) {
				t.Errorf("parked again as %+v with the row %s, before with %s", again.Parked, again.Row.Key, parked.Row.Key)
			}
			room.Store(true)
			if err := f.Recheck(t.Context(), "metrics"); err != nil {
				t.Fatal(err)
			}
			f.store.until(t, "the end of the run", f.store.allFinal)
			if state := f.state(run.RunID); state != pluginsdk.RunSucceeded || len(tries) != 3 {
				t.Errorf("it is %s after %d tries", state, len(tries))
			}
			for range 3 {
				if attempt := <-tries; attempt != 1 {
					t.Errorf("attempt %d", attempt)
				}
			}
		})
	}
}

// When the budget's time is over before an hour is, it goes on then.
func TestWhatWaitsForABudgetGoesOnWhenItBeginsAnew(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1, Jitter: 0.0001})
	until := time.Now().Add(50 * time.Millisecond)
	f.line.handle = func(context.Context, ledger.Claim) error {
		if time.Now().Before(until) {
			return noRoom(until)
		}
		return nil
	}
	f.endsAfterOnePark(t)
}

// A fallback key does not help against a budget, and a turn that somebody at work waits for does not
// wait: it would keep that one's place.
func TestAFallbackDoesNotHelpAgainstABudget(t *testing.T) {
	f := newFixture(t, Config{})
	f.line.handle = func(context.Context, ledger.Claim) error { return noRoom(time.Time{}) }
	f.begin(t)
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the run to wait", func() bool { return len(f.store.parks) == 1 && f.store.runs[0].State == pluginsdk.RunQueued })
	if said := f.typed(t, pluginsdk.Submission{Content: "/plan go fallback"}); !strings.Contains(said, "waits for the budget daily") {
		t.Errorf("/plan go fallback says %q", said)
	}
	if said := f.typed(t, pluginsdk.Submission{Content: "/plan"}); !strings.Contains(said, "This thread: The message waits: the budget daily is used up.") {
		t.Errorf("/plan says %q", said)
	}
}

// Who raises the budget in the moment in which a message is put back for it is not told in vain: the message goes on
// a moment later, not in an hour.
func TestARaiseInTheMomentOfTheParkIsNotMissed(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1, Jitter: 0.0001})
	tries := 0
	f.line.handle = func(context.Context, ledger.Claim) error {
		if tries++; tries > 1 {
			return nil
		}
		if err := f.Recheck(context.Background(), "metrics"); err != nil { // the gate has said no, and the run is at work still
			t.Error(err)
		}
		return noRoom(time.Now().Add(8 * time.Hour))
	}
	f.endsAfterOnePark(t)
}

// How a run is parked for a gate: when it is tried again, whether its people are told, and whether they are told anew.
func TestHowARunIsParkedForAGate(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	f := newFixture(t, Config{Jitter: 1e-9, Now: func() time.Time { return now }})
	park := func(last *pluginsdk.Parked, until time.Time, soon bool) ledger.ParkedRun {
		return f.parkedByGate(ledger.Run{Run: pluginsdk.Run{ID: "R"}, LastParked: last}, pluginsdk.Parked{Reason: "no room", Plugin: "metrics", Budget: "daily", Until: until}, soon)
	}
	since := func(ago time.Duration, until time.Time) *pluginsdk.Parked {
		return &pluginsdk.Parked{Plugin: "metrics", Budget: "daily", Since: now.Add(-ago), Until: until}
	}
	midnight := now.Add(12 * time.Hour)
	for what, c := range map[string]struct {
		row  ledger.ParkedRun
		in   time.Duration
		told string // the end of the row's key; empty: nobody is told
	}{
		"first, for turns at work":                  {park(nil, midnight, true), 10 * time.Second, ""},
		"again, for turns at work":                  {park(since(10*time.Second, time.Time{}), midnight, true), 10 * time.Second, ":soon"},
		"after a minute, for turns at work":         {park(since(time.Minute, time.Time{}), midnight, true), time.Minute, ":soon"},
		"after hours, for turns at work":            {park(since(3*time.Hour, time.Time{}), midnight, true), 10 * time.Minute, ":soon"},
		"first, until midnight":                     {park(nil, midnight, false), time.Hour, fmt.Sprint(":", midnight.Unix())},
		"again, until a minute later":               {park(since(time.Hour, midnight), midnight.Add(time.Minute), false), time.Hour, fmt.Sprint(":", midnight.Unix())},
		"again, until another day":                  {park(since(time.Hour, midnight), midnight.Add(24*time.Hour), false), time.Hour, fmt.Sprint(":", midnight.Add(24*time.Hour).Unix())},
		"again, by a gate that is always open soon": {park(since(time.Minute, now), now.Add(time.Millisecond), false), 10 * time.Second, fmt.Sprint(":", now.Unix())},
	} {
		if wait := c.row.Due.Sub(now).Round(time.Second); wait != c.in {
			t.Errorf("%s: it is tried again in %v, want %v", what, wait, c.in)
		}
		switch {
		case c.told == "" && c.row.Row != nil:
			t.Errorf("%s: people are told %q", what, c.row.Row.Message.Content)
		case c.told != "" && (c.row.Row == nil || !strings.HasSuffix(c.row.Row.Key, c.told)):
			t.Errorf("%s: the row is %+v, want a key with %s", what, c.row.Row, c.told)
		}
	}
}

// A clock that is set back does not have a message wait for longer than an hour, as the docs say.
func TestAClockThatIsSetBackHoldsNoRunOfAGate(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	tries := 0
	f.line.handle = func(context.Context, ledger.Claim) error {
		if tries++; tries == 1 {
			return noRoom(time.Time{})
		}
		return nil
	}
	f.begin(t)
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the run to wait", func() bool { return len(f.store.parks) == 1 && f.store.runs[0].State == pluginsdk.RunQueued })
	f.store.mu.Lock()
	f.store.runs[0].NextAttemptAt = time.Now().Add(25 * time.Hour)
	f.store.mu.Unlock()
	if err := f.GoOn(t.Context(), time.Now(), func(pluginsdk.Parked, bool) time.Time { return time.Time{} }); err != nil {
		t.Fatal(err)
	}
	f.store.until(t, "the end of the run", f.store.allFinal)
}

// What a person has said of a message that waits for the plan is not forgotten when a budget has it wait before the
// plan is asked; and who has it tried for a budget is not promised an answer.
func TestWhatAPersonHasSaidHoldsWhileABudgetIsInTheWay(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	f.line.handle = func(context.Context, ledger.Claim) error { return noRoom(time.Time{}) }
	f.begin(t)
	run := f.submit(t, "T", "1", "hello")
	waits := func(parks int) {
		t.Helper()
		f.store.until(t, "the run to wait", func() bool { return len(f.store.parks) == parks && f.store.runs[0].State == pluginsdk.RunQueued })
	}
	waits(1)
	said := pluginsdk.RunOverride{Account: "spare"}
	if _, queue, err := f.store.ResumeRun(t.Context(), ledger.ResumedRun{RunID: run.RunID, Override: said}); err != nil {
		t.Fatal(err)
	} else {
		f.lanes.Wake(queue)
	}
	waits(2)
	if kept := f.store.parks[1].Override; kept == nil || *kept != said {
		t.Errorf("what was said is kept as %+v", kept)
	}
	if said := f.typed(t, pluginsdk.Submission{Content: "/plan go"}); !strings.Contains(said, "While the budget daily has no room it goes on waiting") {
		t.Errorf("/plan go says %q", said)
	}
}
