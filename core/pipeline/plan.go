package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// admit decides of which account the turn is, and whether that one's plan lets it through, as
// far as that is known; a person's word goes before what is known. If not, it returns the
// FailurePlan with which the run is parked. A thread whose session is of another account gets a
// new session.
func (p *Pipeline) admit(ctx context.Context, t *trip) error {
	t.account = p.plan.Account(t.thread.Account)
	switch override := t.run.Override; {
	case override == nil:
		if err := p.parkedBy(t, ""); err != nil {
			return err
		}
	case override.Account != "":
		spent, err := p.useFallback(ctx, t, override.Account)
		if err == nil && spent != "" {
			err = p.parkedBy(t, spent)
		}
		if err != nil {
			return err
		}
	default: // a person has said that it is to be tried
	}
	if t.sessionID == "" || t.thread.SessionAccount == "" || t.thread.SessionAccount == t.account || t.fence.Beside() {
		return nil
	}
	if err := p.store.DropSession(ctx, t.fence, t.run.ID); err != nil {
		return storeError("drop the session of another account", err)
	}
	t.sayAccount()
	t.dropSession()
	t.sessionDropped = false // the agent has not said that it does not know it
	return nil
}

// sayAccount has a row of the thread say that another account is used from now on.
func (t *trip) sayAccount() {
	row := statusRow("account_changed", fmt.Sprintf("This thread now uses the account %s: a new session with its history.", t.account))
	row.Source = ledger.CoreAccounts
	t.pending.add([]ledger.Effect{{Key: "account:" + t.account, Rows: []pluginsdk.NewMessage{row}}})
}

// askOf is the turn as the plan is asked about it.
func (p *Pipeline) askOf(t *trip) ledger.PlanAsk {
	return ledger.PlanAsk{
		Account: t.account, Model: p.modelOf(t), People: ledger.ForPeople(t.run.Run, t.thread.Thread, t.fence), Last: t.run.LastParked,
	}
}

// parkedBy returns the FailurePlan of a turn that the plan does not let through; nil: it does.
// why says what else stands in its way, in a sentence; empty: nothing.
func (p *Pipeline) parkedBy(t *trip, why string) error {
	parked := p.plan.Admit(p.askOf(t))
	if parked == nil {
		return nil
	}
	if why != "" {
		parked.Reason = why + " " + parked.Reason
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailurePlan, Message: parked.Reason, Retryable: true, Parked: parked}
}

// fallbackLeast is what a run may cost as one of a fallback, in USD, and fallbackPart the part
// of the day's limit that it may cost when that is more.
const (
	fallbackLeast = 1
	fallbackPart  = 4
)

// useFallback has the turn be of an account that is paid for. spent says in a sentence why it
// is not: nothing is left of the day's limit.
func (p *Pipeline) useFallback(ctx context.Context, t *trip, account string) (spent string, err error) {
	limit := p.plan.DailyLimit(account)
	if limit <= 0 {
		return fmt.Sprintf("The API key %q has no daily limit, so it cannot be used as a fallback.", account), nil
	}
	one, err := p.fromFallback(ctx, account)
	if err != nil {
		return "", err
	}
	if one.AmountUSD < leastAmount {
		return fallbackWords(account, limit), nil
	}
	t.account, t.fallback = account, true
	return "", nil
}

// fromFallback is what an attempt that begins now may cost as one of a fallback, in the limit
// of the present day.
func (p *Pipeline) fromFallback(ctx context.Context, account string) (ledger.Reservation, error) {
	limit, day := p.plan.DailyLimit(account), p.config.Now().UTC().Format(time.DateOnly)
	one := ledger.Reservation{
		Plugin: ledger.CoreAccounts, Reservation: pluginsdk.Reservation{Account: ledger.FallbackAccount(account, day), LimitUSD: limit},
	}
	used, err := p.store.Reserved(ctx, one.Plugin, one.Account)
	if err != nil {
		return one, storeError("read what the fallback has cost", err)
	}
	one.AmountUSD = min(max(fallbackLeast, limit/fallbackPart), limit-used)
	return one, nil
}

// setAside has step 5a set aside what the turn may cost as one of a fallback. It is asked right
// before 5a: the hooks may have taken until after midnight, and others may have spent meanwhile.
func (p *Pipeline) setAside(ctx context.Context, t *trip) error {
	if !t.fallback {
		return nil
	}
	if i := slices.IndexFunc(t.reserved, ofFallback); i >= 0 {
		t.reserved[i].Again = true // the agent did not know the session, and has done nothing
	} else {
		one, err := p.fromFallback(ctx, t.account)
		if err != nil {
			return err
		}
		if one.AmountUSD < leastAmount { // also when the limit was taken away
			return p.fallbackSpent(t, fallbackWords(t.account, one.LimitUSD))
		}
		t.reserved, t.fallbackCap = append(t.reserved, one), one.AmountUSD
	}
	t.capLeft = lower(t.capLeft, t.fallbackCap)
	return nil
}

func ofFallback(one ledger.Reservation) bool { return one.Plugin == ledger.CoreAccounts }

// purse returns the account in which was set aside what the turn may cost as one of a
// fallback; empty: it is none.
func (t *trip) purse() string {
	if i := slices.IndexFunc(t.reserved, ofFallback); i >= 0 {
		return t.reserved[i].Account
	}
	return ""
}

// leastAmount is what no turn costs less than, in USD.
const leastAmount = 0.01

func fallbackWords(account string, limit float64) string {
	return fmt.Sprintf("The API key %q has reached its daily limit as a fallback: all of the $%.2f is spent, or reserved for turns that are still running.", account, limit)
}

// fallbackSpent is the failure of a turn whose fallback pays for no more of it, as the words
// say. The run waits for the plan.
func (p *Pipeline) fallbackSpent(t *trip, words string) error {
	t.account = p.plan.Account(t.thread.Account)
	if parked := p.parkedBy(t, words); parked != nil {
		return parked
	}
	parked := pluginsdk.Parked{Reason: words, Account: t.account}
	if last := t.run.LastParked; last != nil {
		parked.Window, parked.Model = last.Window, last.Model
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailurePlan, Message: words, Retryable: true, Parked: &parked}
}
