package cron

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	pageSize = 1000
	// spreadEach is how far apart fires are made that were missed, spreadAll how long the last of
	// them waits at most.
	spreadEach = 20 * time.Second
	spreadAll  = 5 * time.Minute
	// pauseAfter is after how many failures in a row a job is turned off.
	pauseAfter = 5
	// runsAtOnce is how many runs are asked for at a time; the host takes no more.
	runsAtOnce = 100
	// lastMessages is how many of a thread's last messages are looked through for one that may
	// have been submitted before a crash.
	lastMessages = 100
)

// fireKey says which fire one is.
type fireKey struct {
	job string // id
	due int64  // Unix, in microseconds
}

func keyOf(fire pluginsdk.CronFire) fireKey { return fireKey{fire.JobID, fire.Due.UnixMicro()} }

// submitKey is the key under which a fire is submitted.
func submitKey(jobID string, due time.Time) string {
	return jobID + "@" + due.UTC().Format(time.RFC3339Nano)
}

// jobs are all of them.
func (p *Plugin) jobs(ctx context.Context) (all []pluginsdk.CronJob, err error) {
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

// Look decides what is due, and makes what is to be made.
func (p *Plugin) Look(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(ctx); err != nil {
		return err
	}
	jobs, err := p.jobs(ctx)
	if err != nil {
		return err
	}
	there := make(map[string]pluginsdk.CronJob, len(jobs))
	for _, job := range jobs {
		there[job.ID] = job
	}
	for id := range p.open { // a job that was removed has closed its fires
		if _, ok := there[id]; !ok {
			delete(p.open, id)
		}
	}
	now := p.now()
	var late []pluginsdk.CronFire
	for _, job := range jobs {
		d := decide(job, p.open[job.ID], now)
		if !d.changed {
			continue
		}
		status := job.Status
		status.NextRun, status.Mark = d.next, d.note.mark()
		if d.note.Bad != "" {
			status.LastResult = d.note.Bad
		}
		if fired := d.fire(); fired != nil {
			status.LastRun = fired.Due
		} else if n := len(d.fires); n > 0 {
			status.LastResult = string(d.fires[n-1].State) + ": " + d.fires[n-1].Reason
		}
		job.Status = status
		if failed := p.report(ctx, job, d.fires...); failed != nil {
			err = errors.Join(err, failed)
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
	p.apart(late, there, now)
	return errors.Join(err, p.make(ctx, there, now))
}

// report stores what became of a job: its status, and rows of its fires. Of a job that is gone
// nothing is to be said.
func (p *Plugin) report(ctx context.Context, job pluginsdk.CronJob, fires ...pluginsdk.CronFire) error {
	for {
		some := fires[:min(len(fires), 100)]
		_, err := p.host.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: job.Spec.Name, Status: job.Status, Fires: some})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return nil
		}
		if fires = fires[len(some):]; err != nil || len(fires) == 0 {
			return err
		}
	}
}

// load reads what the process before this one has left.
func (p *Plugin) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	p.open, p.spread = make(map[string][]pluginsdk.CronFire), make(map[fireKey]time.Time)
	for before := (time.Time{}); ; {
		page, err := p.host.Crons.Fires(ctx, &pluginsdk.CronFiresRequest{Open: true, Before: before, Limit: pageSize})
		if err != nil {
			return err
		}
		for _, fire := range page.Fires {
			p.open[fire.JobID] = append(p.open[fire.JobID], fire)
			before = fire.Due
		}
		if !page.More || len(page.Fires) == 0 {
			break
		}
	}
	for id := range p.open {
		slices.SortFunc(p.open[id], func(a, b pluginsdk.CronFire) int { return a.Due.Compare(b.Due) })
	}
	p.loaded = true
	return nil
}

// apart spreads fires that are made up for, the cheapest job's first.
func (p *Plugin) apart(late []pluginsdk.CronFire, jobs map[string]pluginsdk.CronJob, now time.Time) {
	slices.SortStableFunc(late, func(a, b pluginsdk.CronFire) int {
		return cmp.Compare(len(jobs[a.JobID].Spec.Prompt), len(jobs[b.JobID].Spec.Prompt))
	})
	each := spreadEach
	if n := len(late); n > 1 {
		each = min(each, spreadAll/time.Duration(n-1))
	}
	for i, fire := range late {
		p.spread[keyOf(fire)] = now.Add(time.Duration(i) * each)
	}
}

