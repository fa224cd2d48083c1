package cron

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// runsAtOnce is how many runs are asked for at a time; the host takes no more.
const runsAtOnce = 100

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
	runs, err := p.runs(ctx, ids)
	if err != nil {
		return err
	}
	return p.settleAll(ctx, runs)
}

// runs finds runs by id. Those that are not there are left out.
func (p *Plugin) runs(ctx context.Context, ids []string) (map[string]pluginsdk.Run, error) {
	runs := make(map[string]pluginsdk.Run, len(ids))
	for some := range slices.Chunk(ids, runsAtOnce) {
		for after, found := "", 0; found < len(some); {
			page, err := p.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: some, After: after, Limit: runsAtOnce}})
			if err != nil {
				return nil, err
			}
			if len(page.Runs) == 0 { // one that is not full may have others after it: the host cuts a page by its bytes
				break
			}
			for _, run := range page.Runs {
				runs[run.ID], after = run, run.ID
			}
			found += len(page.Runs)
		}
	}
	return runs, nil
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
			if there && !run.State.Final() && !p.removed[id] {
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
				err = errors.Join(err, p.settleRemoved(ctx, fire, run, there))
				continue
			}
			now := ended(job.Spec, *fire, run, there, p.now())
			failed := p.takeDenied(ctx, job, &now)
			if failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			if failed = p.tellReply(ctx, now, run); failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			if jobs[id], failed = p.say(ctx, job, now); pluginsdk.CodeOf(failed) == pluginsdk.CodeNotFound { // it was removed just now
				failed = p.settleRemoved(ctx, fire, run, there)
			}
			if failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			*fire = now
		}
		p.open[id] = slices.DeleteFunc(open, func(fire pluginsdk.CronFire) bool { return !fire.State.Open() })
		if p.removed[id] {
			p.dropRemoved(id)
		}
	}
	return err
}

// takeDenied has a fire whose run a plugin did not let happen, such as for a budget that is used up, count as
// skipped: the job has not failed, and need not be turned off for it. People are told of the first one in a day, unless a
// person has asked for it in a thread.
func (p *Plugin) takeDenied(ctx context.Context, job pluginsdk.CronJob, fire *pluginsdk.CronFire) error {
	if fire.State != pluginsdk.FireFailed || fire.CostUSD > 0 {
		return nil
	}
	threadID, err := p.thread(ctx, job)
	if err != nil {
		return err
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: threadID, RunID: fire.RunID, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageStatus}, Last: true, Limit: lastMessages,
	}})
	if err != nil {
		return err
	}
	for _, message := range page.Messages {
		var of struct {
			Denied string `json:"denied"`
		}
		if json.Unmarshal(message.Metadata, &of) != nil || of.Denied == "" {
			continue
		}
		fire.State, fire.Reason = pluginsdk.FireSkipped, "the plugin "+of.Denied+" did not let it run: "+fire.Reason
		if !ofItself(*fire) && noteOf(job).asker(*fire) != "" {
			return nil // who has asked is told; see sayFailed
		}
		err := p.tell(ctx, job, "denied:"+job.ID+":"+fire.EndedAt.UTC().Format(time.DateOnly), fmt.Sprintf("The schedule %s did not run: %s", job.Spec.Name, fire.Reason))
		if err != nil && !final(err) {
			return err
		}
		return nil
	}
	return nil
}

// ended is a fire whose run is over, or not there any more. A run that has said nothing, of a job whose
// reply people are shown, has failed.
func ended(spec pluginsdk.CronSpec, fire pluginsdk.CronFire, run pluginsdk.Run, there bool, now time.Time) pluginsdk.CronFire {
	if !there {
		fire.State, fire.Reason, fire.EndedAt = pluginsdk.FireCancelled, "its run is not there any more", now
		return fire
	}
	if run.State == pluginsdk.RunMerged {
		fire.RunID, fire.Reason = run.MergedInto, mergedWords
		return fire
	}
	if fire.EndedAt = run.FinishedAt; fire.Reason != mergedWords {
		fire.CostUSD = run.CostUSD
	}
	switch run.State { //nolint:exhaustive // the others are not final
	case pluginsdk.RunSucceeded:
		fire.State = pluginsdk.FireSucceeded
		if shown := spec.Report == "" || spec.Report == pluginsdk.ReportAlways; shown && run.Result != nil && strings.TrimSpace(run.Result.Text) == "" && len(run.Outcomes) == 0 {
			fire.State, fire.Reason = pluginsdk.FireFailed, "its run has said nothing"
		}
	case pluginsdk.RunFailed:
		fire.State, fire.Reason = pluginsdk.FireFailed, clip(run.Error)
	case pluginsdk.RunCancelled:
		fire.State, fire.Reason = pluginsdk.FireCancelled, clip(run.Error)
	}
	return fire
}

