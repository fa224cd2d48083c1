package search

import (
	"context"

	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Figures returns how far the index is behind what was said.
func (r *Room) Figures(ctx context.Context) ([]pluginsdk.Figure, error) {
	mark, err := r.mark(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := r.store.NewestMessage(ctx)
	if err != nil {
		return nil, err
	}
	return []pluginsdk.Figure{tally.Gauge("harness_search_index_lag_messages",
		"Messages that are not in the index yet, by their ids; of more than 10000 a search reads the newest.", float64(max(newest-mark.MessageID, 0)))}, nil
}
