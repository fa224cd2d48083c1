package cron

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// errKilled ends the process of the plugin: what it knew is gone.
var errKilled = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "killed")

// killer is a host that kills the plugin now and then, before or after what it was asked is done.
type killer struct {
	pluginsdk.Crons
	random *rand.Rand
	often  int // one call in so many
	lose   int // so many of the next answers are lost
}

func (k *killer) strike() bool { return k.often > 0 && k.random.IntN(k.often) == 0 }

func (k *killer) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	if k.strike() {
		return nil, errKilled
	}
	answer, err := k.Crons.Report(ctx, request)
	if k.lose--; k.lose >= 0 || k.strike() {
		return nil, errKilled
	}
	return answer, err
}

type killedMessages struct {
	pluginsdk.Messages
	k *killer
}

func (m killedMessages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	if m.k.strike() {
		return nil, errKilled
	}
	answer, err := m.Messages.Submit(ctx, request)
	if m.k.strike() {
		return nil, errKilled
	}
	return answer, err
}

// world is a host, a clock that stands still, and the plugin, which may be another at each look.
type world struct {
	*testing.T

	host   *plugintest.Host
	sdk    pluginsdk.Host
	killer *killer
	now    time.Time
	plugin *Plugin
}

func newWorld(t *testing.T, now time.Time, random *rand.Rand) *world {
	t.Helper()
	w := &world{T: t, host: plugintest.NewHost(), now: now}
	w.sdk = w.host.As(new(Plugin).Manifest())
	w.sdk.Log = slog.New(slog.DiscardHandler)
	w.killer = &killer{Crons: w.sdk.Crons, random: random}
	w.sdk.Crons, w.sdk.Messages = w.killer, killedMessages{w.sdk.Messages, w.killer}
	w.restart()
	return w
}

// restart makes another process of the plugin.
func (w *world) restart() {
	w.plugin = &Plugin{Now: func() time.Time { return w.now }}
	if err := w.plugin.Start(w.Context(), w.sdk); err != nil {
		w.Fatal(err)
	}
}

// look has the plugin look until that comes to an end, with another process for each one that is killed.
func (w *world) look() {
	w.Helper()
	for n := 0; ; n++ {
		err := w.plugin.Step(w.Context())
		switch {
		case err == nil && w.haveRead(0):
			return
		case err == nil && n < 1000:
			continue
		case !errors.Is(err, errKilled) || n > 1000:
			w.Fatalf("at %s: %v", w.now, err)
		}
		if w.killer.random.IntN(2) == 0 { // else the answer was lost, and the plugin lives on
			w.restart()
		}
	}
}

// haveRead waits until no more than so many files are being read, and reports whether nothing was read that no look has
// taken in.
func (w *world) haveRead(most int) bool { return haveRead(w.plugin, most) }

func haveRead(plugin *Plugin, most int) bool {
	for {
		plugin.mu.Lock()
		busy, taken := plugin.reads.Load() > int64(most), true
		for _, s := range plugin.sights {
			taken = taken && (!s.over || s.taken || s.stale)
		}
		plugin.mu.Unlock()
		if !busy {
			return taken
		}
		<-plugin.wake
	}
}

func (w *world) save(spec pluginsdk.CronSpec) pluginsdk.CronJob {
	w.Helper()
	answer, err := w.host.SDK().Crons.Save(w.Context(), &pluginsdk.SaveCronRequest{Spec: spec, Enabled: true})
	if err != nil {
		w.Fatal(err)
	}
	return answer.Job
}

func (w *world) job(name string) pluginsdk.CronJob {
	w.Helper()
	answer, err := w.host.SDK().Crons.List(w.Context(), &pluginsdk.ListCronsRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return *find(answer.Jobs, name)
}

// fires are all rows of a job, in order.
func (w *world) fires(name string) (all []pluginsdk.CronFire) {
	w.Helper()
	var before time.Time
	for {
		page, err := w.host.SDK().Crons.Fires(w.Context(), &pluginsdk.CronFiresRequest{Name: name, Before: before, Limit: 1000})
		if err != nil {
			w.Fatal(err)
		}
		if all = append(all, page.Fires...); !page.More {
			break
		}
		before = all[len(all)-1].Due
	}
	slices.SortFunc(all, func(a, b pluginsdk.CronFire) int { return a.Due.Compare(b.Due) })
	return all
}

// finish ends all runs that are under way.
func (w *world) finish() {
	w.Helper()
	page, err := w.host.SDK().Runs.List(w.Context(), &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{States: []pluginsdk.RunState{pluginsdk.RunQueued, pluginsdk.RunRunning}, Limit: 1000}})
	if err != nil {
		w.Fatal(err)
	}
	for _, run := range page.Runs {
		w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Text: "done"})
	}
}

