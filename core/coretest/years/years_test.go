// Package years_test has schedules live through three years on the databases that a daemon has.
package years_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/plugins/cron"
	"github.com/seed-706843ae/harness/plugins/cron/brute"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// base is a host that is only a database: what the plugin asks is done by the store that a daemon has. Calls
// that cron does not make are missing. It counts the messages that were stored, by key.
type base struct {
	*store.Store
	messages map[string]int
	open     map[string]string // the threads of runs that nobody has ended, by run
}

type (
	baseCrons struct {
		pluginsdk.Crons
		*base
	}
	baseThreads struct {
		pluginsdk.Threads
		*base
	}
	baseMessages struct {
		pluginsdk.Messages
		*base
	}
	baseRuns struct {
		pluginsdk.Runs
		*base
	}
)

func (b baseCrons) Save(ctx context.Context, r *pluginsdk.SaveCronRequest) (*pluginsdk.SaveCronResponse, error) {
	job, existed, err := b.SaveCron(ctx, r.Spec, r.Enabled)
	return &pluginsdk.SaveCronResponse{Job: job, Existed: existed}, err
}

func (b baseCrons) SetEnabled(ctx context.Context, r *pluginsdk.SetCronEnabledRequest) (*pluginsdk.SetCronEnabledResponse, error) {
	job, err := b.SetCronEnabled(ctx, r.Name, r.Enabled)
	return &pluginsdk.SetCronEnabledResponse{Job: job}, err
}

func (b baseCrons) Report(ctx context.Context, r *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	job, err := b.ReportCron(ctx, r.Name, r.Status, r.Fires...)
	return &pluginsdk.ReportCronResponse{Job: job}, err
}

func (b baseCrons) List(ctx context.Context, _ *pluginsdk.ListCronsRequest) (*pluginsdk.ListCronsResponse, error) {
	jobs, err := b.base.Crons(ctx)
	return &pluginsdk.ListCronsResponse{Jobs: jobs}, err
}

func (b baseCrons) Fires(ctx context.Context, r *pluginsdk.CronFiresRequest) (*pluginsdk.CronFiresResponse, error) {
	fires, more, err := b.CronFires(ctx, *r)
	return &pluginsdk.CronFiresResponse{Fires: fires, More: more}, err
}

func (b baseThreads) Create(ctx context.Context, r *pluginsdk.CreateThreadRequest) (*pluginsdk.CreateThreadResponse, error) {
	thread, _, err := b.CreateThread(ctx, r.Thread)
	return &pluginsdk.CreateThreadResponse{Thread: thread}, err
}

func (b baseMessages) Submit(ctx context.Context, r *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	submission := r.Submission
	submission.Source = "cron"
	made, err := b.Accept(ctx, ledger.Acceptance{RunID: uuid.NewString(), Plugin: "cron", Kind: pluginsdk.RunMessage, Submission: submission, MaxWaiting: 1000})
	if err == nil && !made.Existed {
		b.messages[submission.Key]++
		b.open[made.RunID] = made.ThreadID
	}
	return &pluginsdk.SubmitMessageResponse{Accepted: made.Accepted}, err
}

func (b baseMessages) List(ctx context.Context, r *pluginsdk.ListMessagesRequest) (*pluginsdk.ListMessagesResponse, error) {
	messages, err := b.base.Messages(ctx, r.Query)
	return &pluginsdk.ListMessagesResponse{Messages: messages}, err
}

func (b baseMessages) Append(context.Context, *pluginsdk.AppendMessagesRequest) (*pluginsdk.AppendMessagesResponse, error) {
	return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "nothing fails here, so nobody is told")
}

func (b baseRuns) List(ctx context.Context, r *pluginsdk.ListRunsRequest) (*pluginsdk.ListRunsResponse, error) {
	runs, err := b.base.Runs(ctx, r.Query)
	return &pluginsdk.ListRunsResponse{Runs: runs}, err
}

