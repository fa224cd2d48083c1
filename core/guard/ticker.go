package guard

import "time"

// Ticker waits for the next whole multiple of its interval, on the clock on the wall. Tickers of
// the same interval, in all rooms, thus fire together: a process that is woken once a second for
// ten of them costs far less than one that is woken ten times.
type Ticker struct {
	every time.Duration
	timer *time.Timer
}

// NewTicker returns a ticker that was not asked yet. every is above 0.
func NewTicker(every time.Duration) *Ticker {
	timer := time.NewTimer(every)
	timer.Stop()
	return &Ticker{every: every, timer: timer}
}

// Next returns what can be received from at the next multiple. What an earlier call returned is
// of no use after it. The first may come sooner than the interval; one that would come within an eighth of
// it is left out.
func (t *Ticker) Next() <-chan time.Time {
	t.timer.Reset(t.left(time.Now()))
	return t.timer.C
}

// left returns how long it is until the next multiple. A clock that is set back a little must
// not make two of one.
func (t *Ticker) left(now time.Time) time.Duration {
	left := t.every - time.Duration(now.UnixNano()%int64(t.every))
	if left < t.every/8 {
		left += t.every
	}
	return left
}

// Stop frees the timer.
func (t *Ticker) Stop() { t.timer.Stop() }

// After returns what can be received from at the next whole multiple of every, as from a Ticker.
func After(every time.Duration) <-chan time.Time { return NewTicker(every).Next() }
