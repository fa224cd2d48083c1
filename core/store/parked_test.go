package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// clocked is a store whose clock the test moves.
func clocked(t *testing.T, test func(t *testing.T, s *store.Store, clock *time.Time)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		now := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
		config.Now = func() time.Time { return now }
		test(t, storetest.OpenConfig(t, config), &now)
	})
}

func parkedFor(c ledger.Claim, until time.Time) ledger.ParkedRun {
	return ledger.ParkedRun{
		RunID:  c.Run.ID,
		Parked: pluginsdk.Parked{Reason: "used up", Account: "environment", Window: "five_hour", Until: until, Since: until.Add(-time.Hour)},
		Row:    &ledger.Row{Key: "parked:" + c.Run.ID, Message: pluginsdk.NewMessage{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "core", Content: "used up"}},
	}
}

// Somebody whose plan is used up loses time, and neither the message nor an attempt: the run
// waits over the death of the daemon, and goes on when the window opens.
func TestAParkedRunWaitsForItsWindow(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		c := claimed(t, s, "general")
		id, until := c.Run.ID, clock.Add(time.Hour)
		lanes := must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, until)))
		if len(lanes) != 1 || lanes[0].Plugin != "discord" {
			t.Errorf("carried to %+v", lanes)
		}
		wantCode(t, second(s.ParkRun(ctx, c.Fence, parkedFor(c, until))), pluginsdk.CodeStale)
		for boot := range 3 {
			if open := must[[]ledger.Queue](t)(s.Recover(ctx, "another boot")); len(open) != 1 {
				t.Errorf("boot %d: open %+v", boot, open)
			}
			r := must[pluginsdk.Run](t)(s.Run(ctx, id))
			if r.State != pluginsdk.RunQueued || r.Attempt != 0 || r.Parked == nil || !r.Parked.Until.Equal(until) || r.Parked.Window != "five_hour" || len(r.Failures) != 0 || r.Error != "" {
				t.Fatalf("boot %d: parked as %+v %+v", boot, r, r.Parked)
			}
			if early := must[ledger.Claim](t)(s.Claim(ctx, c.Thread.ID, "test")); early.Found || !early.NotBefore.Equal(until) {
				t.Errorf("claimed before the window opens: %+v", early)
			}
		}
		if parked := only[pluginsdk.Run](t)(s.ParkedRuns(ctx, c.Thread.ID, 0)); parked.ID != id {
			t.Errorf("parked in the thread: %+v", parked)
		}

		// It is still used up: the person is not told twice.
		*clock = until
		c = claim(t, s, c.Thread.ID)
		if c.Run.ID != id || c.Run.Attempt != 1 || c.Run.Parked != nil || c.Run.LastParked == nil || !c.Run.LastParked.Until.Equal(until) {
			t.Fatalf("claimed %+v, last parked as %+v", c.Run, c.Run.LastParked)
		}
		if lanes := must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, until.Add(time.Minute)))); len(lanes) != 0 {
			t.Errorf("carried again to %+v", lanes)
		}
		told := 0
		for _, m := range must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: c.Thread.ID})) {
			if m.Kind == pluginsdk.MessageNotification {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}

		// A daemon that dies in the attempt, and one that is told to stop, leave it as one that
		// is due.
		*clock = until.Add(time.Minute)
		claim(t, s, c.Thread.ID)
		must[[]ledger.Queue](t)(s.Recover(ctx, "yet another boot"))
		if r := must[pluginsdk.Run](t)(s.Run(ctx, id)); r.Parked != nil || r.State != pluginsdk.RunQueued {
			t.Errorf("recovered as %+v", r)
		}
		c = claim(t, s, c.Thread.ID)
		check(t, s.EndAttempt(ctx, c.Fence, ledger.AttemptEnd{RunID: id, At: clock.Add(time.Second), Reason: "529"}))
		if r := must[ledger.Run](t)(s.KeptRun(ctx, id)); r.Parked != nil || r.LastParked != nil {
			t.Errorf("one that is tried again for another reason is still parked: %+v", r.Parked)
		}
	})
}

