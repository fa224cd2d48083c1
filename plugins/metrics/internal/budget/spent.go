package budget

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What was spent while nothing was set aside is in no account: before a budget was made or its window was changed, and
// while the plugin was off. The usage of the installation has it, and it is counted from there.

// countedNames is of how many threads, tasks, schedules, plugins and accounts it is counted, those that have cost the most.
const countedNames = 1000

// countSpent counts in the accounts of the budgets what was spent in the windows that are open now. Repeated, it
// changes nothing.
func (p *Plugin) countSpent(ctx context.Context, k *known, budgets ...Budget) error {
	var failed []error
	for _, b := range budgets {
		if b.Share == 0 {
			failed = append(failed, p.countSpentOf(ctx, k, b))
		}
	}
	return errors.Join(failed...)
}

func (p *Plugin) countSpentOf(ctx context.Context, k *known, b Budget) error {
	spent, err := p.spentByAccount(ctx, k, b)
	if err != nil {
		return err
	}
	for account, of := range spent {
		_, err := p.host.Budgets.CountSpent(ctx, &pluginsdk.CountSpentRequest{Account: account, Unit: b.unit(), AtLeast: of.amount})
		if err != nil {
			return err
		}
	}
	return nil
}

// spending is what the usage has of an account.
type spending struct {
	of, name string  // the thread, the schedule, ...; the name of a thread, if it has one
	amount   float64 // in the unit of the budget
	notional float64 // what of dollars is of turns on a plan
}

func (s *spending) add(b Budget, sum pluginsdk.UsageSum) {
	s.amount += b.amountOf(sum)
	if b.USD > 0 {
		s.notional += sum.NotionalUSD
	}
}

// spentByAccount is what was spent of what a budget counts in its present window, by its accounts.
func (p *Plugin) spentByAccount(ctx context.Context, k *known, b Budget) (map[string]spending, error) {
	now, zone := p.now(), p.settings.Load().zone
	spent, err := p.spentOf(ctx, k, b, b.Window.begins(now, zone))
	if err != nil {
		return nil, err
	}
	accounts := make(map[string]spending) // two schedules can be one account: their names differ in case
	for _, of := range slices.Sorted(maps.Keys(spent)) {
		one := *spent[of]
		account, _ := b.account(turnOf(of), now, zone)
		if account == "" || one.amount <= 0 {
			continue
		}
		before := accounts[account]
		one.amount, one.notional = one.amount+before.amount, one.notional+before.notional
		accounts[account] = one
	}
	return accounts, nil
}

// turnOf is a turn that is of the thread, the task, the schedule, the plugin and the account of a name.
func turnOf(of string) turn {
	return turn{threadID: of, job: of, plugin: of, account: of, billed: true, kind: pluginsdk.ThreadTask}
}

// spentOf is what was spent since a time of what a budget counts, in its unit, by the names of its accounts.
func (p *Plugin) spentOf(ctx context.Context, k *known, b Budget, since time.Time) (map[string]*spending, error) {
	request := &pluginsdk.UsageRequest{Since: since, Limit: countedNames}
	switch b.Scope.Kind {
	case All:
	case Billed, Account:
		request.By = pluginsdk.UsageByAccount
	case Named:
		request.By = pluginsdk.UsageByPlugin
	case Cron:
		request.By = pluginsdk.UsageByCron
	case Task, Thread:
		request.By = pluginsdk.UsageByThread
		if b.Scope.Of != each {
			request.ThreadID = b.Scope.Of
		}
		if b.Scope.Kind == Task && b.Scope.Of == each {
			request.By = pluginsdk.UsageByTask
		}
	}
	answer, err := p.host.Installation.Usage(ctx, request)
	if err != nil {
		return nil, err
	}
	spent := make(map[string]*spending)
	add := func(of string, sum pluginsdk.UsageSum) {
		if spent[of] == nil {
			spent[of] = &spending{of: of, name: sum.Name}
		}
		spent[of].add(b, sum)
	}
	if request.By == "" {
		add("all", answer.Total)
		return spent, nil
	}
	for _, sum := range answer.Sums {
		switch {
		case sum.Of == "":
		case b.Scope.Kind == Billed:
			if k.billed(sum.Of) {
				sum.CostUSD, sum.NotionalUSD = sum.CostUSD-sum.NotionalUSD, 0
				add("billed", sum)
			}
		case request.By == pluginsdk.UsageByTask:
			task, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: sum.Of})
			if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			add(task.Task.ThreadID, sum) // tasks that follow each other in a thread are one account
		default:
			add(sum.Of, sum)
		}
	}
	return spent, nil
}

// amountOf is what turns have used, in the unit of the budget.
func (b Budget) amountOf(sum pluginsdk.UsageSum) float64 {
	if b.Tokens > 0 {
		return float64(sum.Usage.InputTokens + sum.Usage.OutputTokens + sum.Usage.CacheReadTokens + sum.Usage.CacheWriteTokens)
	}
	return sum.CostUSD
}

// unheardOf warns of a scope that names nothing that has ever cost something: it may be mistyped. Empty: it is known.
func (p *Plugin) unheardOf(ctx context.Context, scope Scope) (string, error) {
	request, list := &pluginsdk.UsageRequest{Limit: countedNames}, ""
	switch scope.Kind {
	case Cron:
		request.By, list = pluginsdk.UsageByCron, "harness cron list"
	case Named:
		request.By, list = pluginsdk.UsageByPlugin, "harness plugin list"
	case Account:
		request.By, list = pluginsdk.UsageByAccount, "harness account list"
	case All, Billed, Thread, Task: // a thread and a task are looked up
		return "", nil
	}
	if scope.Of == each {
		return "", nil
	}
	answer, err := p.host.Installation.Usage(ctx, request)
	if err != nil || slices.ContainsFunc(answer.Sums, func(sum pluginsdk.UsageSum) bool {
		_, counted := scope.counts(turnOf(sum.Of))
		return sum.Of != "" && counted
	}) {
		return "", err
	}
	what := string(scope.Kind)
	if scope.Kind == Cron {
		what = "schedule"
	}
	return fmt.Sprintf("No turn of a %s %s has cost anything so far. Is the name right? %s has the names.", what, scope.Of, list), nil
}
