// Package usage is the page of what the agent has used and cost.
package usage

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/charts"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Register adds the page and its pictures to the site.
func Register(s *site.Site) {
	p := pages{s}
	s.Page("GET /usage", pluginsdk.ScopeRead, p.page)
	s.Raw("GET /usage/chart/{name}", pluginsdk.ScopeRead, p.picture)
}

type pages struct{ *site.Site }

// period is what the page is about.
type period struct {
	days   int // 1: the last 24 hours, one by one
	thread string
	today  time.Time // midnight of today, UTC
	hour   time.Time // the last full hour, UTC
	now    time.Time
}

// ranges are the days that can be chosen.
var ranges = []int{1, 7, 30, 90, 365}

func periodOf(query url.Values) period {
	now := time.Now().UTC()
	asked := period{days: 30, thread: query.Get("thread"), today: now.Truncate(24 * time.Hour), hour: now.Truncate(time.Hour), now: now}
	if days, err := strconv.Atoi(query.Get("days")); err == nil && slices.Contains(ranges, days) {
		asked.days = days
	}
	return asked
}

// query is the period as the query string of the page and of its pictures has it.
func (p period) query() url.Values {
	query := url.Values{"days": {strconv.Itoa(p.days)}}
	if p.thread != "" {
		query.Set("thread", p.thread)
	}
	return query
}

// steps are what the period consists of: days, or hours.
func (p period) steps() (by pluginsdk.UsageBy, layout string, starts []time.Time) {
	if p.days == 1 {
		for n := range 24 {
			starts = append(starts, p.hour.Add(time.Duration(n-23)*time.Hour))
		}
		return pluginsdk.UsageByHour, "2006-01-02T15", starts
	}
	for n := range p.days {
		starts = append(starts, p.today.AddDate(0, 0, 1+n-p.days))
	}
	return pluginsdk.UsageByDay, time.DateOnly, starts
}

// first is when the period begins.
func (p period) first() time.Time {
	_, _, starts := p.steps()
	return starts[0]
}

// sums asks for the sums of the period, by one thing.
func (p pages) sums(ctx context.Context, of period, by pluginsdk.UsageBy, limit int) (found api.UsageSums, err error) {
	query := url.Values{"by": {string(by)}, "since": {of.first().Format(time.RFC3339)}, "limit": {strconv.Itoa(limit)}}
	if of.thread != "" {
		query.Set("thread", of.thread)
	}
	return found, p.Get(ctx, "/api/usage", query, &found)
}

// sumsOfSteps are the sums of each day or hour of the period, those without turns too, the oldest
// first, under the label that a chart has for it.
func (p pages) sumsOfSteps(ctx context.Context, of period) (all []pluginsdk.UsageSum, total pluginsdk.UsageSum, err error) {
	by, layout, starts := of.steps()
	found, err := p.sums(ctx, of, by, len(starts)+1)
	if err != nil {
		return nil, total, err
	}
	known := make(map[string]pluginsdk.UsageSum, len(found.Sums))
	for _, sum := range found.Sums {
		known[sum.Of] = sum
	}
	label := "2 Jan"
	if by == pluginsdk.UsageByHour {
		label = "15:00"
	}
	for _, start := range starts {
		sum := known[start.Format(layout)]
		sum.Of = start.Format(label)
		all = append(all, sum)
	}
	return all, found.Total, nil
}

// daily is a chart of days or hours, by the name of its picture.
type daily struct {
	name string
	draw func(days []pluginsdk.UsageSum) charts.Chart
}

// byDay are the charts of the page.
var byDay = []daily{
	{"cost", func(days []pluginsdk.UsageSum) charts.Chart {
		return chart("Cost", charts.Bars, charts.USD, days, series{"Cost", func(s pluginsdk.UsageSum) float64 { return s.CostUSD }})
	}},
	{"tokens", func(days []pluginsdk.UsageSum) charts.Chart {
		return chart("Tokens", charts.Stacked, charts.Tokens, days,
			series{"In", func(s pluginsdk.UsageSum) float64 { return float64(s.Usage.InputTokens) }},
			series{"From the cache", func(s pluginsdk.UsageSum) float64 { return float64(s.Usage.CacheReadTokens) }},
			series{"Into the cache", func(s pluginsdk.UsageSum) float64 { return float64(s.Usage.CacheWriteTokens) }},
			series{"Out", func(s pluginsdk.UsageSum) float64 { return float64(s.Usage.OutputTokens) }})
	}},
	{"turns", func(days []pluginsdk.UsageSum) charts.Chart {
		return chart("Turns", charts.Stacked, charts.Count, days,
			series{"Answered", func(s pluginsdk.UsageSum) float64 { return float64(s.Turns - s.Failed) }},
			series{"Failed", func(s pluginsdk.UsageSum) float64 { return float64(s.Failed) }})
	}},
	{"latency", func(days []pluginsdk.UsageSum) charts.Chart {
		return chart("Length of a turn, on average", charts.Lines, charts.Seconds, days, series{"Turn", func(s pluginsdk.UsageSum) float64 { return average(s).Seconds() }})
	}},
}

type series struct {
	name  string
	value func(pluginsdk.UsageSum) float64
}

func chart(title string, kind charts.Kind, unit charts.Unit, days []pluginsdk.UsageSum, of ...series) charts.Chart {
	made := charts.Chart{Title: title, Kind: kind, Unit: unit}
	for _, day := range days {
		made.Labels = append(made.Labels, day.Of)
	}
	for _, one := range of {
		drawn := charts.Series{Name: one.name}
		for _, day := range days {
			drawn.Values = append(drawn.Values, one.value(day))
		}
		made.Series = append(made.Series, drawn)
	}
	return made
}

