package discord

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// keptOver is how long the record of a run is kept after its end: a delivery is tried
	// for hours, and may be repeated after the daemon was away.
	keptOver = 48 * time.Hour
	// tidyEvery is how often a process that lives on looks for records that are of no use
	// any more.
	tidyEvery = 6 * time.Hour
	// runsAtOnce is how many runs are asked for at a time; the host takes no more.
	runsAtOnce = 100
)

// resume takes up what the process before this one has left, and what events were missed
// about: questions that were answered meanwhile, and runs that are at work or over.
func (p *Plugin) resume(ctx context.Context) {
	p.runs.mu.Lock()
	p.runs.tidied = time.Now()
	p.runs.mu.Unlock()
	if err := p.resumeApprovals(ctx); err != nil {
		p.host.Log.Warn("approvals that are over may still be offered on Discord", "err", err)
	}
	if err := p.resumeRuns(ctx); err != nil {
		p.host.Log.Warn("runs may not show how far they are", "err", err)
	}
}

// tidy is resume, if that was long ago.
func (p *Plugin) tidy() {
	p.runs.mu.Lock()
	defer p.runs.mu.Unlock()
	if time.Since(p.runs.tidied) > tidyEvery {
		p.runs.tidied = time.Now()
		p.side.push("", false, p.resume)
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

func (p *Plugin) resumeRuns(ctx context.Context) error {
	ids, err := p.runs.all(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]pluginsdk.Run, len(ids))
	for some := range slices.Chunk(ids, runsAtOnce) {
		list, cancel := context.WithTimeout(ctx, hostTime)
		found, err := p.host.Runs.List(list, &pluginsdk.ListRunsRequest{Query: pluginsdk.RunQuery{IDs: some, Limit: runsAtOnce}})
		cancel()
		if err != nil {
			return err
		}
		for _, run := range found.Runs {
			known[run.ID] = run
		}
	}
	// Those that were merged come first: what becomes of the run that answers them is then shown on
	// their messages too.
	slices.SortStableFunc(ids, func(a, b string) int {
		return cmp.Compare(mergedFirst(known[a]), mergedFirst(known[b]))
	})
	for _, id := range ids {
		if err := p.resumeRun(ctx, id, known[id]); err != nil {
			return err
		}
	}
	return nil
}

func mergedFirst(run pluginsdk.Run) int {
	if run.State == pluginsdk.RunMerged {
		return 0
	}
	return 1
}

// resumeRun shows a run that is at work, and ends what is shown of one that is not. One
// whose answer will not come any more is forgotten. The zero run is not there any more.
func (p *Plugin) resumeRun(ctx context.Context, id string, run pluginsdk.Run) error {
	switch {
	case run.ID == "" || run.State.Final() && time.Since(run.FinishedAt) > keptOver:
		p.views.end(id)
		of, ok, err := p.runs.get(ctx, id)
		if err != nil {
			return err
		}
		if ok && !of.Over {
			p.close(ctx, id, of, "-# it has ended without an answer")
		}
		return p.runs.forget(ctx, id)
	case run.State == pluginsdk.RunRunning:
		if p.views.of(id) == nil {
			p.views.begin(id)
		}
	case run.State == pluginsdk.RunMerged:
		return p.resumeMerged(ctx, id, run.MergedInto)
	case run.State.Final():
		p.views.end(id)
		return p.resumeEnded(ctx, run)
	case run.Parked != nil:
		p.parks(id)
	default: // it waits
		p.views.stop(id)
	}
	return nil
}

// resumeEnded ends what is shown of a run that is over and has no message that says so. Such a run
// was cancelled while it waited, and the plugin did not hear of it, or could not tell Discord.
func (p *Plugin) resumeEnded(ctx context.Context, run pluginsdk.Run) error {
	of, ok, err := p.runs.get(ctx, run.ID)
	if err != nil || !ok || of.Over {
		return err
	}
	why := of.Dropped
	if why == "" {
		if run.State == pluginsdk.RunSucceeded {
			return nil
		}
		switch told, err := p.toldOfEnd(ctx, run); {
		case err != nil && !passing(err): // perhaps the plugin may not read messages any more
			p.host.Log.Warn("a message may go on saying that an answer is being written", "run", run.ID, "err", err)
			return nil
		case err != nil || told:
			return err
		}
		why = run.Error
	}
	p.dropped(ctx, run.ID, why)
	return nil
}

// toldOfEnd reports whether the core has stored a message that says why a run has no answer. Its
// delivery ends what is shown of the run.
func (p *Plugin) toldOfEnd(ctx context.Context, run pluginsdk.Run) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	found, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: run.ThreadID, RunID: run.ID, Roles: []pluginsdk.Role{pluginsdk.RoleSystem},
		Kinds: []pluginsdk.MessageKind{pluginsdk.MessageStatus, pluginsdk.MessageText}, Last: true,
	}})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(found.Messages, func(m pluginsdk.Message) bool {
		if m.Kind == pluginsdk.MessageText {
			return run.Kind == pluginsdk.RunCommand
		}
		return m.Plugin == "" && m.Source == "pipeline" // a plugin may give its rows any source
	}), nil
}

// resumeMerged gives the questions of a run that was merged to the one that answers them,
// if that one is known here and not over. In any case nothing goes on showing the merged one.
func (p *Plugin) resumeMerged(ctx context.Context, id, into string) error {
	p.views.stop(id)
	answers, ok, err := p.runs.get(ctx, into)
	if err != nil {
		return err
	}
	if ok && !answers.Over {
		return p.merge(ctx, id, into)
	}
	of, ok, err := p.runs.get(ctx, id)
	if err == nil && ok {
		p.close(ctx, id, of, mergedWords)
	}
	return err
}
