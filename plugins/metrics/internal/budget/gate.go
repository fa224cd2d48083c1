package budget

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnBeforeRun says in which accounts the turn is counted, and how much is set aside there. It asks
// nobody: what was spent the core knows, when it sets the money aside.
func (p *Plugin) OnBeforeRun(_ context.Context, request *pluginsdk.OnBeforeRunRequest) (*pluginsdk.OnBeforeRunResponse, error) {
	if request.Run.Kind == pluginsdk.RunCommand {
		return nil, nil //nolint:nilnil // it costs nothing
	}
	now, known := p.now(), p.known.Load()
	asked := known.turnOf(request)
	p.rows.Begun(request.Run.ID, asked.job)
	if b, window, held := known.heldByShare(asked, now); held {
		p.begun.note(request.Run.ID, asked, now, nil) // so that it is noticed when less of the window is used
		return denied(b, window, asked.waits), nil
	}
	accounts := p.accounts(known, asked, now)
	if len(accounts) > 0 || p.rows.On() {
		p.begun.note(request.Run.ID, asked, now, accounts)
	}
	if len(accounts) == 0 {
		return nil, nil //nolint:nilnil // no budget counts it
	}
	answer := &pluginsdk.OnBeforeRunResponse{}
	model := asked.model
	if chosen := p.ownChoice.Load(); model == "" && chosen != nil {
		model = *chosen
	}
	for _, one := range accounts {
		reservation := pluginsdk.Reservation{Account: one.name, Unit: one.unit}
		if one.limit > 0 {
			usual := p.costs.usual(model, least)
			if one.unit == pluginsdk.UnitTokens {
				usual = p.tokens.usual(model, leastTokens)
			}
			reservation.LimitUSD, reservation.AmountUSD = one.limit, min(usual, one.limit)
			reservation.Reason, reservation.CapAtRest = one.reason, one.unit == pluginsdk.UnitUSD
			if asked.waits {
				reservation.Wait = &pluginsdk.Wait{For: one.budget, Until: one.ends}
			}
		}
		answer.Reservations = append(answer.Reservations, reservation)
	}
	return answer, nil
}

// turnOf is what budgets look at of a run.
func (k *known) turnOf(request *pluginsdk.OnBeforeRunRequest) turn {
	run, thread := request.Run, request.Thread
	asked := turn{
		threadID: thread.ID, threadName: thread.Name, kind: thread.Kind, model: cmp.Or(request.Model, thread.Model),
		plugin:  cmp.Or(run.Plugin, request.Message.Plugin),
		root:    run.OnBehalfOf.Source,
		account: cmp.Or(thread.Account, k.standard),
		people:  run.Kind != pluginsdk.RunTurn && thread.Kind != pluginsdk.ThreadTask && thread.Kind != pluginsdk.ThreadCron,
		waits:   run.Kind == pluginsdk.RunMessage && byPerson(request),
		job:     jobOf(request),
	}
	if said := run.Override; said != nil {
		asked.account, asked.model = cmp.Or(said.Account, asked.account), cmp.Or(said.Model, asked.model)
	}
	asked.billed = k.billed(asked.account)
	return asked
}

// byPerson reports whether a person has written the message, or what has caused it.
func byPerson(request *pluginsdk.OnBeforeRunRequest) bool {
	if request.Run.CauseRunID != "" {
		return request.Run.OnBehalfOf.Author != ""
	}
	said := request.Message
	return said.Author != "" || said.Scope != "" || said.Origin.Token != ""
}

// account is one in which a turn is counted.
type account struct {
	name   string
	limit  float64 // of the strictest hard budget that it is of; 0: only soft ones
	reason string  // when there is not enough left
	budget string  // the name of that budget
	ends   time.Time
	unit   pluginsdk.Unit
	soft   []Budget
}

