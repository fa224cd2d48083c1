package rest

import (
	"net/http"
	"testing"
	"time"
)

// An answer that is on its way for longer than the window tells of a window that began when
// Discord had the request, which is later than it was made. Another request before that answer
// would be one too many, of which the bot is told.
func TestARequestUnderWayCountsInTheNextWindowToo(t *testing.T) {
	r := at(http.MethodPut, "/channels/{channel}/messages/{message}/reactions/{emoji}/@me", "1", "2", "x")
	l, clock := newLimits(), time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	told := func(remaining string) http.Header {
		return http.Header{
			"X-Ratelimit-Bucket": {"react"}, "X-Ratelimit-Limit": {"1"}, "X-Ratelimit-Remaining": {remaining}, "X-Ratelimit-Reset-After": {"0.250"},
		}
	}
	take := func() *bucket {
		taken, _ := l.take(r, clock)
		return taken
	}
	l.settle(take(), r, told("0"), clock)
	clock = clock.Add(250 * time.Millisecond)
	first := take()
	if first == nil {
		t.Fatal("the window is over, and nothing may be asked")
	}
	for range 4 { // a second
		clock = clock.Add(250 * time.Millisecond)
		if take() != nil {
			t.Fatal("a request was made before the answer to the one before it")
		}
	}
	l.settle(first, r, told("0"), clock) // Discord had it just now
	if clock = clock.Add(249 * time.Millisecond); take() != nil {
		t.Error("a request was made before the window that the answer has told of was over")
	}
	if clock = clock.Add(time.Millisecond); take() == nil {
		t.Error("the window is over, and nothing may be asked")
	}
}
