package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnCheck says whether budgets hold, and which are used up.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	known, now := p.known.Load(), p.now()
	if kept := p.checked.Load(); kept != nil && kept.known == known && now.Before(kept.until) && !p.begun.open() {
		return &pluginsdk.OnCheckResponse{Checks: kept.checks, Figures: kept.figures}, nil
	}
	checks := known.check()
	used, told, err := p.usedUp(ctx, known)
	if err != nil {
		return nil, err
	}
	checks = append(checks, used...)
	if spikes := p.spikes.Load(); spikes != nil {
		for _, one := range *spikes {
			checks = append(checks, pluginsdk.Check{Name: "spending", State: pluginsdk.CheckWarning, Detail: one.words(), Remedy: "`harness usage --since 24h` shows it; a budget bounds it: `harness budget set`"})
		}
	}
	if len(checks) == 0 {
		checks = append(checks, pluginsdk.Check{Name: "budgets", State: pluginsdk.CheckOK, Detail: fmt.Sprintf("%d, none of them used up", len(known.ledger.Budgets))})
	}
	_, until := Day.span(now, p.settings.Load().zone)
	p.checked.Store(&checked{known, until, checks, told})
	return &pluginsdk.OnCheckResponse{Checks: checks, Figures: told}, nil
}

// checked is what was found. It holds until the budgets are read anew, which is a minute after a
// turn, and until the day is over: who is asked every minute of an idle day reads nothing.
type checked struct {
	known   *known
	until   time.Time
	checks  []pluginsdk.Check
	figures []pluginsdk.Figure
}

// check says whether budgets hold.
func (known *known) check() (checks []pluginsdk.Check) {
	switch {
	case known.broken != nil:
		checks = append(checks, pluginsdk.Check{
			Name: "budgets", State: pluginsdk.CheckFailing, Detail: fmt.Sprintf("what is stored of them cannot be read (%v); %s hold until it can", known.broken, standard().Budgets[0].words()),
			Remedy: "restore a backup, or remove the key budgets of the plugin metrics from plugin_state and set them anew",
		})
	case len(known.ledger.Budgets) == 0:
		checks = append(checks, pluginsdk.Check{
			Name: "budgets", State: pluginsdk.CheckWarning, Detail: "there are none: nothing bounds what the agent costs", Remedy: "`harness budget set daily 25 day`",
		})
	case !known.ledger.Confirmed:
		checks = append(checks, pluginsdk.Check{
			Name: "budgets", State: pluginsdk.CheckWarning, Detail: "nobody has confirmed one yet, so people are told when one is passed, and nothing is stopped", Remedy: "`harness budget confirm`, or set one: `harness budget set daily 25 day`",
		})
	}
	return checks
}

// usedUp names the budgets that are used up, and by whom those are that each has for itself. It returns how those stand
// that have one account.
func (p *Plugin) usedUp(ctx context.Context, known *known) (checks []pluginsdk.Check, told []pluginsdk.Figure, err error) {
	stand := make(figures)
	for _, b := range known.holds() {
		account, ends := b.own(p.now(), p.settings.Load().zone)
		var by string // what was spent
		switch {
		case b.Share > 0:
			stand.share(known, b, p.now())
		case account == "":
			_, usedUp, err := p.spenders(ctx, known, b)
			if err != nil {
				return nil, nil, err
			}
			if len(usedUp) > 0 {
				by = "spent by " + listed(b, usedUp, len(usedUp))
			}
		default:
			stands, err := p.stands(ctx, account)
			if err != nil {
				return nil, nil, err
			}
			stand.spent(b, stands.SpentUSD)
			if stands.SpentUSD >= b.limit() {
				by = b.say(stands.SpentUSD) + " are spent"
			}
		}
		if by == "" {
			continue
		}
		detail := fmt.Sprintf("%s of %s%s", by, b.words(), anew(ends))
		if !b.Soft {
			detail += "; what people write waits for it, and what else it counts is denied"
		}
		checks = append(checks, pluginsdk.Check{
			Name: "budget " + b.Name, State: pluginsdk.CheckWarning, Detail: detail,
			Remedy: fmt.Sprintf("wait, or raise it: `harness budget set %s %s`", b.Name, more(b)),
		})
	}
	return checks, stand.all(), nil
}
