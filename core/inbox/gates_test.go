package inbox

import (
	"context"
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
			if said != "The message waits: the budget daily is used up. It continues by itself. To drop the message: /stop" {
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
	f.begin(t)
	f.submit(t, "T", "1", "hello")
	f.store.until(t, "the end of the run", f.store.allFinal)
	if len(f.store.parks) != 1 {
		t.Errorf("parked %d times", len(f.store.parks))
	}
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
