package ledger

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who is denied for want of tokens reads amounts that are written as everywhere else, and that add up.
func TestAmountsOfTokensOverALimit(t *testing.T) {
	const reason = "{spent}, {set_aside}, {amount} of {limit}"
	for want, o := range map[string]OverLimit{
		"1M tokens, 0 tokens, 12.4k tokens of 1M tokens":     {SpentUSD: 1_000_000, Reservation: of(12_400, 1_000_000)},
		"990k tokens, 0 tokens, 10.04k tokens of 1M tokens":  {SpentUSD: 990_000, Reservation: of(10_040, 1_000_000)},
		"2M tokens, 0 tokens, 940 tokens of 2M tokens":       {SpentUSD: 1_999_999, Reservation: of(940, 2_000_000)},
		"500k tokens, 250k tokens, 300k tokens of 1M tokens": {SpentUSD: 500_000, ReservedUSD: 250_000, Reservation: of(300_000, 1_000_000)},
	} {
		o.Reservation.Reason = reason
		if got := o.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func of(amount, limit float64) Reservation {
	return Reservation{Reservation: pluginsdk.Reservation{AmountUSD: amount, LimitUSD: limit, Unit: pluginsdk.UnitTokens}}
}
