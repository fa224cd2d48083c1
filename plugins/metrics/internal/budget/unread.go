package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A thread, such as that of a schedule, that costs money day by day while nobody opens it is told to people: such a
// cost is in no day's bill large enough to be seen.

const (
	// unreadEvery is how often it is looked at most; while nothing is said, nobody looks.
	unreadEvery = 24 * time.Hour
	// unreadDays is on how many days in a row such a thread has cost something, and how many of its messages at least
	// are unread.
	unreadDays = 14
	// unreadLeast is what each of these days has cost at least, in USD.
	unreadLeast = 0.10
	// unreadThreads is how many threads are looked at, those with the latest activity.
	unreadThreads = 100
)

// unread looks for threads that cost something every day and that nobody opens, at most once a day, and tells people of
// each once a week.
func (p *Plugin) unread(ctx context.Context) error {
	now := p.now()
	if now.Sub(p.unreadSeen) < unreadEvery {
		return nil
	}
	steady, err := p.steady(ctx, now)
	if err != nil {
		return err
	}
	if len(steady) > 0 {
		page, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Order: pluginsdk.ActivityFirst, Unread: true, Limit: unreadThreads}})
		if err != nil {
			return err
		}
		for _, thread := range page.Threads {
			usd, is := steady[thread.ID]
			if !is || thread.Apart || thread.Unread < unreadDays {
				continue
			}
			name, err := p.nameOf(ctx, spike{by: pluginsdk.UsageByThread, of: thread.ID})
			if err != nil {
				return err
			}
			year, week := now.UTC().ISOWeek()
			if err := p.announce(ctx, fmt.Sprintf("unread:%s:%d-%d", thread.ID, year, week), fmt.Sprintf(
				"Spending goes on unread: %s has cost %s in the last %d days, at least %s on each of them, and nobody has opened it in the dashboard: its last %d messages or more are unread. If it is a schedule's that nobody needs, turn it off: /cron list",
				name, dollars(usd), unreadDays, dollars(unreadLeast), thread.Unread)); err != nil {
				return err
			}
		}
	}
	p.unreadSeen = now
	return nil
}

// steady are the threads that have cost unreadLeast on each of the last unreadDays days (of UTC, which are rolled up),
// with what they have cost in all, in USD.
func (p *Plugin) steady(ctx context.Context, now time.Time) (map[string]float64, error) {
	var all map[string]float64
	for n := range unreadDays {
		until := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -n)
		day, err := p.spent(ctx, pluginsdk.UsageRequest{By: pluginsdk.UsageByThread, Since: until.AddDate(0, 0, -1), Until: until, Limit: countedNames})
		if err != nil {
			return nil, err
		}
		both := make(map[string]float64)
		for of, usd := range day {
			if before, is := all[of]; of != "" && usd >= unreadLeast && (n == 0 || is) {
				both[of] = before + usd
			}
		}
		if all = both; len(all) == 0 {
			return nil, nil
		}
	}
	return all, nil
}
