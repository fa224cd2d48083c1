package pluginsdk_test

import (
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestAPaceIsHeldToTheEndOfItsTime(t *testing.T) {
	since := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	day, spent := since.AddDate(0, 0, 1), pluginsdk.UsageSum{CostUSD: 2}
	for _, c := range []struct {
		now  time.Time
		want float64
		ok   bool
	}{
		{since, 0, false},
		{since.Add(-time.Hour), 0, false},
		{since.Add(59 * time.Minute), 0, false},
		{since.Add(time.Hour), 48, true},
		{since.Add(6 * time.Hour), 8, true},
		{day, 2, true},
		{day.Add(time.Second), 0, false},
	} {
		if got, ok := spent.AtThisPace(since, c.now, day); got != c.want || ok != c.ok {
			t.Errorf("at %s: %v, %v; want %v, %v", c.now, got, ok, c.want, c.ok)
		}
	}
}
