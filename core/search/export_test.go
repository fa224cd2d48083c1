package search

import "context"

// Begin and StepBesideTurns are what the indexer's loop does.

func (r *Room) Begin(ctx context.Context) error { return r.begin(ctx) }

func (r *Room) StepBesideTurns(ctx context.Context) (more bool, err error) {
	return r.step(ctx, besideTurns)
}