func average(sum pluginsdk.UsageSum) time.Duration {
	if sum.Turns == 0 {
		return 0
	}
	return sum.Duration / time.Duration(sum.Turns)
}

// shares are who has used it, of one thing.
type shares struct {
	title string
	by    pluginsdk.UsageBy
	sums  []pluginsdk.UsageSum
}

// usage is what the page shows.
type usage struct {
	period
	theme    string
	total    pluginsdk.UsageSum
	unpriced []pluginsdk.UsageSum // what of it is of models without a price
	charts   []drawn
	shares   []shares
	names    map[string]string // of threads
	paces    []pace
	// budgets are what may be spent.
	budgets api.Budgets
}

// pace is what a day or a month has cost so far, and comes to at that pace.
type pace struct {
	name string
	sum  pluginsdk.UsageSum
	usd  float64
	ok   bool // it is late enough to say
}

// paces are those of today and of this month.
func (p pages) paces(ctx context.Context, of period) (all []pace, err error) {
	month := time.Date(of.today.Year(), of.today.Month(), 1, 0, 0, 0, 0, time.UTC)
	for _, one := range []struct {
		name         string
		since, until time.Time
	}{{"Today", of.today, of.today.AddDate(0, 0, 1)}, {"This month", month, month.AddDate(0, 1, 0)}} {
		query, found := url.Values{"since": {one.since.Format(time.RFC3339)}}, api.UsageSums{}
		if of.thread != "" {
			query.Set("thread", of.thread)
		}
		if err := p.Get(ctx, "/api/usage", query, &found); err != nil {
			return nil, err
		}
		made := pace{name: one.name, sum: found.Total}
		made.usd, made.ok = found.Total.AtThisPace(one.since, of.now, one.until)
		all = append(all, made)
	}
	return all, nil
}

type drawn struct {
	name string
	charts.Chart
}

func (p pages) page(r *http.Request) (site.View, error) {
	shown := usage{period: periodOf(r.URL.Query()), theme: site.Theme(r)}
	days, total, err := p.sumsOfSteps(r.Context(), shown.period)
	if err != nil {
		return site.View{}, err
	}
	shown.total = total
	for _, one := range byDay {
		shown.charts = append(shown.charts, drawn{one.name, one.draw(days)})
	}
	if total.Turns > 0 {
		shown.shares = []shares{{"By model", pluginsdk.UsageByModel, nil}, {"By conversation", pluginsdk.UsageByThread, nil},
			{"By purpose", pluginsdk.UsageByPurpose, nil}, {"By plugin", pluginsdk.UsageByPlugin, nil}, {"By scheduled job", pluginsdk.UsageByCron, nil},
			{"By task", pluginsdk.UsageByTask, nil}, {"By account", pluginsdk.UsageByAccount, nil}}
	}
	together, ctx := errgroup.WithContext(r.Context()) // each sums up all turns of the period
	for n := range shown.shares {
		together.Go(func() error {
			of := &shown.shares[n]
			found, err := p.sums(ctx, shown.period, of.by, 10)
			if of.sums = found.Sums; of.by == pluginsdk.UsageByModel {
				shown.unpriced = found.Unpriced
			}
			slices.SortStableFunc(of.sums, func(a, b pluginsdk.UsageSum) int {
				return cmp.Or(cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.Turns, a.Turns))
			})
			return err
		})
	}
	together.Go(func() (err error) {
		shown.paces, err = p.paces(ctx, shown.period)
		return err
	})
	together.Go(func() error { return p.Get(ctx, "/api/budgets", nil, &shown.budgets) })
	if err := together.Wait(); err != nil {
		return site.View{}, err
	}
	shown.shares = slices.DeleteFunc(shown.shares, func(of shares) bool { // there are none, as of schedules on most installations
		seldom := of.by == pluginsdk.UsageByCron || of.by == pluginsdk.UsageByTask
		return seldom && !slices.ContainsFunc(of.sums, func(sum pluginsdk.UsageSum) bool { return sum.Of != "" })
	})
	var threads []string
	for _, of := range shown.shares {
		if of.by == pluginsdk.UsageByThread {
			for _, sum := range of.sums {
				threads = append(threads, sum.Of)
			}
		}
	}
	shown.names = p.ThreadNames(r.Context(), append(threads, shown.thread)...)
	return site.View{Title: "Usage", At: "/usage", Body: page(shown)}, nil
}

// The sizes of a picture, in pixels: on a desk, and on a phone.
const (
	wide, wideHeight     = 500, 230
	narrow, narrowHeight = 360, 220
)

// picture answers with one of the charts.
func (p pages) picture(w http.ResponseWriter, r *http.Request) {
	query, name := r.URL.Query(), r.PathValue("name")
	n := slices.IndexFunc(byDay, func(one daily) bool { return one.name+".svg" == name })
	if n < 0 {
		p.Fail(w, r, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no chart %q", name))
		return
	}
	days, _, err := p.sumsOfSteps(r.Context(), periodOf(query))
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	theme, width, height := charts.Light(), wide, wideHeight
	if query.Get("theme") == "dark" {
		theme = charts.Dark()
	}
	if query.Get("size") == "narrow" {
		width, height = narrow, narrowHeight
	}
	image, err := byDay[n].draw(days).Render(theme, width, height)
	if errors.Is(err, charts.ErrNoData) {
		err = pluginsdk.Errorf(pluginsdk.CodeNotFound, "nothing was used in these days")
	}
	if err != nil {
		p.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	w.Header().Set("Cache-Control", "private, max-age=60")
	_, _ = w.Write(image) // the client may be gone
}