// say reports a fire, and with it what it means for its job, which it returns as it is then.
func (p *Plugin) say(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire) (pluginsdk.CronJob, error) {
	before, status := job, &job.Status
	switch fire.State { //nolint:exhaustive // nothing is to be said of the others
	case pluginsdk.FireRunning:
		if fire.Cause != pluginsdk.FireScheduled && fire.Cause != pluginsdk.FireEvent && fire.DecidedAt.After(status.LastRun) {
			status.LastRun = fire.DecidedAt
		}
	case pluginsdk.FireSucceeded:
		status.Failures, status.LastResult = 0, "succeeded"
	case pluginsdk.FireFailed:
		if ofItself(fire) {
			status.Failures++
		}
		status.LastResult = "failed: " + clip(fire.Reason)
	case pluginsdk.FireCancelled, pluginsdk.FireMissed, pluginsdk.FireSkipped:
		status.LastResult = string(fire.State) + ": " + clip(fire.Reason)
	}
	if err := p.sayFailed(ctx, before, status.Failures, fire); err != nil { // first, so that no crash keeps it from people
		return before, err
	}
	if err := p.report(ctx, job, fire); err != nil {
		return before, err
	}
	delete(p.notices, fire.RunID)
	if status.Failures >= p.pauseAfter() {
		p.soon()
	}
	return job, nil
}

// sayFailed tells who is to know it that a fire has failed: of what a job does of itself its people, once; of what a person
// has asked for that person.
func (p *Plugin) sayFailed(ctx context.Context, before pluginsdk.CronJob, failures int, fire pluginsdk.CronFire) error {
	if ofItself(fire) {
		if pauses := failures >= p.pauseAfter() && !over(before); fire.State == pluginsdk.FireFailed && failures == 1 && !pauses { // else they are told that it is off
			return p.tellFailure(ctx, before, fire)
		}
		return nil
	}
	if fire.State == pluginsdk.FireFailed || fire.State == pluginsdk.FireSkipped {
		return p.tellAsker(ctx, before, fire, noteOf(before).asker(fire))
	}
	return nil
}

// clip bounds words that go into a row. Those of a mark may have six bytes for each in it, and a mark has 4 KiB.
func clip(words string) string {
	const most = 500
	if len(words) > most {
		return strings.ToValidUTF8(words[:most], "") + " …"
	}
	return words
}

// pause tells the people of a job that fails again and again that it is turned off, and turns it off.
// That nobody can be told does not leave it on.
func (p *Plugin) pause(ctx context.Context, job pluginsdk.CronJob) error {
	err := p.tell(ctx, job, "paused:"+submitKey(job.ID, job.Status.LastRun), fmt.Sprintf(
		"The schedule %s is off: it has failed %s. The last time: %s\n\nTo turn it on again: %s", job.Spec.Name, inARow(job.Status.Failures), job.Status.LastResult, turnOn(job).Command), turnOn(job))
	if err != nil && !final(err) {
		return err
	}
	if err != nil {
		p.host.Log.Warn("nobody could be told that a schedule is turned off, which has failed again and again", "job", job.Spec.Name, "err", err)
	}
	_, err = p.host.Crons.SetEnabled(ctx, &pluginsdk.SetCronEnabledRequest{Name: job.Spec.Name})
	return err
}

// final reports whether an error stays as it is when the same is tried again.
func final(err error) bool {
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others may pass
	case pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeConflict, pluginsdk.CodeDenied, pluginsdk.CodeStale, pluginsdk.CodeUnimplemented:
		return true
	}
	return false
}
