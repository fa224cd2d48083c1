package budget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Spikes: who costs far more in a day than in its own last weeks is told to people, whatever the budgets say.

const (
	// burnEvery is how often it is looked at most; while nothing is said, nobody looks.
	burnEvery = time.Hour
	// burnLeast is what a day costs at least that is a spike, in USD.
	burnLeast = 1.0
	// burnTimes is how many times its usual day a spike costs.
	burnTimes = 4.0
	// burnWeeks is with how many weeks the last day is compared. The usual day is that of the median week.
	burnWeeks = 4
	// burnNames is how many plugins, schedules and threads of a day are looked at, those that cost the most.
	burnNames = 50
)

// spike is somebody who costs far more than usual.
type spike struct {
	by         pluginsdk.UsageBy
	of, name   string
	day, usual float64 // in USD, of the last 24 hours and of a usual day
}

func (s spike) words() string {
	return fmt.Sprintf("%s cost %s in the last 24 hours; on a usual day of the four weeks before it was %s", s.name, dollars(s.day), dollars(s.usual))
}

// burn looks for spikes, at most once an hour, and tells people of each once a day.
func (p *Plugin) burn(ctx context.Context) error {
	now := p.now()
	if now.Sub(p.burnt) < burnEvery {
		return nil
	}
	var found []spike
	for _, by := range []pluginsdk.UsageBy{pluginsdk.UsageByPlugin, pluginsdk.UsageByCron, pluginsdk.UsageByThread} {
		more, err := p.spikesOf(ctx, by, now)
		if err != nil {
			return err
		}
		found = append(found, more...)
	}
	for _, one := range found {
		if err := p.tellSpike(ctx, one, now); err != nil {
			return err
		}
	}
	p.burnt = now
	p.spikes.Store(&found)
	if k := p.known.Load(); k.broken == nil {
		return p.countSpent(ctx, k, k.ledger.Budgets...)
	}
	return nil
}

func (p *Plugin) spikesOf(ctx context.Context, by pluginsdk.UsageBy, now time.Time) (found []spike, err error) {
	begins := now.Truncate(time.Hour).Add(-24 * time.Hour) // whole hours are rolled up
	day, err := p.spent(ctx, pluginsdk.UsageRequest{By: by, Since: begins, Limit: burnNames})
	if err != nil {
		return nil, err
	}
	for of, usd := range day {
		if of != "" && usd >= burnLeast {
			found = append(found, spike{by: by, of: of, day: usd})
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	var weeks [burnWeeks]map[string]float64
	for n := range weeks {
		until := begins.AddDate(0, 0, -7*n)
		if weeks[n], err = p.weekOf(ctx, by, found, until); err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(one spike) bool {
		usual, known := usualDay(weeks, one.of)
		return !known || one.day < burnTimes*usual
	})
	for n := range found {
		one := &found[n]
		one.usual, _ = usualDay(weeks, one.of)
		if one.name, err = p.nameOf(ctx, *one); err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(one spike) bool { return one.name == "" })
	slices.SortFunc(found, func(a, b spike) int { return int(b.day*100) - int(a.day*100) })
	return found, nil
}

// weekOf is what those that may be spikes have cost in the week before a time, in USD. A thread that usually costs little is
// not among those that have cost the most then: it is asked for by itself.
func (p *Plugin) weekOf(ctx context.Context, by pluginsdk.UsageBy, of []spike, until time.Time) (map[string]float64, error) {
	request := pluginsdk.UsageRequest{By: by, Since: until.AddDate(0, 0, -7), Until: until, Limit: countedNames}
	week, err := p.spent(ctx, request)
	if err != nil || by != pluginsdk.UsageByThread || len(week) < countedNames {
		return week, err
	}
	for _, one := range of {
		if _, there := week[one.of]; there {
			continue
		}
		request.ThreadID = one.of
		its, err := p.spent(ctx, request)
		if err != nil {
			return nil, err
		}
		week[one.of] = its[one.of]
	}
	return week, nil
}

// spent is what each has cost, in USD.
func (p *Plugin) spent(ctx context.Context, request pluginsdk.UsageRequest) (map[string]float64, error) {
	answer, err := p.host.Installation.Usage(ctx, &request)
	if err != nil {
		return nil, err
	}
	all := make(map[string]float64)
	for _, sum := range answer.Sums {
		all[sum.Of] = sum.CostUSD
	}
	return all, nil
}

// usualDay is what a day of the median week has cost. It is known of whom two weeks at least have cost something.
func usualDay(weeks [burnWeeks]map[string]float64, of string) (usd float64, known bool) {
	var all []float64
	there := 0
	for _, week := range weeks {
		all = append(all, week[of]/7)
		if week[of] > 0 {
			there++
		}
	}
	slices.Sort(all)
	return (all[burnWeeks/2-1] + all[burnWeeks/2]) / 2, there >= 2
}

// nameOf is what people are told of whom; empty: nothing, since it is a thread that is gone, or apart.
func (p *Plugin) nameOf(ctx context.Context, one spike) (string, error) {
	switch one.by { //nolint:exhaustive // the others are not looked at
	case pluginsdk.UsageByPlugin:
		return "the plugin " + one.of, nil
	case pluginsdk.UsageByCron:
		return "the schedule " + one.of, nil
	}
	answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: one.of})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && answer.Thread.Apart:
		return "", nil
	case err != nil:
		return "", err
	case answer.Thread.Name == "":
		return "the thread " + one.of, nil
	}
	return fmt.Sprintf("the thread %q", answer.Thread.Name), nil
}

// tellSpike tells people of somebody once a day.
func (p *Plugin) tellSpike(ctx context.Context, one spike, now time.Time) error {
	return p.announce(ctx, fmt.Sprintf("spike:%s:%s:%s", one.by, one.of, now.UTC().Format(time.DateOnly)),
		"Spending is unusual: "+one.words()+". To look: harness usage --since 24h. To bound it: harness budget set")
}

// announce tells the people of the primary thread something, once under its key.
func (p *Plugin) announce(ctx context.Context, key, words string) error {
	primary, err := p.primary(ctx)
	if err != nil || primary == "" {
		return err
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: primary, Key: key, Deliver: true,
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: words}},
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict { // it was told, with what it was then
		return nil
	}
	return err
}
