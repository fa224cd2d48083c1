package discord

import (
	"context"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// keptOver is how long the record of a run is kept after its end, if its answer did not
// come: a delivery is tried for hours.
const keptOver = 48 * time.Hour

// resume takes up what the process before this one has left, and what events were missed
// about: questions that were answered meanwhile, and runs that are at work or over.
func (p *Plugin) resume(ctx context.Context) {
	if err := p.resumeApprovals(ctx); err != nil {
		p.host.Log.Warn("approvals that are over may still be offered on Discord", "err", err)
	}
	if err := p.resumeRuns(ctx); err != nil {
		p.host.Log.Warn("runs may not show how far they are", "err", err)
	}
}

func (p *Plugin) resumeApprovals(ctx context.Context) error {
	for after := ""; ; {
		list, cancel := context.WithTimeout(ctx, hostTime)
		page, err := p.host.State.List(list, &pluginsdk.ListStateRequest{Prefix: approvalPrefix, After: after, Limit: pageSize, KeysOnly: true})
		cancel()
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			after = entry.Key
			p.settle(ctx, strings.TrimPrefix(entry.Key, approvalPrefix))
		}
		if !page.More {
			return nil
		}
	}
}

// runsAtOnce is how many runs are asked for at a time; the host takes no more.
const runsAtOnce = 100

func (p *Plugin) resumeRuns(ctx context.Context) error {
	ids, err := p.runs.all(ctx)
	if err != nil {
		return err
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), runsAtOnce)]
		ids = ids[len(some):]
		list, cancel := context.WithTimeout(ctx, hostTime)
		found, err := p.host.Runs.List(list, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: some, Limit: runsAtOnce}})
		cancel()
		if err != nil {
			return err
		}
		known := make(map[string]pluginsdk.Run, len(found.Runs))
		for _, run := range found.Runs {
			known[run.ID] = run
		}
		for _, id := range some {
			if err := p.resumeRun(ctx, id, known[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// resumeRun shows a run that is at work, and forgets one whose answer will not come any
// more. The zero run is not there any more.
func (p *Plugin) resumeRun(ctx context.Context, id string, run pluginsdk.Run) error {
	switch {
	case run.State == pluginsdk.RunRunning:
		p.views.begin(id)
	case run.State == pluginsdk.RunMerged && run.MergedInto != "":
		p.views.end(id)
		return p.runs.merge(ctx, id, run.MergedInto)
	case run.ID == "" || run.State.Final() && time.Since(run.FinishedAt) > keptOver:
		p.views.end(id)
		return p.runs.forget(ctx, id)
	case run.State.Final():
		p.views.end(id)
	}
	return nil
}
