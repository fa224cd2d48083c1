package cron

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	pageSize = 1000
	// spreadEach is how far apart fires are made that were missed, spreadAll how long the last of
	// them waits at most.
	spreadEach = 20 * time.Second
	spreadAll  = 5 * time.Minute
)

// fireKey says which fire one is.
type fireKey struct {
	job string // id
	due int64  // Unix, in microseconds
}

func keyOf(fire pluginsdk.CronFire) fireKey { return fireKey{fire.JobID, fire.Due.UnixMicro()} }

// jobs are all of them, with the last good limits of those whose row has wrong ones.
func (p *Plugin) jobs(ctx context.Context) (all []pluginsdk.CronJob, err error) {
	rows, err := p.jobRows(ctx)
	for _, row := range rows {
		all = append(all, healed(row))
	}
	return all, err
}

// jobRows are all jobs as their rows have them.
func (p *Plugin) jobRows(ctx context.Context) (all []pluginsdk.CronJob, err error) {
	for after := ""; ; {
		page, err := p.host.Crons.List(ctx, &pluginsdk.ListCronsRequest{After: after, Limit: pageSize})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Jobs...)
		if !page.More || len(page.Jobs) == 0 {
			return all, nil
		}
		after = page.Jobs[len(page.Jobs)-1].Spec.Name
	}
}

// Step looks at the jobs once: it decides what is due, makes what is to be made, and takes in which runs are over.
func (p *Plugin) Step(ctx context.Context) error {
	if _, err := p.look(ctx); err != nil {
		return err
	}
	return p.settle(ctx)
}

// look decides what is due, and makes what is to be made. It returns how long there is nothing to do,
// unless a job is changed.
func (p *Plugin) look(ctx context.Context) (wait time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(ctx); err != nil {
		return 0, err
	}
	rows, err := p.jobRows(ctx)
	if err != nil {
		return 0, err
	}
	jobs := make([]pluginsdk.CronJob, len(rows))
	for i, row := range rows {
		jobs[i] = healed(row)
	}
	there := make(map[string]pluginsdk.CronJob, len(jobs))
	for _, job := range jobs {
		there[job.ID] = job
	}
	for id := range p.open {
		if _, ok := there[id]; !ok {
			p.dropRemoved(id)
		}
	}
	now := p.now()
	p.setBack(now)
	ended, unknown := p.endedTasks(ctx, jobs, now)
	err = errors.Join(err, unknown)
	var late []pluginsdk.CronFire
	var unsure []string // jobs of which it is not known whether what was decided about them is stored
	p.event = time.Time{}
	p.looks++
	for i, job := range jobs {
		if job.Enabled && job.Status.Failures >= p.pauseAfter() && !noteOf(job).Off && !over(job) {
			if failed := p.pause(ctx, job); failed != nil {
				err = errors.Join(err, failed)
			}
			continue
		}
		d := decide(job, p.open[job.ID], now, p.pauseAfter())
		if again := d.again; !again.IsZero() && (p.event.IsZero() || again.Before(p.event)) {
			p.event = again
		}
		if unknown == nil || !onTasks(job.Spec) { // else its mark stays, and a later look finds what has ended
			see := func(path, known string) *sight { return p.see(job.ID, path, known, now) }
			if again := d.happened(job, p.open[job.ID], ended, see, now); !again.IsZero() && (p.event.IsZero() || again.Before(p.event)) {
				p.event = again
			}
		}
		d.catchUp(job, p.began, now)
		d.keepReports(job.Spec)
		if d.keepLimits(rows[i]); !d.changed {
			continue
		}
		status := job.Status
		if d.afresh {
			status.Failures = 0
		}
		status.NextRun, status.Mark = d.next, d.note.mark()
		switch before := noteOf(job); {
		case d.note.Bad != "":
			status.LastResult = d.note.Bad
		case d.note.Wrong != "" && d.note.Wrong != before.Wrong:
			status.LastResult = d.note.Wrong + wrongWords
		case before.Bad != "" && status.LastResult == before.Bad, before.Wrong != "" && status.LastResult == before.Wrong+wrongWords:
			status.LastResult = "" // what was wrong is mended
		}
		if fired := d.fire(); fired != nil {
			status.LastRun = fired.Due
		} else if n := len(d.fires); n > 0 && d.note.Bad == "" {
			status.LastResult = string(d.fires[n-1].State) + ": " + d.fires[n-1].Reason
		}
		job.Status = status
		if failed := p.report(ctx, job, d.fires...); failed != nil {
			if pluginsdk.CodeOf(failed) != pluginsdk.CodeNotFound { // else it was removed just now
				err = errors.Join(err, failed)
			}
			unsure = append(unsure, job.ID)
			continue
		}
		there[job.ID] = job // what is said of it from now on begins with this
		if fired := d.fire(); fired != nil {
			p.open[job.ID] = append(p.open[job.ID], *fired)
			if fired.Reason != "" {
				late = append(late, *fired)
			}
		}
	}
	p.overlook(there)
	for _, id := range unsure { // the decision may be stored all the same: who made a fire of the job now would take it back
		delete(there, id)
	}
	p.apart(ctx, late, now)
	err = errors.Join(err, p.make(ctx, there, now), p.tellAgent(ctx, jobs))
	return p.rest(there), err
}

