// Package cron is a draft of the plugin that fires jobs on a schedule.
package cron

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	name = "cron"
	// late is how long after its time a fire is still in time.
	late = time.Minute
)

// Plugin submits the message of each job when it is due, once for each time that
// it is due, however often it is killed over it. Schedules are @every DURATION:
// this is a draft.
type Plugin struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Every is how often it looks; 0 means each second.
	Every time.Duration
	// Seeds are jobs that are to be there, off.
	Seeds []pluginsdk.CronSpec

	host pluginsdk.Host
	stop context.CancelFunc
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Fires jobs on a schedule", Exclusive: true,
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapCronsRead, Reason: "know the jobs"},
			{Capability: pluginsdk.CapCronsWrite, Reason: "make the jobs that it comes with, and say what became of each"},
			{Capability: pluginsdk.CapThreadsWrite, Reason: "each job has a thread"},
			{Capability: pluginsdk.CapThreadsAdmin, Reason: "have what a job says go to where the job says"},
			{Capability: pluginsdk.CapMessagesSubmit, Reason: "give the agent the prompt of a job"},
		},
	}
}

// Start keeps the host.
func (p *Plugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

// Activate makes the jobs that it comes with, and begins to fire.
func (p *Plugin) Activate(ctx context.Context) error {
	for _, spec := range p.Seeds {
		if _, err := p.host.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec}); err != nil {
			return err
		}
	}
	if err := p.Fire(ctx); err != nil {
		return err
	}
	ctx, p.stop = context.WithCancel(context.Background()) // it outlives this call
	go func() {
		for ticks := time.NewTicker(cmp.Or(p.Every, time.Second)); ; {
			select {
			case <-ticks.C:
				if err := p.Fire(ctx); err != nil && ctx.Err() == nil {
					p.host.Log.Warn("jobs that are due could not all be fired; trying again", "err", err)
				}
			case <-ctx.Done():
				ticks.Stop()
				return
			}
		}
	}()
	return nil
}

// Deactivate ends firing.
func (p *Plugin) Deactivate(context.Context) error {
	if p.stop != nil {
		p.stop()
	}
	return nil
}

// Fire fires what is due.
func (p *Plugin) Fire(ctx context.Context) (err error) {
	answer, err := p.host.Crons.List(ctx, &pluginsdk.ListCronsRequest{})
	if err != nil {
		return err
	}
	for _, job := range answer.Jobs {
		if job.Enabled {
			err = errors.Join(err, p.one(ctx, job))
		}
	}
	return err
}

// one fires a job at the latest time that it was due, and says so. Between the two
// it may be killed: the message of that time is known by then.
func (p *Plugin) one(ctx context.Context, job pluginsdk.CronJob) error {
	now := time.Now()
	if p.Now != nil {
		now = p.Now()
	}
	due, next, err := times(job, now)
	status := job.Status // the report is of all of it
	status.NextRun = next
	switch {
	case err != nil:
		return err
	case due.IsZero() && next.Equal(job.Status.NextRun):
		return nil
	case due.IsZero():
	case job.Spec.Missed == pluginsdk.MissedSkip && now.Sub(due) > late:
		status.LastRun, status.LastResult = due, "missed"
	default:
		run, err := p.submit(ctx, job, due)
		if err != nil {
			return err
		}
		status.LastRun, status.LastResult = due, "run "+run
	}
	_, err = p.host.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Name: job.Spec.Name, Status: status})
	return err
}

func (p *Plugin) submit(ctx context.Context, job pluginsdk.CronJob, due time.Time) (runID string, err error) {
	threadID := job.Spec.ThreadID
	if threadID == "" {
		made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
			Source: name, SourceID: job.ID, Name: job.Spec.Name, Kind: pluginsdk.ThreadCron, ReportTo: job.Spec.ReportTo,
		}})
		if err != nil {
			return "", err
		}
		threadID = made.Thread.ID
	}
	answer, err := p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: threadID, Key: job.ID + "@" + due.UTC().Format(time.RFC3339), Author: job.Spec.Name, Content: job.Spec.Prompt,
	}})
	if err != nil {
		return "", err
	}
	return answer.Accepted.RunID, nil
}

// times returns the latest time up to now that a job was due since it was fired
// last, zero when there is none, and the next one.
func times(job pluginsdk.CronJob, now time.Time) (due, next time.Time, err error) {
	last := job.Status.LastRun
	if last.IsZero() {
		last = job.CreatedAt
	}
	if at := job.Spec.FireAt; !at.IsZero() {
		if at.After(now) {
			return due, at, nil
		}
		if job.Status.LastRun.IsZero() {
			due = at
		}
		return due, next, nil
	}
	every, err := time.ParseDuration(strings.TrimPrefix(job.Spec.Schedule, "@every "))
	if err != nil || every <= 0 {
		return due, next, pluginsdk.Errorf(pluginsdk.CodeInvalid, "job %s: schedule %q: want one such as @every 30m", job.Spec.Name, job.Spec.Schedule)
	}
	if latest := now.Truncate(every); latest.After(last) {
		due = latest
	}
	return due, now.Truncate(every).Add(every), nil
}
