package approvals

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A question that the agent takes back is over at once, and nobody can answer it.
func TestAQuestionIsTakenBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		ctx, withdraw := context.WithCancelCause(t.Context())
		answer := d.asking(ctx, d.begin(nil), bash("make"))
		approval := d.shown(pluginsdk.ApprovalOpen)
		withdraw(ledger.ErrWithdrawn)
		wait(t, answer)
		d.shown(pluginsdk.ApprovalWithdrawn)
		if err := d.choose(approval, "allow", "Ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeStale || !strings.Contains(err.Error(), "taken back") {
			t.Errorf("answered too late: %v", err)
		}
	})
}

// A turn that nobody answers for long is parked, and its question stays.
func TestATurnThatNobodyAnswersIsParked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{ParkAfter: time.Millisecond})
		answer := d.asking(t.Context(), d.begin(nil), bash("make"))
		approval := d.shown(pluginsdk.ApprovalOpen)
		if got := wait(t, answer); !got.Park || !got.Asked || got.Allow {
			t.Errorf("answered %+v", got)
		}
		if err := d.choose(approval, "allow", "Ann"); err != nil {
			t.Error(err)
		}
	})
}

// An answer that comes when nobody takes it any more is kept, and given once: the next
// attempt is told of it as long as it was not, and who asks a third time asks people, who
// read that it may have been done.
func TestAnAnswerThatNobodyTakesIsKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{})
		of := d.begin(nil)
		ctx, cancel := context.WithCancel(t.Context())
		d.back = cancel // the turn ends as the answer is there
		answer := d.asking(ctx, of, bash("make"))
		if err := d.choose(d.shown(pluginsdk.ApprovalOpen), "allow", "Ann"); err != nil {
			t.Fatal(err)
		}
		if got := wait(t, answer); got.Allow {
			t.Error("a turn that has ended was given leave")
		}
		if kept := d.shown(pluginsdk.ApprovalAllowed); !kept.SpentAt.IsZero() {
			t.Error("the answer is spent, and nobody has it")
		}
		if words, err := d.Answered(t.Context(), of.RunID); err != nil || !strings.Contains(words, "Ann allowed it: make exactly the same call again") {
			t.Errorf("the next attempt is told %q, %v", words, err)
		}
		if got := d.Ask(t.Context(), of, bash("make")); !got.Allow || len(d.events) > 0 {
			t.Errorf("the same call is answered %+v", got)
		}
		if words, err := d.Answered(t.Context(), of.RunID); err != nil || words != "" {
			t.Errorf("the attempt after that is told %q, %v", words, err)
		}
		if again := ask(t, d, of, bash("make")); !strings.Contains(again.Note, "may already have been done") {
			t.Errorf("people are told %q", again.Note)
		}
	})
}

// crowded is a store in which a run has so many questions open.
type crowded struct {
	*store.Store
	open int
}

func (c *crowded) Approvals(context.Context, pluginsdk.ApprovalQuery) ([]ledger.Approval, error) {
	all := make([]ledger.Approval, c.open)
	for n := range all {
		all[n].State = pluginsdk.ApprovalOpen
	}
	return all, nil
}

// An agent that asks without end is told to wait, and people have no more to read.
func TestQuestionsAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newDesk(t, s, Config{ParkAfter: time.Millisecond})
		of := d.begin(nil)
		d.Store = &crowded{s, maxOpen - 1}
		if got := d.Ask(t.Context(), of, bash("make")); !got.Park {
			t.Errorf("the last one is answered %+v", got)
		}
		d.shown(pluginsdk.ApprovalOpen)
		d.Store = &crowded{s, maxOpen}
		if got := d.Ask(t.Context(), of, bash("make")); got.Allow || got.Park || !strings.Contains(got.Words, "open already") || len(d.events) > 0 {
			t.Errorf("one more is answered %+v", got)
		}
	})
}