// setBack takes in that the clock was set back: a read that would have begun in the future has begun now, and a fire that
// would be made later than any is spread is made now. The lock is held.
func (p *Plugin) setBack(now time.Time) {
	for _, s := range p.sights {
		if s.began.After(now) {
			s.began = now
		}
	}
	for key, at := range p.spread {
		if at.After(now.Add(spreadAll)) {
			delete(p.spread, key)
		}
	}
}

// rest is how long no job is due, and no fire is to be made.
func (p *Plugin) rest(jobs map[string]pluginsdk.CronJob) time.Duration {
	now := p.now()
	wait := lookRarely
	until := func(at time.Time) { wait = min(wait, max(at.Sub(now)+lookLate, lookAgain)) }
	for _, job := range jobs {
		if !job.Enabled {
			continue
		}
		wait = min(wait, lookAnyway)
		if next := job.Status.NextRun; !next.IsZero() {
			until(next)
		}
	}
	if !p.event.IsZero() {
		until(p.event)
	}
	for _, s := range p.sights {
		if !s.over && !s.late(now) {
			until(s.began.Add(readLimit))
		}
	}
	for _, open := range p.open {
		for _, fire := range open {
			wait = min(wait, lookAnyway)
			// What waits for a command is made at the end of that one, or of another.
			if waits := p.lookings[keyOf(fire)] != nil || jobs[fire.JobID].Spec.When != "" && p.lookersBusy(jobs[fire.JobID]); fire.State == pluginsdk.FirePending && !waits {
				until(p.spread[keyOf(fire)])
			}
		}
	}
	return wait
}

// report stores what became of a job: its status, and rows of its fires. A row that is over stays as
// it is. After an error nobody knows what was stored: the rows are read again.
func (p *Plugin) report(ctx context.Context, job pluginsdk.CronJob, fires ...pluginsdk.CronFire) error {
	for {
		some := fires[:min(len(fires), 100)]
		_, err := p.host.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: job.Spec.Name, Status: job.Status, Fires: some})
		if err != nil {
			p.loaded = p.loaded && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound
			return err
		}
		if fires = fires[len(some):]; len(fires) == 0 {
			return nil
		}
	}
}

// load reads the fires that are open: what the process before this one has left, and what others ask for.
func (p *Plugin) load(ctx context.Context) error {
	again := p.again.Swap(false)
	if p.loaded && !again {
		return nil
	}
	if err := p.loadOpen(ctx, !p.loaded); err != nil {
		p.again.Store(true)
		return err
	}
	return nil
}

func (p *Plugin) loadOpen(ctx context.Context, first bool) error {
	all, err := p.openFires(ctx)
	if err != nil {
		return err
	}
	p.open = make(map[string][]pluginsdk.CronFire)
	for _, fire := range all {
		p.open[fire.JobID] = append(p.open[fire.JobID], fire)
	}
	var late []pluginsdk.CronFire
	for id := range p.open {
		slices.SortFunc(p.open[id], func(a, b pluginsdk.CronFire) int { return a.Due.Compare(b.Due) })
		for _, fire := range p.open[id] {
			if first && fire.State == pluginsdk.FirePending {
				p.unsure[keyOf(fire)] = true
				if fire.Reason != "" {
					late = append(late, fire)
				}
			}
		}
	}
	p.apart(ctx, late, p.now())
	p.loaded = true
	return nil
}

// openFires are all of which something is yet to become. Where they are more than a page, each job is asked for its own:
// those of one job are due at different times, between which a page can end.
func (p *Plugin) openFires(ctx context.Context) ([]pluginsdk.CronFire, error) {
	page, err := p.host.Crons.Fires(ctx, &pluginsdk.CronFiresRequest{Open: true, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	if !page.More {
		return page.Fires, nil
	}
	jobs, err := p.jobs(ctx)
	if err != nil {
		return nil, err
	}
	removed := func(fire pluginsdk.CronFire) bool {
		return !slices.ContainsFunc(jobs, func(job pluginsdk.CronJob) bool { return job.ID == fire.JobID })
	}
	all := slices.DeleteFunc(page.Fires, func(fire pluginsdk.CronFire) bool { return !removed(fire) })
	for _, job := range jobs {
		fires, err := p.fires(ctx, job, true, math.MaxInt)
		if err != nil {
			return nil, err
		}
		all = append(all, fires...)
	}
	return all, nil
}

// costOf is how many of a job's last fires say what the next may cost.
const costOf = 20

// apart spreads fires that are made up for, those first whose jobs have cost least a fire.
func (p *Plugin) apart(ctx context.Context, late []pluginsdk.CronFire, now time.Time) {
	if len(late) < 2 {
		return
	}
	costs := make(map[string]float64, len(late))
	for _, fire := range late {
		answer, err := p.host.Crons.Fires(ctx, &pluginsdk.CronFiresRequest{Name: fire.Job, Limit: costOf})
		if err != nil {
			continue // it is spread all the same
		}
		for _, before := range answer.Fires {
			costs[fire.JobID] = max(costs[fire.JobID], before.CostUSD)
		}
	}
	slices.SortStableFunc(late, func(a, b pluginsdk.CronFire) int { return cmp.Compare(costs[a.JobID], costs[b.JobID]) })
	each := spreadEach
	if n := len(late); n > 1 {
		each = min(each, spreadAll/time.Duration(n-1))
	}
	for i, fire := range late {
		p.spread[keyOf(fire)] = now.Add(time.Duration(i) * each)
	}
}