func (b baseRuns) Cancel(ctx context.Context, r *pluginsdk.CancelRunRequest) (*pluginsdk.CancelRunResponse, error) {
	run, _, err := b.CancelQueued(ctx, r.ID, "the next one is due")
	delete(b.open, r.ID)
	return &pluginsdk.CancelRunResponse{Run: run}, err
}

// finish answers all runs that are open, as a daemon would.
func (b *base) finish(ctx context.Context) error {
	for run, threadID := range b.open {
		for {
			claim, err := b.Claim(ctx, threadID, "test")
			if err != nil {
				return err
			}
			if !claim.Found {
				break
			}
			if _, err := b.Finish(ctx, claim.Fence, ledger.Finish{RunID: claim.Run.ID, State: pluginsdk.RunSucceeded}); err != nil {
				return err
			}
		}
		delete(b.open, run)
	}
	return nil
}

// errKilled ends the process of the plugin: what it knew is gone.
var errKilled = pluginsdk.Errorf(pluginsdk.CodeUnavailable, "killed")

// killer kills the plugin now and then, before or after the host has done what the plugin asked for.
type killer struct {
	random *rand.Rand
	often  int // one call in so many; 0: never
}

func (k *killer) strike() bool { return k.often > 0 && k.random.IntN(k.often) == 0 }

// killed makes a call of the host during which the plugin may be killed.
func killed[Request, Response any](ctx context.Context, k *killer, call func(context.Context, *Request) (*Response, error), request *Request) (*Response, error) {
	if k.strike() {
		return nil, errKilled
	}
	answer, err := call(ctx, request)
	if k.strike() {
		return nil, errKilled
	}
	return answer, err
}

type (
	killedCrons struct {
		pluginsdk.Crons
		*killer
	}
	killedMessages struct {
		pluginsdk.Messages
		*killer
	}
)

func (c killedCrons) Report(ctx context.Context, request *pluginsdk.ReportCronRequest) (*pluginsdk.ReportCronResponse, error) {
	return killed(ctx, c.killer, c.Crons.Report, request)
}

func (m killedMessages) Submit(ctx context.Context, request *pluginsdk.SubmitMessageRequest) (*pluginsdk.SubmitMessageResponse, error) {
	return killed(ctx, m.killer, m.Messages.Submit, request)
}

// epoch is the plugin on a database, and a clock that the test sets.
type epoch struct {
	*testing.T
	base   *base
	sdk    pluginsdk.Host
	killer *killer
	now    time.Time
	step   func(context.Context) error // has the plugin look once
}

// restart begins another process of the plugin.
func (e *epoch) restart() {
	plugin := cron.NewStepped(func() time.Time { return e.now })
	if err := plugin.Start(e.Context(), e.sdk); err != nil {
		e.Fatal(err)
	}
	e.step = plugin.Step
}

// look has the plugin look until a look succeeds. A process that is killed is followed by another; in half of the
// cases only the answer of the host is lost, and the process lives on.
func (e *epoch) look() {
	e.Helper()
	for n := 0; ; n++ {
		err := e.step(e.Context())
		switch {
		case err == nil:
			return
		case !errors.Is(err, errKilled) || n > 1000:
			e.Fatalf("at %s: %v", e.now, err)
		}
		if e.killer.random.IntN(2) == 0 {
			e.restart()
		}
	}
}

// jobsOfYears is how many jobs live through the years. With 200 the test takes a minute on each database.
var jobsOfYears = flag.Int("jobs", 10, "how many jobs live through three years")

