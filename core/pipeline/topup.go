package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// topUpPatience is how long a turn that has come to its cap waits for more money to be set
// aside. The agent goes on meanwhile, so it is not long.
const topUpPatience = 5 * time.Second

// capAtRest has the turn's cap be what 5a has set aside with CapAtRest, if that is less than it
// has already.
func (t *trip) capAtRest() {
	t.atRest, t.opened, t.over, t.capFixed = nil, nil, nil, t.capLeft
	for i := range t.reserved {
		one := &t.reserved[i]
		if one.Opens() {
			one.Again = true // a further exchange of the attempt begins only if this one has cost nothing
			t.opened = append(t.opened, *one)
		}
		if one.CapAtRest {
			t.capLeft = lower(t.capLeft, one.AmountUSD)
			t.atRest = append(t.atRest, *one)
		}
	}
}

// leastRest is with how much a turn begins at least, in USD, when there is not as much left as its gate asks for.
const leastRest = 0.05

// leastRestTokens is the same in tokens: a turn of the agent reads as many before it says a word.
const leastRestTokens = 10_000

// restOf is with how much a turn begins at least, in the unit of the reservation.
func restOf(one ledger.Reservation) float64 {
	if one.Unit == pluginsdk.UnitTokens {
		return leastRestTokens
	}
	return leastRest
}

// takeRest has a reservation that the turn may go above, or is topped up anyway, ask for what is left of its limit, and
// reports whether there is enough of that to begin with.
func (t *trip) takeRest(over *ledger.OverLimit) bool {
	of := over.Reservation
	rest := of.LimitUSD - over.SpentUSD - over.ReservedUSD
	i := slices.IndexFunc(t.reserved, func(one ledger.Reservation) bool { return one.Plugin == of.Plugin && one.Account == of.Account })
	if i < 0 || !of.Opens() || rest < restOf(of) || rest >= t.reserved[i].AmountUSD {
		return false
	}
	t.reserved[i].AmountUSD = rest
	return true
}

// topUp sets more aside for the turn, which has come to its cap, and raises the cap. While the
// database does not answer, nothing is set aside, and the turn ends.
func (p *Pipeline) topUp(ctx context.Context, t *trip) {
	if t.capFixed > 0 && t.capLeft >= t.capFixed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, topUpPatience)
	defer cancel()
	more, err := p.store.TopUp(ctx, t.fence, t.run.ID, slices.Clone(t.atRest))
	var over *ledger.OverLimit
	switch {
	case errors.As(err, &over):
		t.over = over
	case err != nil:
		p.config.Log.Warn("no more money can be set aside for a turn, which ends at its cap", "run", t.run.ID, "err", err)
	default:
		t.capLeft = lower(t.capFixed, t.capLeft+more)
	}
}
