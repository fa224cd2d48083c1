package pipeline

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a gate does not let through now waits in its queue if the gate says so (pluginsdk.Wait): the
// inbox parks it, as it parks a run for a plan.

// waitBytes bounds the name of what a run waits for.
const waitBytes = 100

// waitable refuses a wait that makes no sense.
func waitable(wait *pluginsdk.Wait) error {
	if wait == nil {
		return nil
	}
	if len(wait.For) > waitBytes || strings.ContainsRune(wait.For, 0) || !utf8.ValidString(wait.For) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "what the run is to wait for is no text of at most %d bytes", waitBytes)
	}
	if year := wait.Until.UTC().Year(); !wait.Until.IsZero() && (year < 1970 || year > 9999) {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "the run is to wait until the year %d, which is not one of 1970 to 9999; leave it out when nobody knows", year)
	}
	return nil
}

// waits is the failure with which the run is parked that a plugin's gate does not let through now.
func (t *trip) waits(plugin, reason string, wait pluginsdk.Wait) *ledger.NoRoom {
	reason = cutAt(reason, 2*reasonBytes) // a plugin's words, with the amounts in them
	return &ledger.NoRoom{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: reason, Retryable: true, Parked: &pluginsdk.Parked{
		Reason: reason, Account: t.account, Plugin: plugin, Budget: wait.For, Until: wait.Until,
	}}}
}

// waitsFor is waits for a reservation for which there is not enough left.
func (t *trip) waitsFor(over *ledger.OverLimit) error {
	one, reason := over.Reservation, over.Error()
	soon := over.SpentUSD+leastOf(one) <= one.LimitUSD
	if soon {
		reason = over.AtWork()
	}
	none := t.waits(one.Plugin, reason, *one.Wait)
	none.Soon, none.Account = soon, one.Account
	return none
}

// leastOf is with how much of a reservation a turn begins at least, in its unit.
func leastOf(one ledger.Reservation) float64 {
	if one.Opens() {
		return min(one.AmountUSD, restOf(one))
	}
	return one.AmountUSD
}

// mayBegin is step 1's gate. A run that has waited for a gate before is put back at once while one of
// its accounts has no room: the hooks of the steps to come are not asked each time that it is
// tried.
func (p *Pipeline) mayBegin(ctx context.Context, t *trip) error {
	if err := p.beforeRun(ctx, t); err != nil {
		return err
	}
	if last := t.run.LastParked; last == nil || last.Plugin == "" {
		return nil
	}
	for _, one := range t.reserved {
		if one.Wait == nil || one.LimitUSD == 0 {
			continue
		}
		spent, reserved, err := p.store.Room(ctx, t.run.ID, one)
		if err != nil {
			return storeError("read what is left of a budget", err)
		}
		if spent+reserved+leastOf(one) > one.LimitUSD+1e-9 {
			return t.waitsFor(&ledger.OverLimit{Reservation: one, SpentUSD: spent, ReservedUSD: reserved})
		}
	}
	return nil
}

// frees says in which accounts the end of the attempt makes room. An attempt that has set nothing aside makes none;
// what an earlier one has set aside is not known here. What it has set aside stays while the run is parked for want of room:
// such an attempt frees nothing, or it would wake itself.
func (t *trip) frees(err error) (freed ledger.Freed) {
	var none *ledger.NoRoom
	if t.run.Kind == pluginsdk.RunCommand || errors.As(err, &none) && !t.setAside {
		return freed
	}
	freed.Unsure = t.run.Attempt > 1 || t.run.Step != pluginsdk.StepAccepted
	if t.setAside {
		for _, one := range t.reserved {
			freed.Accounts = append(freed.Accounts, ledger.AccountRef{Plugin: one.Plugin, Account: one.Account})
		}
	}
	return freed
}
