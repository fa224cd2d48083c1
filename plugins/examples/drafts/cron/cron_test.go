package cron_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/examples/drafts/cron"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

var seeds = []pluginsdk.CronSpec{
	{Name: "digest", Schedule: "@every 1h", Prompt: "digest", Missed: pluginsdk.MissedRun, ReportTo: pluginsdk.Target{Plugin: "discord", Place: "lobby"}},
	{Name: "refresh", Schedule: "@every 30m", Prompt: "refresh", Missed: pluginsdk.MissedSkip},
}

// clock is a plugin with a clock that stands, seen over the wire, and itself.
type clock struct {
	*testing.T
	host   *plugintest.Host
	now    time.Time
	plugin *cron.Plugin
}

func (c *clock) serve(at plugintest.Death) *plugintest.Plugin {
	c.Helper()
	plugin := &cron.Plugin{Seeds: seeds, Every: time.Hour, Now: func() time.Time { return c.now }}
	c.plugin = plugin
	served := c.host.ServeUntil(c.T, plugin, at)
	c.Cleanup(func() { _ = plugin.Deactivate(context.Background()) })
	return served
}

// activate has the daemon activate the plugin.
func (c *clock) activate() {
	c.Helper()
	if err := c.serve(plugintest.Death{Call: 1000}).Activate(c.Context()); err != nil {
		c.Fatal(err)
	}
}

func (c *clock) enable(name string, enabled bool) {
	c.Helper()
	_, err := c.host.SDK().Crons.SetEnabled(c.Context(), &pluginsdk.SetCronEnabledRequest{Name: name, Enabled: enabled})
	if err != nil {
		c.Fatal(err)
	}
}

func (c *clock) job(name string) pluginsdk.CronJob {
	c.Helper()
	answer, err := c.host.SDK().Crons.List(c.Context(), &pluginsdk.ListCronsRequest{})
	if err != nil {
		c.Fatal(err)
	}
	i := slices.IndexFunc(answer.Jobs, func(job pluginsdk.CronJob) bool { return job.Spec.Name == name })
	return answer.Jobs[i]
}

// fired are the keys that were submitted, without the job's id.
func (c *clock) fired() (keys []string) {
	for _, submission := range c.host.Submissions() {
		keys = append(keys, submission.Content+submission.Key[slices.Index([]byte(submission.Key), '@'):])
	}
	return keys
}

// past is the hour at which the tests begin: after what the host says of when the
// jobs were made.
func past() time.Time { return time.Now().UTC().Truncate(time.Hour).Add(2 * time.Hour) }

// An operator decides what is on: not the next start of the daemon.
func TestSeedsAreOffAndStayAsTheOperatorHasThem(t *testing.T) {
	c := &clock{T: t, host: plugintest.NewHost(), now: past()}
	c.activate()
	if c.job("digest").Enabled || len(c.fired()) != 0 {
		t.Errorf("%+v, fired %q", c.job("digest"), c.fired())
	}
	c.enable("digest", true)
	c.activate()
	if !c.job("digest").Enabled || len(c.fired()) != 1 {
		t.Errorf("turned on: %+v, fired %q", c.job("digest"), c.fired())
	}
	c.enable("digest", false)
	c.now = c.now.Add(time.Hour)
	c.activate()
	if c.job("digest").Enabled || len(c.fired()) != 1 {
		t.Errorf("turned off: %+v, fired %q", c.job("digest"), c.fired())
	}
}

// What was missed while the daemon was down is made up for once, or not at all, as
// the job says.
func TestAMissedFireIsRunOnceOrSkipped(t *testing.T) {
	c := &clock{T: t, host: plugintest.NewHost(), now: past()}
	c.activate()
	c.enable("digest", true)
	c.enable("refresh", true)
	c.now = c.now.Add(5*time.Hour + 10*time.Minute)
	for range 2 {
		if err := c.plugin.Fire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hour := past().Add(5 * time.Hour)
	if got, want := c.fired(), []string{"digest@" + hour.Format(time.RFC3339)}; !slices.Equal(got, want) {
		t.Errorf("fired %q, want %q", got, want)
	}
	digest, refresh := c.job("digest").Status, c.job("refresh").Status
	if !digest.LastRun.Equal(hour) || !digest.NextRun.Equal(hour.Add(time.Hour)) || refresh.LastResult != "missed" {
		t.Errorf("digest %+v, refresh %+v", digest, refresh)
	}
	threads, err := c.host.SDK().Threads.List(t.Context(), &pluginsdk.ListThreadsRequest{})
	if err != nil || len(threads.Threads) != 1 || threads.Threads[0].Kind != pluginsdk.ThreadCron || threads.Threads[0].ReportTo.String() != "discord:lobby" {
		t.Errorf("threads %+v, %v", threads, err)
	}
}

// A digest that comes twice is an annoyance, one that does not come is missed.
func TestAFireHappensOnceWhereverThePluginIsKilled(t *testing.T) {
	died := true
	for call := int64(1); died; call++ {
		for _, carriedOut := range []bool{false, true} {
			c := &clock{T: t, host: plugintest.NewHost(), now: past()}
			c.activate()
			c.enable("digest", true)
			first := c.serve(plugintest.Death{Call: call, CarriedOut: carriedOut})
			if err := first.Activate(t.Context()); err != nil && !first.Died() {
				t.Fatal(err)
			}
			if died = first.Died(); died {
				c.activate()
			}
			if got := c.fired(); len(got) != 1 || !c.job("digest").Status.LastRun.Equal(c.now) {
				t.Errorf("killed at call %d (carried out: %v): fired %q, %+v", call, carriedOut, got, c.job("digest").Status)
			}
		}
	}
}

func TestAJobForOneTimeIsFiredOnce(t *testing.T) {
	c := &clock{T: t, host: plugintest.NewHost(), now: past()}
	c.activate()
	spec := pluginsdk.CronSpec{Name: "once", FireAt: c.now.Add(time.Hour), Prompt: "once", Missed: pluginsdk.MissedRun, ThreadID: "T"}
	_, err := c.host.SDK().Crons.Save(t.Context(), &pluginsdk.SaveCronRequest{Spec: spec, Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{0, time.Hour, time.Hour} {
		c.now = c.now.Add(step)
		if err := c.plugin.Fire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.host.Submissions(); len(got) != 1 || got[0].ThreadID != "T" {
		t.Errorf("fired %+v", got)
	}
}

// A job that has been is over: it must neither be reported for ever nor promise a fire
// that does not come.
func TestAJobForOneTimeIsReportedOnce(t *testing.T) {
	c := &clock{T: t, host: plugintest.NewHost(), now: past()}
	c.activate()
	spec := pluginsdk.CronSpec{Name: "once", FireAt: c.now.Add(time.Hour), Prompt: "once", Missed: pluginsdk.MissedRun, ThreadID: "T"}
	if _, err := c.host.SDK().Crons.Save(t.Context(), &pluginsdk.SaveCronRequest{Spec: spec, Enabled: true}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what it is to be, and what it was
		if err := c.plugin.Fire(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(time.Hour)
	}
	if status := c.job("once").Status; !status.NextRun.IsZero() || status.LastRun.IsZero() {
		t.Errorf("fired, it is %+v", status)
	}
	before := reports(c)
	if err := c.plugin.Fire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if made := reports(c) - before; made != 0 {
		t.Errorf("%d reports of a job that is over", made)
	}
}

// reports is how often what became of a job was reported.
func reports(c *clock) (n int) {
	for _, call := range c.host.Calls() {
		if call.Method == "Crons.Report" {
			n++
		}
	}
	return n
}