var places = []string{"America/Phoenix", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu", "Pacific/Apia", "America/New_York", "UTC"}

// TestEachTimeHasOneRowAndEachFireOneMessage has random jobs live through months with a daemon that
// is away now and then, and a plugin that is killed between deciding, submitting and recording. Each time at
// which a job was due must be in one row, and each row of a fire that was made must have one message.
func TestEachTimeHasOneRowAndEachFireOneMessage(t *testing.T) {
	t.Parallel()
	const seed, jobs = 28, 22
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	begin := time.Now().UTC().Truncate(time.Hour).Add(2 * time.Hour) // after what the host says of when the jobs were made
	w := newWorld(t, begin, random)
	w.killer.often = 15
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	specs := make(map[string]pluginsdk.CronSpec)
	for n := range jobs {
		spec := pluginsdk.CronSpec{
			Name: fmt.Sprintf("job %d", n), Prompt: "do it", Timezone: places[n%len(places)],
			Schedule: pick("*/5 * * * *", "30 2 * * *", "0 9 * * mon-fri", "0 * * * *", "15 1,13 * * *", "*/30 8-18 * * *", "0 0 1 * *", "* * * * *", "0 17 * * fri"),
			Missed:   pluginsdk.MissedPolicy(pick("run", "skip")), Overlap: pluginsdk.OverlapPolicy(pick("", "skip", "queue", "cancel")),
			Jitter: time.Duration(random.IntN(3)) * 20 * time.Second,
			Except: pick("", "", "sat,sun", "12-24"), Hours: pick("", "", "06:00-20:00"),
		}
		if n%7 == 0 {
			spec.Schedule, spec.FireAt, spec.Except, spec.Hours = "", begin.Add(time.Duration(random.IntN(60*24*40))*time.Minute), "", ""
		}
		specs[spec.Name] = spec
		w.save(spec)
	}
	w.look() // it is up when they are made
	end := begin
	for range 500 {
		step := time.Duration(1+random.IntN(8)) * time.Minute
		switch random.IntN(60) {
		case 0: // it is away
			step = time.Duration(random.IntN(72*60)) * time.Minute
			w.restart()
		case 1: // the clock is put back
			step = -time.Duration(random.IntN(90)) * time.Minute
		}
		w.now = w.now.Add(step)
		w.look()
		if end = later(end, w.now); random.IntN(3) == 0 {
			w.finish()
		}
	}
	w.killer.often = 0
	w.now = end
	for range 20 { // until what is spread is made; meanwhile nothing is late
		w.now = w.now.Add(20 * time.Second)
		w.look()
		w.finish()
	}
	w.look()
	messages := make(map[string]int)
	for _, submission := range w.host.Submissions() {
		messages[submission.Key]++
	}
	made := 0
	for name, spec := range specs {
		job := w.job(name)
		made += w.judge(job, spec, begin, messages)
	}
	for key := range messages {
		t.Errorf("the message %s has no row", key)
	}
	if made < 300 {
		t.Errorf("only %d fires were made", made)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// judge compares a job's rows with the times at which it was due, takes the messages away that it
// finds, and returns how many fires were made.
func (w *world) judge(job pluginsdk.CronJob, spec pluginsdk.CronSpec, begin time.Time, messages map[string]int) (made int) {
	w.Helper()
	when, err := timesOf(spec)
	if err != nil {
		w.Fatal(err)
	}
	due := when.Next(job.CreatedAt)
	for _, fire := range w.fires(spec.Name) {
		if !fire.Due.Equal(due) {
			w.Errorf("%s: a row of %s, want one of %s", spec.Name, fire.Due, due)
			return made
		}
		for range max(fire.Count, 1) - 1 {
			due = when.Next(due)
		}
		if fire.Count > 1 && !due.Equal(fire.Until) {
			w.Errorf("%s: a row of %d times from %s ends at %s, want %s", spec.Name, fire.Count, fire.Due, fire.Until, due)
		}
		due = when.Next(due)
		key := submitKey(job.ID, fire.Due)
		want := 0
		switch fire.State {
		case pluginsdk.FireSucceeded, pluginsdk.FireCancelled:
			want = 1
			made++
		case pluginsdk.FireMissed, pluginsdk.FireSkipped:
			if fire.Reason == "" {
				w.Errorf("%s: the fire of %s is %s, and nobody knows why", spec.Name, fire.Due, fire.State)
			}
		case pluginsdk.FirePending, pluginsdk.FireRunning, pluginsdk.FireFailed:
			w.Errorf("%s: the fire of %s is %s (%s)", spec.Name, fire.Due, fire.State, fire.Reason)
		}
		if messages[key] != want {
			w.Errorf("%s: the fire of %s is %s (%s), with %d messages", spec.Name, fire.Due, fire.State, fire.Reason, messages[key])
		}
		delete(messages, key)
	}
	if !due.IsZero() && !due.Add(shift(job)).After(w.now) {
		w.Errorf("%s: no row of %s", spec.Name, due)
	}
	return made
}