// accounts are those in which a turn is counted, each once.
func (p *Plugin) accounts(known *known, asked turn, now time.Time) (all []account) {
	options := p.settings.Load()
	for _, b := range known.holds() {
		name, ends := b.account(asked, now, options.zone)
		if name == "" {
			continue
		}
		i := slices.IndexFunc(all, func(one account) bool { return one.name == name })
		if i < 0 {
			all, i = append(all, account{name: name, unit: b.unit()}), len(all)
		}
		one := &all[i]
		if b.Soft {
			one.soft = append(one.soft, b)
			continue
		}
		limit, reserved := b.limit(), b.Scope.shared() && !asked.people
		if reserved {
			limit *= options.share
		}
		if one.limit == 0 || limit < one.limit {
			one.limit, one.reason = limit, reason(b, asked, ends, reserved, options.share)
			one.budget, one.ends = b.Name, ends
		}
	}
	return all
}

// reason is what the person reads when the core finds that there is not enough left. The core puts
// the amounts in.
func reason(b Budget, asked turn, ends time.Time, reserved bool, share float64) string {
	waits := asked.waits
	what := fmt.Sprintf("the budget %s%s of {limit} %s", b.Name, b.whose(asked), b.Window.words())
	if reserved {
		what = fmt.Sprintf("what plugins start may use %.0f %% of the budget %s of %s %s, which is {limit}: the rest is kept for people, and that part", 100*share, b.Name+b.whose(asked), b.say(b.limit()), b.Window.words())
	}
	unit, begins := "money", least
	if b.Tokens > 0 {
		unit, begins = "tokens", leastTokens
	}
	again := fmt.Sprintf("It is free again on %s, or with more %s", moment(ends), unit)
	switch {
	case ends.IsZero() && waits:
		again = "It does not begin anew. It goes on once somebody raises it"
	case ends.IsZero():
		again = "It does not begin anew. To raise it"
	}
	then := ", and then /retry"
	if waits {
		then = ""
	}
	return fmt.Sprintf("%s is used up: {spent} are spent, {set_aside} are set aside for turns at work, and a turn begins with %s at least. %s: harness budget set %s %s%s",
		what, b.say(min(begins, b.limit())), again, b.Name, more(b), then)
}

// whose names the one of which a budget for each is used up.
func (b Budget) whose(asked turn) string {
	if b.Scope.Of != each {
		return ""
	}
	of := cmp.Or(asked.threadName, asked.threadID)
	switch b.Scope.Kind {
	case Cron:
		return " of the schedule " + brief(cmp.Or(asked.job, of))
	case Named:
		of = asked.plugin
	case Account:
		of = asked.account
	case All, Billed, Thread, Task:
	}
	return fmt.Sprintf(" of the %s %s", b.Scope.Kind, brief(of))
}

// least is what is set aside for a turn at least, in USD: nobody knows yet what turns cost, or they
// cost next to nothing.
const least = 0.05

// leastTokens is the same in tokens: a turn of the agent reads as many before it says a word.
const leastTokens = 10_000

// newest is how many turns of a model it is known of what they have cost.
const newest = 50

// costs are what the newest turns have cost, by model; of all models under the empty name.
type costs struct {
	mu sync.Mutex
	of map[string][]float64
}

func (c *costs) add(model string, usd float64) {
	if usd <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[string][]float64)
	}
	for _, name := range slices.Compact([]string{"", model}) {
		all := append(c.of[name], usd)
		c.of[name] = all[max(0, len(all)-newest):]
	}
}

// usual is what a turn of the model is thought to cost: 9 of 10 have cost less. Without a model it is that of any;
// of a model that has answered nothing yet, the least.
func (c *costs) usual(model string, least float64) float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.of[c.named(model)] // none of a model that is not known
	if len(all) == 0 {
		return least
	}
	sorted := slices.Sorted(slices.Values(all))
	return max(least, sorted[int(math.Ceil(0.9*float64(len(sorted))))-1])
}

// named finds the model that is meant: people say opus of claude-opus-5.
func (c *costs) named(model string) string {
	if len(c.of[model]) > 0 {
		return model
	}
	for _, name := range slices.Sorted(maps.Keys(c.of)) {
		if model != "" && strings.Contains(name, model) {
			return name
		}
	}
	return model
}