// make submits the fires whose moment has come.
func (p *Plugin) make(ctx context.Context, jobs map[string]pluginsdk.CronJob, now time.Time) (err error) {
	for id, open := range p.open {
		for i := range open {
			fire := &open[i]
			if fire.State != pluginsdk.FirePending || p.spread[keyOf(*fire)].After(now) {
				continue
			}
			job := jobs[id]
			made, failed := p.submit(ctx, job, *fire, open[:i], now)
			if failed == nil {
				jobs[id], failed = p.say(ctx, job, made)
			}
			if failed != nil {
				err = errors.Join(err, fmt.Errorf("job %s: %w", job.Spec.Name, failed))
				continue
			}
			delete(p.spread, keyOf(*fire))
			*fire = made
		}
		p.open[id] = slices.DeleteFunc(open, func(fire pluginsdk.CronFire) bool { return !fire.State.Open() })
	}
	return err
}

// say reports a fire, and with it what it means for its job, which it returns as it is then.
func (p *Plugin) say(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire) (pluginsdk.CronJob, error) {
	before, status := job, &job.Status
	switch fire.State { //nolint:exhaustive // nothing is to be said of the others
	case pluginsdk.FireSucceeded:
		status.Failures, status.LastResult = 0, "succeeded"
	case pluginsdk.FireFailed:
		status.Failures++
		status.LastResult = "failed: " + clip(fire.Reason)
	case pluginsdk.FireCancelled, pluginsdk.FireMissed, pluginsdk.FireSkipped:
		status.LastResult = string(fire.State) + ": " + clip(fire.Reason)
	}
	if err := p.report(ctx, job, fire); err != nil {
		return before, err
	}
	if fire.State == pluginsdk.FireFailed && status.Failures >= pauseAfter {
		return job, p.pause(ctx, job, fire, status.Failures)
	}
	return job, nil
}

// clip bounds words that go into a row.
func clip(words string) string {
	const most = 1000
	if len(words) > most {
		return strings.ToValidUTF8(words[:most], "") + " …"
	}
	return words
}

// pause turns a job off that fails again and again, and tells its people.
func (p *Plugin) pause(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire, failures int) error {
	if _, err := p.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: job.Spec.Name}); err != nil {
		return err
	}
	threadID, err := p.thread(ctx, job)
	if err != nil {
		return err
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: threadID, Key: "paused:" + submitKey(job.ID, fire.Due), Deliver: true,
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Content: fmt.Sprintf(
			"The schedule %s is off: it has failed %d times in a row, last with: %s\n\nTo turn it on again: /cron on %s", job.Spec.Name, failures, clip(fire.Reason), job.Spec.Name)}},
	})
	return err
}

// thread is where a job's fires are submitted: the thread that it names, or one of its own.
func (p *Plugin) thread(ctx context.Context, job pluginsdk.CronJob) (string, error) {
	if job.Spec.ThreadID != "" {
		return job.Spec.ThreadID, nil
	}
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: name, SourceID: job.ID, Name: job.Spec.Name, Kind: pluginsdk.ThreadCron, ReportTo: job.Spec.ReportTo,
	}})
	if err != nil {
		return "", err
	}
	thread := made.Thread
	if job.Spec.ReportTo != (pluginsdk.Target{}) && thread.ReportTo != job.Spec.ReportTo { // it was changed since
		_, err = p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: thread.ID, Patch: pluginsdk.ThreadPatch{ReportTo: &job.Spec.ReportTo}})
	}
	return thread.ID, err
}

// submit makes a fire, and returns what it is then. An error means that it is to be tried again.
// before are the fires of the job that are open and were due before.
func (p *Plugin) submit(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire, before []pluginsdk.CronFire, now time.Time) (pluginsdk.CronFire, error) {
	key := submitKey(job.ID, fire.Due)
	threadID, err := p.thread(ctx, job)
	if err == nil {
		if fire, over, err := p.tooLate(ctx, job, fire, threadID, key, now); over || err != nil {
			return fire, err
		}
		if job.Spec.Overlap == pluginsdk.OverlapCancel {
			for _, one := range before {
				if one.RunID == "" {
					continue
				}
				if _, err := p.host.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: one.RunID}); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
					return fire, err
				}
			}
		}
		var answer *pluginsdk.SubmitMessageResponse
		answer, err = p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
			ThreadID: threadID, Key: key, Author: job.Spec.Name, Content: job.Spec.Prompt, Unattended: job.Spec.ThreadID == "",
		}})
		if err == nil {
			fire.State, fire.RunID = pluginsdk.FireRunning, answer.Accepted.RunID
			return fire, nil
		}
	}
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
	case pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeConflict, pluginsdk.CodeDenied, pluginsdk.CodeStale, pluginsdk.CodeUnimplemented:
	default:
		return fire, err
	}
	fire.State, fire.Reason, fire.EndedAt = pluginsdk.FireFailed, "its prompt was refused: "+clip(err.Error()), now
	return fire, nil
}

