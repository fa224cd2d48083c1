package workflow

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/brain"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A review that fails is asked for a few times, and one that would fail again once; then a person is
// asked, and what was paid is noted.
func TestReviewsThatFailAreLeftToAPerson(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stages                   string
		scope                    string // whose reviews fail
		kind                     pluginsdk.FailureKind
		paid                     int
		options, waits, mark, on string
	}{
		"alone":                {stages: "reviewer", kind: pluginsdk.FailureOther, paid: 3, waits: "its review has failed 3 times", mark: "review"},
		"alone, at its cap":    {stages: "reviewer", kind: pluginsdk.FailureBudget, paid: 1, waits: "its review has failed 1 times", mark: "review"},
		"at the cost limit":    {stages: "reviewer", kind: pluginsdk.FailureBudget, paid: 1, options: " cost=2", waits: "of the $2.00 that it may", mark: "cost", on: " cost=100"},
		"of a batch":           {stages: "builder,reviewer", kind: pluginsdk.FailureOther, paid: 3, waits: "its review has failed 3 times", mark: "review"},
		"of a batch, too long": {stages: "builder,reviewer", kind: pluginsdk.FailureTimeout, paid: 1, waits: "its review has failed 1 times", mark: "review"},
		"the last":             {stages: "architect,builder,reviewer", scope: "all", options: " batch=1", kind: pluginsdk.FailureBudget, paid: 1, waits: "the last review: its review has failed 1 times", mark: "review"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(w.dir, "y.go", "package y\n")
			if row.scope == "" {
				w.works = w.changes
			}
			failures := 0
			w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
				if r.Purpose != "workflow-review" || row.scope != "" && w.scopeOf(r) != row.scope {
					return nil
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if failures++; failures > row.paid {
					return nil
				}
				return &pluginsdk.InvokeResult{CostUSD: 3, Failure: &pluginsdk.Failure{Kind: row.kind, Message: "no luck"}}
			}
			id := w.starts("dir=" + w.dir + " stages=" + row.stages + row.options)
			if why := w.waits(id); !strings.Contains(why, row.waits) {
				t.Errorf("it waits: %s", why)
			}
			if marks := w.task(id).Marks; len(marks) != 1 || marks[0] != row.mark {
				t.Errorf("its marks are %q", marks)
			}
			rec := w.record(id)
			if cost := rec.verifying(); cost < 3*float64(row.paid) || cost > 3*float64(row.paid)+1 {
				t.Errorf("reviews have cost $%.2f", cost)
			}
			told := len(w.told())
			w.must("/workflow continue " + id + row.on)
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
				t.Errorf("it is %s: %s", task.Status, task.Error)
			}
			if more := len(w.told()) - told; more != 0 {
				t.Errorf("its workers were told %d things more", more)
			}
		})
	}
}

// A lock that a process holds which is ending is waited for; one that is held for longer is a person's to see to.
func TestALockThatIsHeld(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]bool{"for a while": true, "for good": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other, err := brain.Open(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
			release, err := other.Lock("other")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(release)
			id := w.starts("dir=" + w.dir + " stages=scout")
			if given {
				w.until("the lock to be tried", func() bool { return w.record(id).Iteration > 0 })
				release()
			} else if why := w.waits(id); !strings.Contains(why, "is in use by workflow other") {
				t.Errorf("it waits: %s", why)
			} else {
				release()
				w.must("/workflow continue " + id)
			}
			if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
				t.Errorf("it is %s: %s", task.Status, task.Error)
			}
		})
	}
}

// A review that is at work when the plugin dies is waited for in the next life, and so is what a review
// before it in the same round has said.
func TestReviewsOfALifeBeforeCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(w *world) { w.works = w.changes })
	asked := make(map[string]bool)
	w.turns = func(r pluginsdk.StartTurnRequest) *pluginsdk.InvokeResult {
		if r.Purpose != "workflow-review" {
			return nil
		}
		w.mu.Lock()
		asked[r.Key] = true
		nth := len(asked)
		w.mu.Unlock()
		if nth > 2 {
			return nil
		}
		if nth == 2 {
			w.kill(w.now())
			w.begin()
		}
		said := verdictOf("APPROVE", nil)
		said.Demo = false // it has opened nothing
		return said
	}
	id := w.starts("dir=" + w.dir + " stages=builder,reviewer")
	if task := w.ends(id); task.Status != pluginsdk.TaskCompleted {
		t.Errorf("it is %s: %s", task.Status, task.Error)
	}
	if len(asked) != 3 || len(w.told()) != 2 {
		t.Errorf("asked for %v, and told %q", asked, w.told())
	}
	s := w.record(id).Stages[1]
	if len(s.Verdicts) != 2 || s.Verdicts[0].Decision != "REVISE" || s.CostUSD < 0.0299 || s.CostUSD > 0.0301 {
		t.Errorf("%d verdicts for $%.3f", len(s.Verdicts), s.CostUSD)
	}
}
