package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// budgetName is the budget that counts all turns, and is never used up.
	budgetName = "chaos"
	// askedJob is a scheduled job that is off, and that is asked to fire; minuteJob is due each minute.
	askedJob, minuteJob = "c-0001", "c-0002"
	// firePatience is how long, after the last kill, the rows of fires may be missing.
	firePatience = 30 * time.Second
	// sumsPatience is how long the sums of usage may take to be made.
	sumsPatience = 20 * time.Second
)

// clerk has jobs on a schedule, asks one of them to fire, keeps a budget, and has the sums of usage made anew.
type clerk struct {
	world     *world
	door      *web
	random    *rand.Rand
	schedules []*check.Schedule
}

// newClerk opens the books: the budget is there before anything that it counts.
func newClerk(ctx context.Context, w *world) (*clerk, error) {
	door, err := openWeb(ctx, w.http, w.url, "clerk", pluginsdk.BusyQueue)
	if err != nil {
		return nil, err
	}
	c := &clerk{world: w, door: door, random: seeded(w.seed, 0xb00c)}
	if _, refused, err := door.send(ctx, message{marker: "budget", content: "/budget set " + budgetName + " 10000 ever all hard"}); err != nil || refused != "" {
		return nil, fmt.Errorf("set a budget: %s %w", refused, err)
	}
	var told []check.Budget
	if _, err := until(ctx, bootPatience, func() bool {
		told, err = c.budgets(ctx)
		return err == nil && len(told) == 1
	}); err != nil {
		return nil, err
	}
	if len(told) != 1 {
		return nil, fmt.Errorf("the budget %s is not kept", budgetName)
	}
	return c, nil
}

// keep makes jobs, asks for fires and has the sums made until quiet ends, and does each once at least. Jobs are made by
// the API, and by SQL while the daemon is away.
func (c *clerk) keep(ctx, quiet context.Context) error {
	asked := pluginsdk.CronSpec{Name: askedJob, Schedule: "0 0 1 1 *", Missed: pluginsdk.MissedSkip}
	minute := pluginsdk.CronSpec{Name: minuteJob, Schedule: "* * * * *", Missed: pluginsdk.MissedRun}
	for _, spec := range []pluginsdk.CronSpec{asked, minute} {
		if err := c.make(ctx, spec, spec.Name == minuteJob); err != nil {
			return err
		}
	}
	for n := 0; n < 3 || quiet.Err() == nil; n++ {
		var err error
		switch n % 3 {
		case 0:
			err = c.make(ctx, pluginsdk.CronSpec{Name: c.name(), FireAt: c.moment(), Missed: pluginsdk.MissedRun}, true)
		case 1:
			err = c.away(ctx)
		case 2:
			err = c.ask(ctx)
		}
		if err != nil {
			return err
		}
		_ = pause(quiet, between(c.random, 4000, 9000))
	}
	return nil
}

func (c *clerk) name() string { return fmt.Sprintf("c-%04d", len(c.schedules)+1) }

// moment is when a job is due that fires once: soon, or a moment ago.
func (c *clerk) moment() time.Time {
	return time.Now().Add(between(c.random, -500, 4000)).UTC().Truncate(time.Microsecond)
}

// make makes a job by the API, however long it takes.
func (c *clerk) make(ctx context.Context, spec pluginsdk.CronSpec, on bool) error {
	spec.Timezone, spec.Prompt, spec.Report = "UTC", "Please answer "+spec.Name+".", pluginsdk.ReportNever
	s := &check.Schedule{Name: spec.Name, Marker: spec.Name, MayFrom: time.Now()}
	if !spec.FireAt.IsZero() {
		s.Due = []time.Time{spec.FireAt}
	}
	var made struct{ ID string }
	if err := c.insist(ctx, http.MethodPut, "/api/crons/"+spec.Name, map[string]any{"spec": spec, "enabled": on}, &made); err != nil {
		return err
	}
	s.ID, s.MayTo = made.ID, time.Now()
	if !spec.FireAt.IsZero() || !on {
		s.MayTo = s.MayFrom
	}
	c.schedules = append(c.schedules, s)
	return nil
}

// away makes a job by SQL while the daemon is down, and has the sums of usage made: at first by a program that is killed.
func (c *clerk) away(ctx context.Context) error {
	d := c.world.daemon
	if _, err := until(ctx, progressPatience, func() bool { // else there is nothing to be summed up
		n, err := c.world.database.turns(ctx)
		return err == nil && n > 0
	}); err != nil {
		return err
	}
	for {
		if err := d.awaitHealthy(ctx); err != nil {
			return err
		}
		if did, err := c.book(ctx, d); did || err != nil {
			return err
		}
	}
}

