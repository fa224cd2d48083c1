package tally

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator finds the slow call by its quantiles: they are of the latest calls, and
// old ones must not hide what has become slow.
func TestFiguresAreOfTheLatestCalls(t *testing.T) {
	var c Calls
	if got := c.Figures(); got != (pluginsdk.CallFigures{}) {
		t.Errorf("nothing was called: %+v", got)
	}
	for range 1000 {
		c.Record(time.Hour, nil)
	}
	for n := range recentCalls {
		c.Record(time.Duration(n+1)*time.Millisecond, nil)
	}
	c.Record(time.Millisecond, errors.New("no"))
	c.Record(time.Millisecond, pluginsdk.Errorf(pluginsdk.CodeDeadline, "late"))
	got := c.Figures()
	if got.Calls != 1000+recentCalls+2 || got.Errors != 2 || got.Timeouts != 1 {
		t.Errorf("counted %+v", got)
	}
	if got.P50 < 250*time.Millisecond || got.P50 > 260*time.Millisecond || got.P99 < 500*time.Millisecond || got.P99 > 512*time.Millisecond {
		t.Errorf("quantiles %s, %s", got.P50, got.P99)
	}
}