// tooLate ends a fire that was decided, and that nobody was there to make since: one that was not
// submitted, as far as the thread shows, and may not be made so late.
func (p *Plugin) tooLate(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire, threadID, key string, now time.Time) (pluginsdk.CronFire, bool, error) {
	when, err := timesOf(job.Spec)
	if err != nil || fire.Cause != pluginsdk.FireScheduled {
		return fire, false, nil //nolint:nilerr // it was decided when the schedule could be read
	}
	late := now.Sub(fire.Due.Add(shift(job)))
	if most := lateness(job.Spec, when, fire.Due); most < 0 || late <= most+spreadAll {
		return fire, false, nil
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: threadID, Roles: []pluginsdk.Role{pluginsdk.RoleUser}, Last: true, Limit: lastMessages,
	}})
	if err != nil {
		return fire, false, err
	}
	for _, message := range page.Messages {
		if strings.HasSuffix(message.Key, key) && message.RunID != "" {
			fire.State, fire.RunID = pluginsdk.FireRunning, message.RunID
			return fire, true, nil
		}
	}
	fire.State, fire.EndedAt = pluginsdk.FireMissed, now
	fire.Reason = fmt.Sprintf("it was to be made, and then nobody was there for %s", short(late))
	return fire, true, nil
}

// settle takes in what became of the runs of fires.
func (p *Plugin) settle(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.loaded {
		return nil
	}
	var ids []string
	for _, open := range p.open {
		for _, fire := range open {
			if fire.RunID != "" {
				ids = append(ids, fire.RunID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	runs := make(map[string]pluginsdk.Run, len(ids))
	for some := range slices.Chunk(ids, runsAtOnce) {
		page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: some, Limit: runsAtOnce}})
		if err != nil {
			return err
		}
		for _, run := range page.Runs {
			runs[run.ID] = run
		}
	}
	return p.settleAll(ctx, runs)
}

func (p *Plugin) settleAll(ctx context.Context, runs map[string]pluginsdk.Run) (err error) {
	var jobs map[string]pluginsdk.CronJob
	for id, open := range p.open {
		for i := range open {
			fire := &open[i]
			if fire.RunID == "" {
				continue
			}
			run, there := runs[fire.RunID]
			if there && !run.State.Final() {
				continue
			}
			if jobs == nil {
				all, err := p.jobs(ctx)
				if err != nil {
					return err
				}
				jobs = make(map[string]pluginsdk.CronJob, len(all))
				for _, job := range all {
					jobs[job.ID] = job
				}
			}
			job, known := jobs[id]
			if !known {
				break // the next look drops it
			}
			now := ended(*fire, run, there, p.now())
			var failed error
			if jobs[id], failed = p.say(ctx, job, now); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			*fire = now
		}
		p.open[id] = slices.DeleteFunc(open, func(fire pluginsdk.CronFire) bool { return !fire.State.Open() })
	}
	return err
}

// ended is a fire whose run is over, or not there any more.
func ended(fire pluginsdk.CronFire, run pluginsdk.Run, there bool, now time.Time) pluginsdk.CronFire {
	if !there {
		fire.State, fire.Reason, fire.EndedAt = pluginsdk.FireCancelled, "its run is not there any more", now
		return fire
	}
	fire.CostUSD, fire.EndedAt = run.CostUSD, run.FinishedAt
	switch run.State { //nolint:exhaustive // the others are not final
	case pluginsdk.RunSucceeded:
		fire.State = pluginsdk.FireSucceeded
	case pluginsdk.RunFailed:
		fire.State, fire.Reason = pluginsdk.FireFailed, clip(run.Error)
	case pluginsdk.RunCancelled:
		fire.State, fire.Reason = pluginsdk.FireCancelled, clip(run.Error)
	case pluginsdk.RunMerged: // another run answers it
		fire.RunID = run.MergedInto
	}
	return fire
}