// TestYearsOnADatabase has random jobs in up to 30 zones live through three years on each database. Mostly the daemon
// is down; when it is up, its plugin is killed before and after deciding, submitting and recording. What each minute of
// the three years says by the rules, every job's rows are compared with: each time is in one row, each fire that was
// made has one message, and each that was not says why.
func TestYearsOnADatabase(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		t.Parallel()
		const seed = 28
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 2))
		e := &epoch{T: t, now: brute.Begin}
		config.Now = func() time.Time { return e.now }
		b := &base{Store: storetest.OpenConfig(t, config), messages: make(map[string]int), open: make(map[string]string)}
		e.base, e.killer = b, &killer{random: random}
		fake := plugintest.NewHost().SDK() // has no settings: the defaults hold
		e.sdk = pluginsdk.Host{
			Crons: killedCrons{baseCrons{base: b}, e.killer}, Threads: baseThreads{base: b}, Runs: baseRuns{base: b}, Log: slog.New(slog.DiscardHandler),
			Messages: killedMessages{baseMessages{base: b}, e.killer}, Workspace: fake.Workspace, Settings: fake.Settings,
		}
		e.restart()
		clocks := make(map[string]*brute.Clock)
		for _, zone := range brute.Zones {
			clock, err := brute.NewClock(zone)
			if err != nil {
				t.Fatal(err)
			}
			clocks[zone] = clock
		}
		jobs := e.jobs(random, *jobsOfYears, clocks)
		e.look()
		e.killer.often = 15
		e.live(random)
		e.settled()
		made := 0
		for _, job := range jobs {
			made += e.judge(job, clocks[job.spec.Timezone])
		}
		for key := range b.messages {
			t.Errorf("the message %s has no row", key)
		}
		t.Logf("%d fires were made", made)
		if made < 5**jobsOfYears {
			t.Errorf("only %d fires were made", made)
		}
	})
}

// job is a job, and the minutes since brute.Begin in which it is due by the rules.
type job struct {
	spec pluginsdk.CronSpec
	due  []int
}

// jobs makes n jobs, which exist from the first minute on.
func (e *epoch) jobs(random *rand.Rand, n int, clocks map[string]*brute.Clock) (jobs []job) {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for len(jobs) < n {
		spec := pluginsdk.CronSpec{
			Name: fmt.Sprintf("job %d", len(jobs)), Prompt: "do it", Timezone: brute.Zones[(7*len(jobs))%len(brute.Zones)], Schedule: brute.Random(random),
			Missed: pluginsdk.MissedPolicy(pick("run", "skip")), Overlap: pluginsdk.OverlapPolicy(pick("", "skip", "queue", "cancel")),
			Jitter: time.Duration(random.IntN(3)) * 20 * time.Second,
		}
		rules := brute.Read(spec.Schedule)
		due := rules.Due(clocks[spec.Timezone])
		if len(due) == 0 {
			continue // it is never due
		}
		if len(jobs)%10 == 9 {
			spec.Except = pick("sat,sun", "12-24")
		}
		jobs = append(jobs, job{spec, due})
		if _, _, err := e.base.SaveCron(e.Context(), spec, true); err != nil {
			e.Fatal(err)
		}
	}
	return jobs
}

// live passes the three years: weeks in which the daemon is down, and hours in which it is up.
func (e *epoch) live(random *rand.Rand) {
	for e.now.Before(brute.End.AddDate(0, 0, -40)) {
		e.now = e.now.Add(time.Duration(random.IntN(30*24*60)) * time.Minute)
		e.restart()
		for range 5 + random.IntN(15) {
			e.look()
			if random.IntN(3) == 0 {
				if err := e.base.finish(e.Context()); err != nil {
					e.Fatal(err)
				}
			}
			e.now = e.now.Add(time.Duration(1+random.IntN(20)) * time.Minute)
		}
	}
}

// settled has everything end that was begun.
func (e *epoch) settled() {
	e.killer.often = 0
	for range 20 { // until what is spread is made; meanwhile nothing is late
		e.look()
		if err := e.base.finish(e.Context()); err != nil {
			e.Fatal(err)
		}
		e.now = e.now.Add(20 * time.Second)
	}
	e.look() // a job may be due at this very moment
	if err := e.base.finish(e.Context()); err != nil {
		e.Fatal(err)
	}
	e.look()
}

