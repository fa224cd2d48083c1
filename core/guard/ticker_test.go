package guard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
)

func TestTickersFireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, begun := range []time.Duration{0, 300 * time.Millisecond, 450 * time.Millisecond} {
			<-time.After(begun) // of the bubble's clock
			ticker := guard.NewTicker(time.Second)
			defer ticker.Stop()
			<-ticker.Next()
			now := time.Now()
			if left := now.UnixNano() % int64(time.Second); left != 0 {
				t.Errorf("a ticker fires %d ns after a whole second", left)
			}
			<-ticker.Next()
			if passed := time.Since(now); passed != time.Second {
				t.Errorf("the next tick comes after %s", passed)
			}
		}
	})
}

// A tick that comes a little early, as after the clock was set back, is not followed by another at once.
func TestNoTickFollowsAnotherAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ticker := guard.NewTicker(time.Second)
		defer ticker.Stop()
		<-ticker.Next()
		<-time.After(999 * time.Millisecond)
		before := time.Now()
		<-ticker.Next()
		if passed := time.Since(before); passed != 1001*time.Millisecond {
			t.Errorf("the next tick comes after %s", passed)
		}
	})
}
