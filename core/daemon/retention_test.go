package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/store"
)

// pruners records what it is asked for.
type pruners struct {
	asked chan time.Time
	err   error
}

func (p pruners) Prune(ctx context.Context, before time.Time, _ bool) (store.Pruned, error) {
	select {
	case p.asked <- before:
	case <-ctx.Done():
	}
	return store.Pruned{Metrics: 1}, p.err
}

// Rows that are kept too long fill the disk; rows that go too early are lost.
func TestRetentionPrunesEveryDay(t *testing.T) {
	fake := pruners{asked: make(chan time.Time), err: errors.New("the database is away")}
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	ticks, waits := make(chan time.Time), make(chan time.Duration, 10)
	r := newRetention(fake, 30, slog.New(slog.DiscardHandler))
	r.now = func() time.Time { return now }
	r.after = func(wait time.Duration) <-chan time.Time {
		waits <- wait
		return ticks
	}
	starting, cancel := context.WithCancel(t.Context())
	if err := r.Start(starting); err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, want := range []time.Duration{retentionDelay, retentionEvery, retentionEvery} {
		if wait := <-waits; wait != want {
			t.Errorf("waits %s, want %s", wait, want)
		}
		ticks <- now
		if before := <-fake.asked; !before.Equal(now.AddDate(0, 0, -30)) {
			t.Errorf("pruned before %s", before)
		}
	}
	<-waits
	ticks <- now // a pruning is under way: Stop ends it
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRetentionOfZeroKeepsEverything(t *testing.T) {
	r := newRetention(nil, 0, slog.New(slog.DiscardHandler))
	r.after = func(time.Duration) <-chan time.Time {
		t.Error("it waits to prune")
		return nil
	}
	if err := r.Stop(t.Context()); err != nil { // never started
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
