package pipeline

import (
	"context"
	"fmt"
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
		RunID: t.run.ID, Account: t.account, Model: p.modelOf(t), People: ledger.ForPeople(t.run.Run, t.thread.Thread, t.fence), Last: t.run.LastParked,
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

// useFallback has the turn be of an account that is paid for, and sets aside in the day's
// limit what the turn may cost. spent says in a sentence why it is not: nothing is left.
func (p *Pipeline) useFallback(ctx context.Context, t *trip, account string) (spent string, err error) {
	limit, day := p.plan.DailyLimit(account), p.config.Now().UTC().Format(time.DateOnly)
	if limit <= 0 {
		return fmt.Sprintf("The key %s has no daily limit, so that it is no fallback.", account), nil
	}
	purse := ledger.FallbackAccount(account, day)
	used, err := p.store.Reserved(ctx, ledger.CoreAccounts, purse)
	if err != nil {
		return "", storeError("read what the fallback has cost", err)
	}
	amount := min(max(fallbackLeast, limit/fallbackPart), limit-used)
	if amount < leastAmount {
		return fallbackWords(account, limit), nil
	}
	t.account, t.fallbackCap = account, amount
	t.reserved = append(t.reserved, ledger.Reservation{
		Plugin: ledger.CoreAccounts, FromNow: true, Reservation: pluginsdk.Reservation{Account: purse, LimitUSD: limit, AmountUSD: amount},
	})
	return "", nil
}

// leastAmount is what no turn costs less than, in USD.
const leastAmount = 0.01

func fallbackWords(account string, limit float64) string {
	return fmt.Sprintf("The key %s may cost $%.2f in a day as a fallback, and what is left of that is set aside for other runs.", account, limit)
}

// fallbackSpent is the failure of a turn whose fallback pays for no more of it: others have set
// aside, at this moment, what was left, or it has come to what it may cost. The run waits for
// the plan.
func (p *Pipeline) fallbackSpent(t *trip) error {
	words := fallbackWords(t.account, p.plan.DailyLimit(t.account))
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