// keptRows is how many rows of a job are kept in any case.
const keptRows = 2000

// judge compares the rows of a job with the minutes in which it was due, takes the messages away that it finds, and
// returns how many fires were made.
func (e *epoch) judge(of job, clock *brute.Clock) (made int) {
	spec := of.spec
	jobs, err := e.base.Crons(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	id := jobs[slices.IndexFunc(jobs, func(one pluginsdk.CronJob) bool { return one.Spec.Name == spec.Name })].ID
	var want []time.Time
	for _, minute := range of.due {
		at := brute.Begin.Add(time.Duration(minute) * time.Minute)
		if at.After(brute.Begin) && !excepted(spec, clock.Shown(minute)) && !at.After(e.now) {
			want = append(want, at)
		}
	}
	var fires []pluginsdk.CronFire
	for before := (time.Time{}); ; {
		page, more, err := e.base.CronFires(e.Context(), pluginsdk.CronFiresRequest{Name: spec.Name, Before: before, Limit: 1000})
		if err != nil {
			e.Fatal(err)
		}
		if fires = append(fires, page...); !more {
			break
		}
		before = page[len(page)-1].Due
	}
	slices.Reverse(fires)
	if len(fires) >= keptRows { // the older ones are gone, and their messages are not looked for
		for len(want) > 0 && want[0].Before(fires[0].Due) {
			delete(e.base.messages, keyOf(id, want[0]))
			want = want[1:]
		}
	}
	for _, fire := range fires {
		n := max(fire.Count, 1)
		if len(want) < n || !want[0].Equal(fire.Due) || n > 1 && !want[n-1].Equal(fire.Until) {
			e.Errorf("%s (%q, %s): a row of %s to %s, %d times; want %s", spec.Name, spec.Schedule, spec.Timezone, fire.Due, fire.Until, n, want[:min(n, len(want))])
			return made
		}
		want = want[n:]
		key, messages := keyOf(id, fire.Due), 0
		switch fire.State {
		case pluginsdk.FireSucceeded, pluginsdk.FireCancelled:
			messages = 1
			made++
		case pluginsdk.FireMissed, pluginsdk.FireSkipped:
			if fire.Reason == "" {
				e.Errorf("%s: the fire of %s is %s, and nobody knows why", spec.Name, fire.Due, fire.State)
			}
		case pluginsdk.FirePending, pluginsdk.FireRunning, pluginsdk.FireFailed:
			run, err := e.base.Run(e.Context(), fire.RunID)
			e.Errorf("%s: the fire of %s is %s (%s); its run %s is %s (%v)", spec.Name, fire.Due, fire.State, fire.Reason, fire.RunID, run.State, err)
		}
		if e.base.messages[key] != messages {
			e.Errorf("%s: the fire of %s is %s (%s), with %d messages", spec.Name, fire.Due, fire.State, fire.Reason, e.base.messages[key])
		}
		delete(e.base.messages, key)
	}
	if len(want) > 0 && !want[0].Add(spec.Jitter).After(e.now) { // later ones may be yet to come, within the jitter
		e.Errorf("%s (%q, %s): %d times have no row, the first is %s", spec.Name, spec.Schedule, spec.Timezone, len(want), want[0])
	}
	return made
}

// keyOf is what a fire is submitted under, as docs/architecture.md has it.
func keyOf(jobID string, due time.Time) string {
	return jobID + "@" + due.UTC().Format(time.RFC3339Nano)
}

// excepted reports whether a wall clock shows a minute of a day on which a job is not due.
func excepted(spec pluginsdk.CronSpec, shown brute.Minute) bool {
	switch spec.Except {
	case "sat,sun":
		return shown.Weekday == 0 || shown.Weekday == 6
	case "12-24":
		return shown.Month == 12 && shown.Day == 24
	}
	return false
}
