package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A yes is good for one use: the same call again is asked again.
func TestAYesIsSpentOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		for range 2 {
			answer := d.asking(t.Context(), of, bash("make"))
			approval := d.shown(pluginsdk.ApprovalOpen)
			if err := d.choose(approval, "allow", "Ann"); err != nil {
				t.Fatal(err)
			}
			if got := wait(t, answer); !got.Allow || !got.Asked {
				t.Errorf("answered %+v", got)
			}
			if spent := d.shown(pluginsdk.ApprovalAllowed); spent.SpentAt.IsZero() {
				t.Error("it is not spent")
			}
		}
		if d.rested != 0 {
			t.Errorf("%d runs have lost their place", d.rested)
		}
	})
}

// Many calls, some the same, asked at once and answered by several people at once: each
// answer is given to one call, and each call has one.
func TestManyAskAndManyAnswer(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		const calls = 12
		var answers []<-chan ledger.ToolAnswer
		for i := range calls {
			answers = append(answers, d.asking(t.Context(), of, bash(fmt.Sprint("make ", i%3))))
		}
		done := make(chan struct{})
		var people sync.WaitGroup
		for _, author := range []string{"Ann", "Bob", "Cy"} {
			people.Go(func() {
				for {
					open, _, err := d.Approvals.Approvals(context.Background(), pluginsdk.ApprovalQuery{States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}})
					if err != nil {
						t.Error(err)
					}
					for i, one := range open {
						err := d.choose(one, []string{"allow", "deny"}[i%2], author)
						if code := pluginsdk.CodeOf(err); err != nil && code != pluginsdk.CodeStale {
							t.Error(err)
						}
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		allowed := 0
		for _, answer := range answers {
			if wait(t, answer).Allow {
				allowed++
			}
		}
		close(done)
		people.Wait()
		all, err := s.Approvals(context.Background(), pluginsdk.ApprovalQuery{RunID: of.RunID})
		if err != nil || len(all) != calls {
			t.Errorf("%d approvals for %d calls, %v", len(all), calls, err)
		}
		yes := 0
		for _, one := range all {
			if one.State == pluginsdk.ApprovalAllowed {
				yes++
			}
			if one.SpentAt.IsZero() {
				t.Errorf("an answer was given to nobody: %+v", one.Approval)
			}
		}
		if yes != allowed {
			t.Errorf("people said yes %d times, and %d calls were allowed", yes, allowed)
		}
	})
}

// What nobody answers in time is denied, and the run goes on, parked or not.
func TestNobodyAnswersInTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{Expiry: time.Hour})
		of := d.begin(nil)
		answer := d.asking(t.Context(), of, bash("make"))
		approval := d.shown(pluginsdk.ApprovalOpen)
		d.later(59 * time.Minute)
		if err := d.sweep(t.Context()); err != nil || len(d.events) > 0 {
			t.Fatalf("too early: %v", err)
		}
		d.later(2 * time.Minute)
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); got.Allow || !strings.Contains(got.Words, "in time") {
			t.Errorf("answered %+v", got)
		}
		d.shown(pluginsdk.ApprovalExpired)
		if err := d.choose(approval, "allow", "Ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeStale || !strings.Contains(err.Error(), "expired") {
			t.Errorf("answered too late: %v", err)
		}

		parked := d.begin(nil)
		answer = d.asking(t.Context(), parked, bash("make"))
		d.shown(pluginsdk.ApprovalOpen)
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); !got.Park {
			t.Fatalf("answered %+v", got)
		}
		if waits, err := s.Park(t.Context(), parked.Fence, parked.RunID); err != nil || !waits {
			t.Fatalf("parked %v, %v", waits, err)
		}
		d = newDesk(t, s, Config{})
		d.later(100 * time.Hour)
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if run, err := s.Run(t.Context(), parked.RunID); err != nil || run.State != pluginsdk.RunQueued || !slices.Equal(d.woken, []string{parked.Thread.ID}) {
			t.Errorf("it is %s, %v; woken %v", run.State, err, d.woken)
		}
		if words, err := d.Answered(t.Context(), parked.RunID); err != nil || !strings.Contains(words, "Nobody answered in time") {
			t.Errorf("the next attempt is told %q, %v", words, err)
		}
	})
}

// A turn beside its thread cannot be parked: its session ends with its process. It waits
// for people no longer than others do that keep theirs.
func TestATurnBesideItsThreadWaitsNoLongerThanOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{AskUnattended: true, ParkAfter: time.Hour, Expiry: 72 * time.Hour})
		of := d.beside()
		answer := d.asking(t.Context(), of, bash("make"))
		d.shown(pluginsdk.ApprovalOpen)
		d.later(59 * time.Minute)
		if err := d.sweep(t.Context()); err != nil || len(d.events) > 0 {
			t.Fatalf("too early: %v", err)
		}
		d.later(2 * time.Minute)
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); got.Allow || got.Park || !strings.Contains(got.Words, "in time") {
			t.Errorf("answered %+v", got)
		}
	})
}

