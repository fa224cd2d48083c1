package pluginsdk

import "time"

// AtThisPace returns what the dollars of a time, from since to until, come to if the rest of it costs
// as much as what has gone by now. ok is false while less than a 24th of it has gone: that says
// nothing yet.
func (u UsageSum) AtThisPace(since, now, until time.Time) (costUSD float64, ok bool) {
	gone, whole := now.Sub(since), until.Sub(since)
	if gone < whole/24 || gone <= 0 || gone > whole {
		return 0, false
	}
	return u.CostUSD * float64(whole) / float64(gone), true
}
