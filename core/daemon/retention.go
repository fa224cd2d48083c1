package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/store"
)

const (
	// retentionDelay keeps the first pruning out of the way of the start.
	retentionDelay = 5 * time.Minute
	// retentionEvery is the time from one pruning to the next.
	retentionEvery = 24 * time.Hour
)

// pruner is what retention needs of the store.
type pruner interface {
	Prune(ctx context.Context, before time.Time, dry bool) (store.Pruned, error)
}

// retention deletes, once a day, what is older than the operator wants to keep.
type retention struct {
	store pruner
	days  int
	log   *slog.Logger
	now   func() time.Time
	after func(time.Duration) <-chan time.Time

	background guard.Loop
}

// newRetention makes a part that keeps so many days; 0 keeps everything.
func newRetention(store pruner, days int, log *slog.Logger) *retention {
	return &retention{store: store, days: days, log: log, now: time.Now, after: time.After}
}

// Start begins to prune, unless everything is to be kept. It works until Stop,
// whatever becomes of ctx.
func (r *retention) Start(ctx context.Context) error {
	if r.days > 0 {
		r.background.Start(ctx, r.loop)
	}
	return nil
}

// Stop ends a pruning after the transaction under way, and waits for that.
func (r *retention) Stop(context.Context) error {
	r.background.Stop()
	return nil
}

func (r *retention) loop(ctx context.Context) {
	for wait := retentionDelay; ; wait = retentionEvery {
		select {
		case <-ctx.Done():
			return
		case <-r.after(wait):
			guard.Try(r.log, "retention", func() { r.runOnce(ctx) })
		}
	}
}

// runOnce prunes what is too old now. What fails is tried again the next day.
func (r *retention) runOnce(ctx context.Context) {
	before := r.now().AddDate(0, 0, -r.days)
	done, err := r.store.Prune(ctx, before, false)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.log.Error("old rows could not be deleted", "before", before, "err", err)
	case done != store.Pruned{}:
		r.log.Info("old rows were deleted", "before", before, "activity", done.Activity, "metrics", done.Metrics,
			"deliveries", done.Deliveries, "runs", done.Runs, "context", done.Context, "files", done.Files)
	}
}
