package cron

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnCheck names schedules that cannot be read, that wait for confirmation, that were turned off after failures, and that
// have not succeeded for long.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	jobs, err := p.jobs(ctx)
	if err != nil {
		return nil, err
	}
	var checks []pluginsdk.Check
	on := 0
	for _, job := range jobs {
		if job.Enabled {
			on++
		} else if !paused(job) {
			continue
		}
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
	if paused(job) {
		return &pluginsdk.Check{
			Name: name, State: pluginsdk.CheckWarning, Detail: fmt.Sprintf("it was turned off after %s; last: %s", failuresWords(job.Status.Failures), job.Status.LastResult),
			Remedy: "see `harness cron history " + job.Spec.Name + "`, then `harness cron on " + job.Spec.Name + "`, or change or remove it",
		}, nil
	}
	if _, err := timesOf(job.Spec); err != nil {
		return &pluginsdk.Check{Name: name, State: pluginsdk.CheckFailing, Detail: err.Error(), Remedy: "mend it, or turn it off with `harness cron off " + job.Spec.Name + "`"}, nil
	}
	if !confirmed(job) {
		return &pluginsdk.Check{
			Name: name, State: pluginsdk.CheckWarning, Detail: "it needs confirmation, and does not fire: its when, model, permission_mode, tools or file, or the prompt that they are for, were not set by an operator",
			Remedy: "look at it with `harness cron show " + job.Spec.Name + "`, then `harness cron confirm " + job.Spec.Name + "`, or `harness cron off " + job.Spec.Name + "`",
		}, nil
	}
	if wrong := noteOf(job).Wrong; wrong != "" {
		return &pluginsdk.Check{Name: name, State: pluginsdk.CheckWarning, Detail: wrong + wrongWords, Remedy: "mend the row, or say another value with `harness cron edit`"}, nil
	}
	if job.Spec.ReportTo.Plugin != "" && job.Spec.ThreadID == "" {
		if _, err := p.thread(ctx, job); err != nil {
			if !final(err) {
				return nil, err
			}
			return &pluginsdk.Check{Name: name, State: pluginsdk.CheckFailing, Detail: "it cannot report to " + job.Spec.ReportTo.String() + ": " + err.Error(), Remedy: "say another with `harness cron edit '" + job.Spec.Name + " | report_to = PLUGIN:PLACE'`, or none"}, nil
		}
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
	if !job.Spec.FireAt.IsZero() {
		return nil, nil
	}
	return p.checkFires(ctx, job)
}