// The answer that comes as a run is being parked finds it, whichever is first.
func TestAnAnswerMeetsTheParking(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		for range 20 {
			of := d.begin(nil)
			ctx, cancel := context.WithCancel(t.Context())
			answer := d.asking(ctx, of, bash("make"))
			approval := d.shown(pluginsdk.ApprovalOpen)
			cancel() // as a turn ends whose process is killed
			wait(t, answer)
			var both sync.WaitGroup
			both.Go(func() {
				if _, err := s.Park(t.Context(), of.Fence, of.RunID); err != nil {
					t.Error(err)
				}
			})
			both.Go(func() {
				if err := d.choose(approval, "allow", "Ann"); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			d.shown(pluginsdk.ApprovalAllowed)
			if run, err := s.Run(t.Context(), of.RunID); err != nil || run.State != pluginsdk.RunQueued {
				t.Fatalf("it is %s, %v", run.State, err)
			}
		}
	})
}

// Who answers what nothing waits for any more is told so, and allows nothing by it: not
// even by a rule, nor in a thread that is gone.
func TestAnAnswerToARunThatIsOver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		ctx, cancel := context.WithCancel(t.Context())
		made := bash("make test")
		made.Cwd = t.TempDir()
		answer := d.asking(ctx, of, made)
		approval := d.shown(pluginsdk.ApprovalOpen)
		cancel()
		wait(t, answer)
		if _, err := s.Finish(t.Context(), of.Fence, ledger.Finish{RunID: of.RunID, State: pluginsdk.RunCancelled}); err != nil {
			t.Fatal(err)
		}
		refused := func() {
			t.Helper()
			for _, choice := range []string{"rule:1", "deny"} {
				if err := d.choose(approval, choice, "Ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeStale || !strings.Contains(err.Error(), "run is over") {
					t.Errorf("%s: %v", choice, err)
				}
			}
			if rules, err := s.ApprovalRules(t.Context(), pluginsdk.ListApprovalRulesRequest{}); err != nil || slices.ContainsFunc(rules, func(r pluginsdk.ApprovalRule) bool { return r.ThreadID == of.Thread.ID }) {
				t.Errorf("rules %+v, %v", rules, err)
			}
		}
		refused()
		if _, err := s.DeleteThread(t.Context(), of.Thread.ID, "Ann"); err != nil {
			t.Fatal(err)
		}
		refused()
		if err := d.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.shown(pluginsdk.ApprovalWithdrawn)
		refused()
	})
}

// A run that two things are asked of waits for both.
func TestARunWaitsForAllThatItAsks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		one, two := d.asking(t.Context(), of, bash("one")), d.asking(t.Context(), of, bash("two"))
		first, second := d.shown(pluginsdk.ApprovalOpen), d.shown(pluginsdk.ApprovalOpen)
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		wait(t, one)
		wait(t, two)
		state := func() pluginsdk.RunState {
			run, err := s.Run(t.Context(), of.RunID)
			if err != nil {
				t.Fatal(err)
			}
			return run.State
		}
		if _, err := s.Park(t.Context(), of.Fence, of.RunID); err != nil || state() != pluginsdk.RunWaiting {
			t.Fatalf("parked: %v, %s", err, state())
		}
		if err := d.choose(first, "allow", "Ann"); err != nil || state() != pluginsdk.RunWaiting {
			t.Errorf("after one answer: %v, %s", err, state())
		}
		if err := d.choose(second, "deny", "Ann"); err != nil || state() != pluginsdk.RunQueued {
			t.Errorf("after both: %v, %s", err, state())
		}
	})
}

