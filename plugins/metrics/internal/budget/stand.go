package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// standing is how a budget stands in its present window, in its unit.
type standing struct {
	pluginsdk.BudgetAccount

	notional float64   // what of the dollars that are spent is of turns on a plan: nobody is billed that
	most     []spender // of a budget for each: those that have spent the most
	usedUp   []spender // of a budget for each: those that have used it up
}

// spender is one of those that each have a budget for themselves.
type spender struct {
	Of          string  `json:"of"`             // the thread, the schedule, the plugin or the account
	Name        string  `json:"name,omitempty"` // of a thread; empty: it has none
	SpentUSD    float64 `json:"spentUsd"`       // tokens, of a budget in tokens
	SetAsideUSD float64 `json:"setAsideUsd"`
	NotionalUSD float64 `json:"notionalUsd,omitempty"`
}

// title is how people call the spender.
func (s spender) title() string { return brief(cmp.Or(s.Name, s.Of)) }

// brief cuts a name to what a sentence can hold, without line breaks.
func brief(name string) string { return fmt.Sprintf("%.60s", strings.Join(strings.Fields(name), " ")) }

const (
	// mostSpenders is how many of those that each have a budget are told.
	mostSpenders = 3
	// askedSpenders is of how many of them the accounts are read, those that have cost the most by the usage. Of the
	// others what the usage says holds.
	askedSpenders = 10
)

// standOf returns how a budget stands. It reads the usage of a budget for each and of one that counts turns of plans, so
// it is not for the gate.
func (p *Plugin) standOf(ctx context.Context, k *known, b Budget) (stand standing, err error) {
	if b.Share > 0 {
		return stand, nil
	}
	if b.Scope.Of == each {
		stand.most, stand.usedUp, err = p.spenders(ctx, k, b)
		return stand, err
	}
	account, _ := b.own(p.now(), p.settings.Load().zone)
	if stand.BudgetAccount, err = p.stands(ctx, account); err != nil {
		return stand, err
	}
	if b.USD > 0 && b.Scope.Kind != Billed && stand.SpentUSD > 0 {
		var spent map[string]spending
		spent, err = p.spentByAccount(ctx, k, b)
		stand.notional = min(spent[account].notional, stand.SpentUSD)
	}
	return stand, err
}

// spenders returns who has spent the most of a budget for each, the first mostSpenders, and all that have used it up.
func (p *Plugin) spenders(ctx context.Context, k *known, b Budget) (top, usedUp []spender, err error) {
	spent, err := p.spentByAccount(ctx, k, b)
	if err != nil {
		return nil, nil, err
	}
	accounts := make([]string, 0, len(spent))
	for account := range spent {
		accounts = append(accounts, account)
	}
	slices.SortFunc(accounts, func(a, b string) int {
		return cmp.Or(cmp.Compare(spent[b].amount, spent[a].amount), cmp.Compare(a, b))
	})
	all := make([]spender, 0, len(accounts))
	for i, account := range accounts {
		of := spent[account]
		one := spender{Of: of.of, Name: of.name, SpentUSD: of.amount, NotionalUSD: of.notional}
		if i < askedSpenders {
			stands, err := p.stands(ctx, account)
			if err != nil {
				return nil, nil, err
			}
			one.SpentUSD, one.SetAsideUSD = stands.SpentUSD, stands.SetAsideUSD
			one.NotionalUSD = min(of.notional, stands.SpentUSD)
		}
		if one.SpentUSD > 0 {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b spender) int { return cmp.Compare(b.SpentUSD, a.SpentUSD) })
	for _, one := range all {
		if one.SpentUSD >= b.limit() {
			usedUp = append(usedUp, one)
		}
	}
	return all[:min(mostSpenders, len(all))], usedUp, nil
}

// words says how the budget stands, for people.
func (stand standing) words(b Budget) string {
	switch {
	case b.Share > 0:
		return ""
	case b.Scope.Of != each:
		return fmt.Sprintf("; %s spent%s, %s set aside", b.say(stand.SpentUSD), notional(stand.SpentUSD, stand.notional), b.say(stand.SetAsideUSD))
	case len(stand.most) == 0:
		return "; nothing spent"
	}
	text := "; spent by " + listed(b, stand.most, len(stand.most))
	switch n := len(stand.usedUp); {
	case n == 0:
		return text + "; none has used it up"
	case b.Soft:
		return text + fmt.Sprintf("; %d passed it", n)
	default:
		return text + fmt.Sprintf("; %d used it up", n)
	}
}

// listed names the first of the spenders, and of how many.
func listed(b Budget, all []spender, count int) string {
	var names []string
	for _, one := range all[:min(mostSpenders, len(all))] {
		names = append(names, fmt.Sprintf("%s %s%s", one.title(), b.say(one.SpentUSD), notional(one.SpentUSD, one.NotionalUSD)))
	}
	text := strings.Join(names, ", ")
	if more := count - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// notional says, behind dollars, which part of them nobody is billed.
func notional(spent, of float64) string {
	switch {
	case dollars(of) == dollars(0):
		return ""
	case dollars(of) == dollars(spent):
		return " (notional)"
	}
	return fmt.Sprintf(" (%s of it notional)", dollars(of))
}