// Who does not want to wait does not have to: for a message or for what a plugin has asked.
func TestAParkedRunIsToldToGoOnOrEnded(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		until := clock.Add(7 * 24 * time.Hour)
		c := claimed(t, s, "general")
		id := c.Run.ID
		_, _, err := s.ResumeRun(ctx, ledger.ResumedRun{RunID: id, Who: "ann"})
		wantCode(t, err, pluginsdk.CodeStale)
		_, _, err = s.ResumeRun(ctx, ledger.ResumedRun{RunID: "no such run"})
		wantCode(t, err, pluginsdk.CodeNotFound)
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, until)))
		override := pluginsdk.RunOverride{Model: "haiku", Account: "spare"}
		r, queue, err := s.ResumeRun(ctx, ledger.ResumedRun{RunID: id, Override: override, Who: "ann"})
		check(t, err)
		if queue != (ledger.Queue{ThreadID: c.Thread.ID}) || r.Parked != nil || r.Override == nil || *r.Override != override {
			t.Errorf("resumed %+v in %+v", r, queue)
		}
		if entry := only[store.AuditEntry](t)(s.AuditEntries(ctx, id, 0)); entry.Who != "ann" || entry.Action != "run.resume" || entry.Detail != "model haiku, account spare" {
			t.Errorf("audit log: %+v", entry)
		}
		_, _, err = s.ResumeRun(ctx, ledger.ResumedRun{RunID: id, Who: "ann"})
		wantCode(t, err, pluginsdk.CodeStale)
		c = claim(t, s, c.Thread.ID)
		if c.Run.Override == nil || *c.Run.Override != override || c.Run.LastParked != nil {
			t.Errorf("claimed with %+v, %+v", c.Run.Override, c.Run.LastParked)
		}
		// Parked again, what was said of it holds no longer than the parked run says.
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, until)))
		r, cancelled, err := s.CancelQueued(ctx, id, "stopped by ann")
		if err != nil || !cancelled || r.State != pluginsdk.RunCancelled || r.Parked != nil || r.Override != nil {
			t.Errorf("cancelled %v: %+v, %v", cancelled, r, err)
		}

		turn := acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review"}).RunID
		tc := claimTurn(t, s, turn, "test")
		if lanes := must[[]ledger.Lane](t)(s.ParkRun(ctx, tc.Fence, parkedFor(tc, until))); len(lanes) != 0 {
			t.Errorf("a turn beside its thread tells %+v", lanes)
		}
		if expired := must[bool](t)(s.ExpireQueued(ctx, turn, "no place")); expired {
			t.Error("a turn that was begun, and is parked, has expired as one that never was")
		}
		if waits := must[ledger.Claim](t)(s.ClaimBeside(ctx, ledger.Queue{TurnID: turn}, "test")); waits.Found || !waits.NotBefore.Equal(until) {
			t.Errorf("claimed %+v", waits)
		}
		if _, queue, err := s.ResumeRun(ctx, ledger.ResumedRun{RunID: turn}); err != nil || queue != (ledger.Queue{TurnID: turn}) {
			t.Errorf("resumed in %+v, %v", queue, err)
		}
		if tc = claimTurn(t, s, turn, "test"); tc.Run.Attempt != 1 {
			t.Errorf("attempt %d", tc.Run.Attempt)
		}
	})
}