// book is away, once. It reports whether there was a daemon to be killed.
func (c *clerk) book(ctx context.Context, d *daemon) (did bool, err error) {
	strike := check.Strike{Kind: check.Daemon, From: time.Now()}
	what, err := d.away(ctx, func() error {
		if err := c.insert(ctx); err != nil {
			return err
		}
		if _, err := c.sum(ctx, between(c.random, 0, 150)); err != nil {
			return err
		}
		said, err := c.sum(ctx, sumsPatience)
		if err == nil {
			c.world.note("while the daemon was away: %s", said)
		}
		return err
	})
	if err != nil || what == "" {
		return false, err
	}
	strike.What, strike.To = what+", which was kept away", time.Now()
	c.world.killer.record(strike)
	return true, nil
}

// insert makes a job as an operator does in the database.
func (c *clerk) insert(ctx context.Context) error {
	id, name, at := uuid.NewString(), c.name(), c.moment()
	if err := c.world.database.schedule(ctx, id, name, "Please answer "+name+".", at); err != nil {
		return err
	}
	c.schedules = append(c.schedules, &check.Schedule{ID: id, Name: name, Marker: name, Away: true, Due: []time.Time{at}})
	return nil
}

// sum has the sums of usage made anew, and kills the program that does it after limit.
func (c *clerk) sum(ctx context.Context, limit time.Duration) (said string, err error) {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := c.world.daemon
	command := exec.CommandContext(bounded, d.binary, "db", "rollup", "--data", c.world.data()) //nolint:gosec // our own
	command.Env = d.env
	out, err := command.CombinedOutput()
	if err != nil && bounded.Err() != nil && ctx.Err() == nil && limit < sumsPatience {
		return "", nil // as it was meant to be
	}
	if err != nil {
		return "", fmt.Errorf("harness db rollup: %w: %s", err, out)
	}
	return string(out), nil
}

// ask asks a job to fire, at first until that is promised. Whoever is not answered does not know whether it was asked.
func (c *clerk) ask(ctx context.Context) error {
	for s := c.schedules[0]; ; {
		var fire pluginsdk.CronFire
		status, body, err := c.door.post(ctx, "/api/crons/"+askedJob+"/fire", map[string]any{}, &fire)
		switch {
		case err != nil || again(status):
			s.Unsure++
		case status == http.StatusAccepted:
			s.Promised = append(s.Promised, fire.Due)
		default:
			c.world.note("a fire was refused: %d %s", status, body)
		}
		if len(s.Promised) > 0 {
			return nil
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// close waits, once nothing is killed any more, until each time has its row by which a job was due, and turns the job
// off that is due again and again.
func (c *clerk) close(ctx context.Context) error {
	minute, end := c.schedules[1], time.Now()
	for at := minute.MayTo.Truncate(time.Minute).Add(time.Minute); !at.After(end); at = at.Add(time.Minute) {
		minute.Due = append(minute.Due, at.UTC())
	}
	due := 0
	for _, s := range c.schedules {
		due += len(s.Due)
	}
	if _, err := until(ctx, firePatience, func() bool { // what is missing then is for the judge
		n, err := c.world.database.scheduled(ctx)
		return err == nil && n >= due
	}); err != nil {
		return err
	}
	return c.insist(ctx, http.MethodPatch, "/api/crons/"+minuteJob, map[string]any{"enabled": false}, new(any))
}

// insist asks the API until it is answered.
func (c *clerk) insist(ctx context.Context, method, path string, body, out any) error {
	for {
		status, answer, err := c.door.call(ctx, method, path, body, out)
		switch {
		case err == nil && status < http.StatusMultipleChoices:
			return nil
		case err == nil && !again(status):
			return fmt.Errorf("%s %s: %d %s", method, path, status, answer)
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// budgets is how the budget of this campaign stands.
func (c *clerk) budgets(ctx context.Context) (told []check.Budget, err error) {
	var answer struct{ Budgets []check.Budget }
	if _, _, err := c.door.call(ctx, http.MethodGet, "/api/budgets", nil, &answer); err != nil {
		return nil, err
	}
	for _, one := range answer.Budgets {
		if one.Name == budgetName {
			told = append(told, one)
		}
	}
	return told, nil
}

// report is what the API says of money when all is at rest, and what the model has billed.
func (c *clerk) report(ctx context.Context, records *check.Records) (err error) {
	if records.Budgets, err = c.budgets(ctx); err != nil {
		return err
	}
	for _, by := range []string{"", "thread", "task", "purpose", "plugin", "model", "cron", "account", "day", "hour"} {
		var answer struct {
			Total pluginsdk.UsageSum
			Sums  []pluginsdk.UsageSum
		}
		path := "/api/usage?limit=1000"
		if by != "" {
			path += "&by=" + by
		}
		if err := c.insist(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		told := check.Usage{By: by, Total: sumOf(answer.Total), Sums: map[string]check.Sum{}}
		for _, sum := range answer.Sums {
			told.Sums[sum.Of] = sumOf(sum)
		}
		records.Usages = append(records.Usages, told)
	}
	for _, s := range c.schedules {
		records.Schedules = append(records.Schedules, *s)
	}
	records.BilledUSD = c.world.model.api.Billed().USD
	return nil
}

func sumOf(sum pluginsdk.UsageSum) check.Sum {
	return check.Sum{Turns: int(sum.Turns), USD: sum.CostUSD}
}
