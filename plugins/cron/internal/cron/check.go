package cron

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// neglected is for how many intervals a job may be without a fire that has succeeded.
const neglected = 3

// OnCheck names schedules that cannot be read, and those that have not succeeded for long.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var checks []pluginsdk.Check
	on := 0
	for _, job := range jobs {
		if !job.Enabled {
			continue
		}
		on++
		if len(checks) >= 30 { // a plugin tells of 32 at most
			continue
		}
		check, err := p.checkJob(ctx, job)
		if err != nil {
			return nil, err
		}
		if check != nil {
			checks = append(checks, *check)
		}
	}
	if len(checks) == 0 {
		checks = append(checks, pluginsdk.Check{Name: "schedules", State: pluginsdk.CheckOK, Detail: fmt.Sprintf("%d on, of %d", on, len(jobs))})
	}
	return &pluginsdk.OnCheckResponse{Checks: checks}, nil
}

// checkJob is what is wrong with a job; nil: nothing.
func (p *Plugin) checkJob(ctx context.Context, job pluginsdk.CronJob) (*pluginsdk.Check, error) {
	name := "schedule " + job.Spec.Name
	when, err := timesOf(job.Spec)
	if err != nil {
		return &pluginsdk.Check{Name: name, State: pluginsdk.CheckFailing, Detail: err.Error(), Remedy: "mend it, or turn it off with `harness cron off " + job.Spec.Name + "`"}, nil
	}
	if !confirmed(job) {
		return &pluginsdk.Check{
			Name: name, State: pluginsdk.CheckWarning, Detail: "it needs confirmation, and does not fire: its when, model, permission_mode, tools or file, or the prompt that they are for, were not set by an operator",
			Remedy: "look at it with `harness cron show " + job.Spec.Name + "`, then `harness cron confirm " + job.Spec.Name + "`, or `harness cron off " + job.Spec.Name + "`",
		}, nil
	}
	if unread := noteOf(job).Unread; unread != "" {
		return &pluginsdk.Check{Name: name, State: pluginsdk.CheckWarning, Detail: "its file cannot be read: " + unread, Remedy: "have the daemon read the file, or say another with `harness cron edit`"}, nil
	}
	if why := keepWrong(job.Spec); why != "" {
		return &pluginsdk.Check{Name: name, State: pluginsdk.CheckWarning, Detail: why, Remedy: "say a longer time, as in `harness cron edit '" + job.Spec.Name + " | keep = 30d'`"}, nil
	}
	if thread := tellsThread(job.Spec); thread != "" {
		_, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: thread})
		switch {
		case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
			return &pluginsdk.Check{
				Name: name, State: pluginsdk.CheckWarning, Detail: "the thread " + thread + ", to which it reports, is not there any more: what it says stands in its own thread",
				Remedy: "say another with `harness cron edit '" + job.Spec.Name + " | report_to = thread:ID'`, or none",
			}, nil
		case err != nil:
			return nil, err
		}
	}
	if job.Status.Failures == 0 || !job.Spec.FireAt.IsZero() {
		return nil, nil
	}
	if job.Spec.Trigger != "" && job.Status.Failures < neglected { // it has no intervals: failures in a row are counted
		return nil, nil
	}
	success, err := p.lastSuccess(ctx, job)
	if err != nil {
		return nil, err
	}
	since := job.CreatedAt
	if !success.Due.IsZero() {
		since = success.Due
	}
	due, now := since, p.now()
	for n := 0; n < neglected && job.Spec.Trigger == ""; n++ {
		if due = when.Next(due); due.IsZero() || due.After(now) {
			return nil, nil
		}
	}
	return &pluginsdk.Check{
		Name: name, State: pluginsdk.CheckWarning, Detail: fmt.Sprintf("it has not succeeded since %s; last: %s", since.UTC().Format(time.RFC3339), job.Status.LastResult),
		Remedy: "see `harness cron history " + job.Spec.Name + "`",
	}, nil
}