// A rule that a person has made allows its calls in its thread, until it is revoked.
func TestARuleHoldsUntilItIsRevoked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		dir := t.TempDir()
		bash := func(command string) ledger.ToolAsk {
			ask := bash(command)
			ask.Cwd = dir
			return ask
		}
		answer := d.asking(t.Context(), of, bash("make test"))
		if err := d.choose(d.shown(pluginsdk.ApprovalOpen), "rule:1", "Ann"); err != nil {
			t.Fatal(err)
		}
		wait(t, answer)
		d.shown(pluginsdk.ApprovalAllowed)
		if got := d.Ask(t.Context(), of, bash("make test")); !got.Allow || got.Asked {
			t.Errorf("by rule: %+v", got)
		}
		elsewhere := d.asking(t.Context(), d.begin(nil), bash("make test"))
		d.shown(pluginsdk.ApprovalOpen) // a rule is of its thread
		guarded := bash("make test")
		guarded.Guarded = true
		second := d.asking(t.Context(), of, guarded)
		if approval := d.shown(pluginsdk.ApprovalOpen); len(approval.Choices) != 2 {
			t.Errorf("what guards permissions can be allowed for good: %+v", approval.Choices)
		}
		rules, _, err := d.Rules(t.Context(), pluginsdk.ListApprovalRulesRequest{ThreadID: of.Thread.ID})
		if err != nil || len(rules) != 1 {
			t.Fatalf("rules %+v, %v", rules, err)
		}
		for range 2 { // twice is no error
			if err := d.Revoke(t.Context(), ledger.By{Plugin: "web", Author: "Ann"}, rules[0].ID); err != nil {
				t.Error(err)
			}
		}
		if n := len(audited(t, s, "approval.revoke")); n != 1 {
			t.Errorf("%d entries in the audit log", n)
		}
		third := d.asking(t.Context(), of, bash("make test"))
		d.shown(pluginsdk.ApprovalOpen)
		if err := d.Over(t.Context(), of.RunID); err != nil {
			t.Fatal(err)
		}
		for _, answer := range []<-chan ledger.ToolAnswer{second, third} {
			if got := wait(t, answer); got.Allow {
				t.Errorf("a question of a run that is over was allowed")
			}
		}
		_ = elsewhere
	})
}

func audited(t *testing.T, s *store.Store, action string) (found []string) {
	t.Helper()
	entries, err := s.AuditEntries(context.Background(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Action == action {
			found = append(found, entry.Who)
		}
	}
	return found
}

// An answer that makes no sense is refused, and says what would.
func TestAnswersThatMakeNoSense(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		tool := ask(t, d, of, bash("make"))
		asked := ask(t, d, of, ledger.ToolAsk{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[
			{"question":"A?","options":[{"label":"1"},{"label":"2"}]},{"question":"B?","multiSelect":true,"options":[{"label":"3"},{"label":"4"}]}]}`)})
		for name, row := range map[string]struct {
			of      pluginsdk.Approval
			request pluginsdk.DecideApprovalRequest
			says    string
		}{
			"no choice":       {tool, pluginsdk.DecideApprovalRequest{}, "one of allow"},
			"another choice":  {tool, pluginsdk.DecideApprovalRequest{Choice: "rule:9"}, "one of allow"},
			"too many words":  {tool, pluginsdk.DecideApprovalRequest{Choice: "deny", Words: strings.Repeat("x", 1<<20)}, "bytes"},
			"no answers":      {asked, pluginsdk.DecideApprovalRequest{}, "2 questions and 0 answers"},
			"allow":           {asked, pluginsdk.DecideApprovalRequest{Choice: "allow"}, "one of deny"},
			"one of several":  {asked, pluginsdk.DecideApprovalRequest{Choice: "answer:1"}, "one of deny"},
			"an empty answer": {asked, pluginsdk.DecideApprovalRequest{Answers: []pluginsdk.QuestionAnswer{{Labels: []string{"1"}}, {}}}, "has none"},
			"two of one":      {asked, pluginsdk.DecideApprovalRequest{Answers: []pluginsdk.QuestionAnswer{{Labels: []string{"1", "2"}}, {Text: "x"}}}, "takes one"},
			"no such option":  {asked, pluginsdk.DecideApprovalRequest{Answers: []pluginsdk.QuestionAnswer{{Labels: []string{"3"}}, {Text: "x"}}}, "not an option"},
		} {
			row.request.ID = row.of.ID
			if _, err := d.Decide(t.Context(), ledger.By{Plugin: "web"}, row.request); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := d.Decide(t.Context(), ledger.By{}, pluginsdk.DecideApprovalRequest{ID: "nobody", Choice: "allow"}); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("of nothing: %v", err)
		}
		for range 2 { // the same answer of the same person is the same
			if err := d.choose(tool, "deny", "Ann"); err != nil {
				t.Error(err)
			}
		}
		if err := d.choose(tool, "deny", "Bob"); pluginsdk.CodeOf(err) != pluginsdk.CodeStale || !strings.Contains(err.Error(), "Ann") {
			t.Errorf("Bob is told %v", err)
		}
	})
}

func ask(t *testing.T, d *desk, of ledger.Asking, what ledger.ToolAsk) pluginsdk.Approval {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	d.asking(ctx, of, what)
	return d.shown(pluginsdk.ApprovalOpen)
}
