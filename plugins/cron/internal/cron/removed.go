package cron

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// removedWords are the reason of a fire that did not come to its end since its job was removed.
const removedWords = "the schedule was removed"

// dropRemoved forgets the fires of a job that was removed and are not made yet: their rows are closed. Those whose message is
// submitted are followed to their end: one whose run waits is cancelled, and what a run at work has come to stands in its row.
func (p *Plugin) dropRemoved(id string) {
	submitted := slices.DeleteFunc(p.open[id], func(fire pluginsdk.CronFire) bool { return fire.RunID == "" })
	maps.DeleteFunc(p.lookings, func(key fireKey, _ *looking) bool { return key.job == id })
	if len(submitted) > 0 {
		p.open[id] = submitted
		if !p.removed[id] {
			p.removed[id] = true
			p.over.Store(true)
		}
		return
	}
	delete(p.open, id)
	delete(p.removed, id)
	if len(p.open) == 0 {
		clear(p.notices)
	}
}

// settleRemoved takes in what became of the run of a fire whose job was removed, and cancels one that waits.
func (p *Plugin) settleRemoved(ctx context.Context, fire *pluginsdk.CronFire, run pluginsdk.Run, there bool) error {
	if there && run.State == pluginsdk.RunQueued {
		if err := p.cancelRun(ctx, run.ID); err != nil {
			return err
		}
		p.over.Store(true) // its end is seen by the next look
		return nil
	}
	if there && !run.State.Final() {
		return nil
	}
	now := ended(pluginsdk.CronSpec{}, *fire, run, there, p.now())
	if now.State == pluginsdk.FireCancelled {
		now.Reason = removedWords
	}
	if err := p.tellReply(ctx, now, run); err != nil {
		return err
	}
	if _, err := p.host.Crons.Report(ctx, &pluginsdk.ReportCronRequest{Fires: []pluginsdk.CronFire{now}}); err != nil && !final(err) {
		return err
	}
	delete(p.notices, fire.RunID)
	*fire = now
	return nil
}

// cancelRun cancels a run, if there is one that is not over.
func (p *Plugin) cancelRun(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	if _, err := p.host.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: id}); err != nil && !final(err) {
		return err
	}
	return nil
}
