package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"
)

// rollers answer with what they are told to, and say when they are asked.
type rollers struct {
	asked   chan int
	answers chan error // errMore: there is more
}

var errMore = errors.New("more")

func (r rollers) RollUpUsage(ctx context.Context, most int) (bool, error) {
	select {
	case r.asked <- most:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	err := <-r.answers
	if errors.Is(err, errMore) {
		return true, nil
	}
	return false, err
}

// What is never rolled up is summed up from turns for ever, and what is rolled up in one go after an
// upgrade keeps turns waiting.
func TestUsageIsRolledUpEachHourAndInPieces(t *testing.T) {
	fake := rollers{make(chan int), make(chan error)}
	ticks, hours, waits := make(chan time.Time), make(chan time.Time), make(chan time.Duration, 10)
	r := newRollups(fake, slog.New(slog.DiscardHandler))
	r.after = func(wait time.Duration) <-chan time.Time {
		waits <- wait
		return ticks
	}
	r.hour = func() <-chan time.Time { return hours }
	starting, cancel := context.WithCancel(t.Context())
	if err := r.Start(starting); err != nil {
		t.Fatal(err)
	}
	cancel()
	now := time.Now()
	answer := func(err error) {
		t.Helper()
		if most := <-fake.asked; most != rollUpBatch {
			t.Errorf("%d at once", most)
		}
		fake.answers <- err
	}
	if wait := <-waits; wait != rollUpDelay {
		t.Errorf("begins after %s", wait)
	}
	ticks <- now
	answer(errMore)
	if wait := <-waits; wait > time.Minute { // the rest
		t.Errorf("rests for %s", wait)
	}
	ticks <- now
	answer(nil)
	hours <- now
	answer(errors.New("the database is away"))
	if wait := <-waits; wait != rollUpRetry {
		t.Errorf("tries again after %s", wait)
	}
	ticks <- now
	answer(nil)
	hours <- now // it is asked, and does not answer: Stop ends it
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
