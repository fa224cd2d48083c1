package cron

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// seeds are the jobs that Harness comes with. They are off until somebody turns them on.
var seeds = []pluginsdk.CronSpec{
	{
		Name: "Morning Digest", Schedule: "0 7 * * *",
		Prompt: "Write the digest of this morning: what is in the calendar today, mail that wants an answer, what is open from yesterday in memory.md and inbox.md. Short, the most important first.",
	},
	{
		Name: "Memory Consolidation", Schedule: "0 1 * * *",
		Prompt: "If you have the tool summaries__consolidate, call it and do nothing else. Only if you do not have it, or it says that it is off, consolidate the memory by hand: take what is worth keeping from inbox.md into memory.md, each with its date, and clear what you have taken from inbox.md. Keep memory.md within 100 lines: leave out what is no longer true. Invent nothing.",
	},
	{
		Name: "Calendar/Email Refresh", Schedule: "*/30 * * * *",
		Prompt: "Look at the calendar and the mail for what is new since the last time. Keep world-state.md current. Tell people what they have to know today, and nothing else.",
		Report: pluginsdk.ReportOnNotify,
	},
	{
		Name: "Weekly Review", Schedule: "0 17 * * fri",
		Prompt: "Write the review of this week: what was done, what is open, what comes next week. Short.",
	},
}

// seededKey is where it is kept which seeds were made: one that somebody has removed or changed stays so.
const seededKey = "seeds"

// seed makes the jobs that Harness comes with, each once.
func (p *Plugin) seed(ctx context.Context) error {
	var made []string
	answer, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: seededKey})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(answer.Entry.Value, &made); err != nil {
			p.host.Log.Error("it cannot be read which schedules were made at the first start", "err", err)
			return nil
		}
	}
	missing := slices.DeleteFunc(slices.Clone(seeds), func(spec pluginsdk.CronSpec) bool { return slices.Contains(made, spec.Name) })
	if len(missing) == 0 {
		return nil
	}
	jobs, err := p.jobs(ctx)
	if err != nil {
		return err
	}
	for _, spec := range missing {
		made = append(made, spec.Name)
		if find(jobs, spec.Name) != nil {
			continue
		}
		spec.Timezone, spec.Missed = "America/Phoenix", pluginsdk.MissedRun
		if _, err := p.host.Crons.Save(ctx, &pluginsdk.SaveCronRequest{Spec: spec}); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(made)
	if err != nil {
		return err
	}
	_, err = p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: seededKey, Value: encoded})
	return err
}

// find is the job of that name, or nil.
func find(jobs []pluginsdk.CronJob, name string) *pluginsdk.CronJob {
	if i := slices.IndexFunc(jobs, func(job pluginsdk.CronJob) bool { return job.Spec.Name == name }); i >= 0 {
		return &jobs[i]
	}
	return nil
}
