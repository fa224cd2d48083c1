package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

const (
	// rollUpDelay keeps the first rolling up out of the way of the start.
	rollUpDelay = time.Minute
	// rollUpBatch is how many turns are rolled up in one transaction, which takes some 20 ms.
	rollUpBatch = 100
	// rollUpRetry is the time after which what failed is tried again.
	rollUpRetry = 5 * time.Minute
)

// roller is what rolling up needs of the store.
type roller interface {
	RollUpUsage(ctx context.Context, most int) (more bool, err error)
}

// rollups keep the sums of usage, by which it is read: soon after each hour has ended its turns are
// added, and after a start what was not.
type rollups struct {
	store roller
	log   *slog.Logger
	after func(time.Duration) <-chan time.Time // at the least so much later
	hour  func() <-chan time.Time              // at the next full hour

	background guard.Loop
}

func newRollups(store roller, log *slog.Logger) *rollups {
	return &rollups{store: store, log: log, after: time.After, hour: func() <-chan time.Time { return guard.After(time.Hour) }}
}

// Start begins to roll up. It works until Stop, whatever becomes of ctx.
func (r *rollups) Start(ctx context.Context) error {
	r.background.Start(ctx, r.loop)
	return nil
}

// Stop ends after the transaction under way, and waits for that.
func (r *rollups) Stop(context.Context) error {
	r.background.Stop()
	return nil
}

func (r *rollups) loop(ctx context.Context) {
	for next := r.after(rollUpDelay); ; {
		select {
		case <-ctx.Done():
			return
		case <-next:
		}
		next = r.hour()
		err := guard.Call(r.log, "roll up usage", func() error { return r.runOnce(ctx) })
		if err != nil && ctx.Err() == nil {
			r.log.Warn("usage cannot be rolled up now; it is summed up from the turns until it can", "err", err)
			next = r.after(rollUpRetry)
		}
	}
}

// runOnce rolls up all that there is, and rests after each transaction for as long as that took: a
// turn that commits waits for one of them at most.
func (r *rollups) runOnce(ctx context.Context) error {
	for {
		began := time.Now()
		more, err := r.store.RollUpUsage(ctx, rollUpBatch)
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.after(time.Since(began)):
		}
	}
}
