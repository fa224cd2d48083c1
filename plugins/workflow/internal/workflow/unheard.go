package workflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/plugins/workflow/internal/stages"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostFailedReviews is how many reviews of the same work may fail until a person is asked.
const mostFailedReviews = 3

// failed says what follows from a review that did not come to its end, the nth of this work. nil: another one is
// asked for at once, because this one was known before.
func (g *gate) failed(ctx context.Context, n int, started *pluginsdk.StartTurnResponse, ended *pluginsdk.WaitTurnResponse, nth int) error {
	if err := g.spend(ctx, n, started.RunID); err != nil {
		return err
	}
	why := cmp.Or(cut(ended.Error, 2<<10), string(ended.State))
	if unbegun(ended) {
		if started.Existed {
			return nil
		}
		return g.atItsLimit(ctx, pluginsdk.Errorf(pluginsdk.CodeExhausted, "the review could not begin: %s", why))
	}
	rec, err := g.read(ctx)
	if err == nil {
		err = rec.stopped()
	}
	if err != nil {
		return err
	}
	if nth >= mostFailedReviews || hopeless(ended) {
		failed := &held{-1, stages.Hold{Reason: fmt.Sprintf("its review has failed %d times: %s", nth, why), Mark: "review"}}
		return g.atItsLimit(ctx, failed)
	}
	if started.Existed {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the review is %s: %s", ended.State, why)
}

// unbegun reports whether a turn has got no place: nothing was paid for it.
func unbegun(ended *pluginsdk.WaitTurnResponse) bool {
	return ended.State != pluginsdk.RunSucceeded && ended.Result == nil && strings.HasPrefix(ended.Error, "exhausted")
}

// hopeless reports whether another turn would fail as this one has, at the same price.
func hopeless(ended *pluginsdk.WaitTurnResponse) bool {
	if ended.Result == nil || ended.Result.Failure == nil {
		return false
	}
	kind := ended.Result.Failure.Kind
	return kind == pluginsdk.FailureBudget || kind == pluginsdk.FailureTimeout || lasting(pluginsdk.Run{Result: ended.Result})
}

// atItsLimit is an error, or, where the workflow has cost what it may, that.
func (g *gate) atItsLimit(ctx context.Context, cause error) error {
	hold := new(held)
	if pluginsdk.CodeOf(cause) != pluginsdk.CodeExhausted && !errors.As(cause, &hold) {
		return cause
	}
	root, err := g.task(ctx, g.id)
	if err != nil {
		return err
	}
	if root.CostUSD >= root.CostCapUSD {
		limit := g.overBudget(-1, root)
		limit.hold.Then = ""
		return limit
	}
	return cause
}

// spend notes what a review has cost that does not count, once.
func (g *gate) spend(ctx context.Context, n int, runID string) error {
	answer, err := g.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: runID})
	if err != nil {
		return err
	}
	cost := answer.Run.CostUSD
	rec, err := g.read(ctx)
	if _, known := rec.Unheard[runID]; err != nil || known || cost == 0 {
		return err
	}
	_, err = g.change(ctx, func(r *record) error {
		if _, known := r.Unheard[runID]; known {
			return nil
		}
		if r.Unheard == nil {
			r.Unheard = make(map[string]float64)
		}
		if r.Unheard[runID] = cost; n >= 0 && n < len(r.Stages) {
			r.Stages[n].CostUSD += cost
		}
		return nil
	})
	return err
}