// What opens early is for those who wait for it, and for nobody else; who has gone on meanwhile
// is not put back.
func TestParkedRunsAreHastened(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		until, later, soon := clock.Add(2*time.Hour), clock.Add(time.Minute), clock.Add(10*time.Second)
		person, other, near := claimed(t, s, "person"), claimed(t, s, "other"), claimed(t, s, "near")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, person.Fence, parkedFor(person, until)))
		must[[]ledger.Lane](t)(s.ParkRun(ctx, near.Fence, parkedFor(near, later)))
		another := parkedFor(other, until)
		another.Parked.Window = "seven_day"
		must[[]ledger.Lane](t)(s.ParkRun(ctx, other.Fence, another))
		turn := claimTurn(t, s, acceptTurn(t, s, pluginsdk.StartTurnRequest{Prompt: "review"}).RunID, "test")
		must[[]ledger.Lane](t)(s.ParkRun(ctx, turn.Fence, parkedFor(turn, until)))
		asked := make(map[bool]int) // whether people wait
		queues := must[[]ledger.Queue](t)(s.HastenParked(ctx, later, func(parked pluginsdk.Parked, people bool) time.Time {
			asked[people]++
			if parked.Window == "five_hour" && parked.Account == "environment" {
				return soon
			}
			return time.Time{}
		}))
		if len(queues) != 2 || !slices.Contains(queues, ledger.Queue{ThreadID: person.Thread.ID}) || !slices.Contains(queues, ledger.Queue{TurnID: turn.Run.ID}) || asked[true] != 2 || asked[false] != 1 {
			t.Errorf("hastened %+v, asked about %v", queues, asked)
		}
		for _, c := range []struct {
			claim ledger.Claim
			until time.Time
		}{{person, soon}, {turn, soon}, {other, until}, {near, later}} {
			if r := must[pluginsdk.Run](t)(s.Run(ctx, c.claim.Run.ID)); r.Parked == nil || !r.Parked.Until.Equal(c.until) || !r.NextAttemptAt.Equal(c.until) {
				t.Errorf("due at %s, parked %+v, want %s", r.NextAttemptAt, r.Parked, c.until)
			}
		}
		if n := must[int](t)(s.CountParked(ctx)); n != 4 {
			t.Errorf("%d runs are parked", n)
		}
		*clock = soon
		claim(t, s, person.Thread.ID)
		if n := must[int](t)(s.CountParked(ctx)); n != 3 {
			t.Errorf("%d runs are parked", n)
		}

		// A person who takes another model for the thread does not want to wait for the first one.
		model := "haiku"
		must[pluginsdk.Thread](t)(s.UpdateThread(ctx, other.Thread.ID, pluginsdk.ThreadPatch{Model: &model}))
		if c := claim(t, s, other.Thread.ID); c.Run.ID != other.Run.ID {
			t.Errorf("claimed %+v", c.Run)
		}
	})
}

// The session of a thread is of an account: whose it is must be known after a restart, since
// no other account can go on with it.
func TestASessionRemembersItsAccount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		c := claimed(t, s, "general")
		check(t, s.SaveIntent(ctx, c.Fence, ledger.Intent{RunID: c.Run.ID, SessionID: "S", Account: "work"}))
		if r := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); r.Account != "work" {
			t.Errorf("the run's account is %q", r.Account)
		}
		commit := result(c)
		commit.SessionAccount, commit.Result.Account = "work", "spare"
		check(t, s.SaveResult(ctx, c.Fence, commit))
		if th := must[ledger.Thread](t)(s.KeptThread(ctx, c.Thread.ID)); th.SessionAccount != "work" || th.SessionID == "" {
			t.Errorf("the session %q is of %q", th.SessionID, th.SessionAccount)
		}
		if r := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); r.Account != "spare" {
			t.Errorf("the run's account is %q", r.Account)
		}
		check(t, s.ResetSession(ctx, c.Thread.ID))
		if th := must[ledger.Thread](t)(s.KeptThread(ctx, c.Thread.ID)); th.SessionAccount != "" {
			t.Errorf("a session that is gone is of %q", th.SessionAccount)
		}
	})
}

// What waits for a budget is looked at before the budget begins anew, and still tells people when that
// is. Who raises the budget has it go on at once, and nothing else that is parked.
func TestARunThatWaitsForABudgetIsTriedBeforeItsTime(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		c, planned := claimed(t, s, "general"), claimed(t, s, "other")
		until, due := clock.Add(8*time.Hour), clock.Add(time.Hour)
		parked := parkedFor(c, until)
		parked.Due = due
		parked.Parked.Window, parked.Parked.Plugin, parked.Parked.Budget = "", "metrics", "daily"
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parked))
		must[[]ledger.Lane](t)(s.ParkRun(ctx, planned.Fence, parkedFor(planned, until)))
		wants := func(at time.Time) {
			t.Helper()
			r := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID))
			if r.Parked == nil || r.Parked.Plugin != "metrics" || r.Parked.Budget != "daily" || !r.Parked.Until.Equal(until) || !r.NextAttemptAt.Equal(at) {
				t.Fatalf("parked as %+v, due at %v, want %v", r.Parked, r.NextAttemptAt, at)
			}
		}
		wants(due)
		if moved := must[[]ledger.Queue](t)(s.HastenParked(ctx, *clock, func(of pluginsdk.Parked, _ bool) time.Time {
			if of.Plugin != "" {
				t.Errorf("asked about a run that waits for a gate: %+v", of)
			}
			return time.Time{}
		})); len(moved) != 0 {
			t.Errorf("moved are %+v", moved)
		}
		if moved := must[[]ledger.Queue](t)(s.HastenGate(ctx, "another", *clock, *clock)); len(moved) != 0 {
			t.Errorf("moved for another plugin are %+v", moved)
		}
		queues := must[[]ledger.Queue](t)(s.HastenGate(ctx, "metrics", *clock, *clock))
		if !slices.Equal(queues, []ledger.Queue{{ThreadID: c.Thread.ID}}) {
			t.Errorf("woken are %+v", queues)
		}
		wants(*clock)
		if again := claim(t, s, c.Thread.ID); again.Run.ID != c.Run.ID || again.Run.Attempt != 1 {
			t.Errorf("claimed %+v", again.Run)
		}
	})
}

// Who raises the budget in the thread that waits for it does not wait behind the message: commands pass what is
// parked, and nothing else does.
func TestACommandPassesWhatIsParked(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		ctx := t.Context()
		c := claimed(t, s, "general")
		behind := acceptance(c.Thread.ID, "2", "behind")
		must[ledger.Accepted](t)(s.Accept(ctx, behind))
		command := acceptance(c.Thread.ID, "3", "/budget")
		command.Kind = pluginsdk.RunCommand
		must[ledger.Accepted](t)(s.Accept(ctx, command))
		must[[]ledger.Lane](t)(s.ParkRun(ctx, c.Fence, parkedFor(c, clock.Add(time.Hour))))
		passed := claim(t, s, c.Thread.ID)
		if passed.Run.ID != command.RunID {
			t.Fatalf("claimed is %s, want the command %s", passed.Run.ID, command.RunID)
		}
		must[ledger.Finished](t)(s.Finish(ctx, passed.Fence, ledger.Finish{RunID: passed.Run.ID, State: pluginsdk.RunSucceeded}))
		if next := must[ledger.Claim](t)(s.Claim(ctx, c.Thread.ID, "test")); next.Found || !next.NotBefore.Equal(clock.Add(time.Hour)) {
			t.Errorf("what else passes the parked run: %+v", next)
		}

		// One that is to be tried again in a second is not put off for as long as the parked run waits. What nobody
		// has typed keeps its place.
		own := acceptance(c.Thread.ID, "4", "/budget")
		own.Kind, own.Submission.Author, own.Submission.Scope = pluginsdk.RunCommand, "", ""
		must[ledger.Accepted](t)(s.Accept(ctx, own))
		if next := must[ledger.Claim](t)(s.Claim(ctx, c.Thread.ID, "test")); next.Found {
			t.Errorf("a plugin's own command passes the parked run: %+v", next.Run)
		}
		again := acceptance(c.Thread.ID, "5", "/budget")
		again.Kind = pluginsdk.RunCommand
		must[ledger.Accepted](t)(s.Accept(ctx, again))
		passed = claim(t, s, c.Thread.ID)
		check(t, s.EndAttempt(ctx, passed.Fence, ledger.AttemptEnd{RunID: passed.Run.ID, At: clock.Add(time.Second), Reason: "503"}))
		if next := must[ledger.Claim](t)(s.Claim(ctx, c.Thread.ID, "test")); next.Found || !next.NotBefore.Equal(clock.Add(time.Second)) {
			t.Errorf("a command that is to be tried again is due at %v, want in a second", next.NotBefore)
		}
	})
}

// A moment that no database and no JSON keeps must not hold a run at work for ever.
func TestARunIsParkedUntilWhateverYear(t *testing.T) {
	clocked(t, func(t *testing.T, s *store.Store, clock *time.Time) {
		c := claimed(t, s, "general")
		parked := parkedFor(c, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC))
		parked.Due = clock.Add(time.Hour)
		must[[]ledger.Lane](t)(s.ParkRun(t.Context(), c.Fence, parked))
		if r := must[pluginsdk.Run](t)(s.Run(t.Context(), c.Run.ID)); r.State != pluginsdk.RunQueued || !r.Parked.Until.IsZero() {
			t.Errorf("parked as %+v", r.Parked)
		}
	})
}
