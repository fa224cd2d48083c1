package summaries

import (
	"context"
	"fmt"
	"strconv"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostChanges is how many changes of the inbox are looked through for the one that has added a line.
	mostChanges = 1000
	// mostLines is how many lines are consolidated at a time.
	mostLines = 100
)

// origin is where a line of the inbox is from.
type origin struct {
	day, of, thread string // as in memory.Line; of is empty: no person's message is behind it
	why             string // there is none
}

// lines returns the lines of the inbox that have a person's message behind them, or were written by a person, and those
// that have not, or that were given to the agent in vain lately, with the reason.
func (p *Plugin) lines(ctx context.Context, c config, inbox file) (kept []memory.Line, leftOut []memory.Note, err error) {
	items := memory.Parse(inbox.text).Items()
	origins, err := p.origins(ctx, c, inbox, items)
	if err != nil {
		return nil, nil, err
	}
	for _, item := range items {
		from, known := origins[item.Raw]
		switch {
		case !known:
			leftOut = append(leftOut, memory.Note{What: item.Raw, Why: "the history of the inbox does not say who has written it"})
		case from.of == "":
			leftOut = append(leftOut, memory.Note{What: item.Raw, Why: from.why})
		default:
			kept = append(kept, memory.Line{Item: item, Day: from.day, Origin: from.of, Thread: from.thread})
		}
	}
	kept, resting, err := p.withoutVain(ctx, kept)
	if err != nil {
		return nil, nil, err
	}
	if len(kept) > mostLines {
		for _, line := range kept[mostLines:] {
			resting = append(resting, memory.Note{What: line.Raw, Why: fmt.Sprintf("a consolidation takes %d lines at most; the next one takes it", mostLines)})
		}
		kept = kept[:mostLines]
	}
	for i := range kept {
		kept[i].ID = "i" + strconv.Itoa(i+1)
	}
	return kept, append(leftOut, resting...), nil
}

// origins finds for each item the change that has added it last, going back through the history of the inbox. What this
// plugin has written itself (it puts lines back) is passed over: they are from who wrote them first.
func (p *Plugin) origins(ctx context.Context, c config, inbox file, items []memory.Item) (map[string]origin, error) {
	found := make(map[string]origin)
	after, before := set(items), int64(0)
	for looked := 0; looked < mostChanges; {
		page, err := p.host.Workspace.History(ctx, &pluginsdk.WorkspaceHistoryRequest{Path: inbox.path, Before: before, Limit: 100})
		if err != nil || len(page.Changes) == 0 {
			return found, err
		}
		for _, change := range page.Changes {
			before = change.ID
			if looked++; change.Kind == pluginsdk.ChangeRefused {
				continue
			}
			was, err := p.version(ctx, inbox.path, change.Before)
			if err != nil {
				return nil, err
			}
			if was == nil {
				return found, nil
			}
			var from *origin
			for _, item := range items {
				if _, known := found[item.Raw]; known || !after[item.Raw] || was[item.Raw] || change.Plugin == name {
					continue
				}
				if from == nil {
					if from, err = p.origin(ctx, c, change); err != nil {
						return nil, err
					}
				}
				found[item.Raw] = *from
			}
			after = was
		}
		if len(found) == len(set(items)) {
			break
		}
	}
	return found, nil
}

func set(items []memory.Item) map[string]bool {
	all := make(map[string]bool, len(items))
	for _, item := range items {
		all[item.Raw] = true
	}
	return all
}

// version is the items that a file had; nil: that text is not kept any more.
func (p *Plugin) version(ctx context.Context, path, version string) (map[string]bool, error) {
	if version == "" {
		return map[string]bool{}, nil
	}
	answer, err := p.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: path, Version: version})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return set(memory.Parse(answer.Text).Items()), nil
}

// origin says whose a change is. A person's edit, through the API or with an editor, counts as their word; of an agent's the
// run has to answer a person, in a thread that memory learns from.
func (p *Plugin) origin(ctx context.Context, c config, change pluginsdk.WorkspaceChange) (*origin, error) {
	from := &origin{day: change.At.UTC().Format(dayLayout)}
	label := change.Label()
	switch {
	case label.Apart:
		from.why = "it is of a thread apart"
	case change.Kind == pluginsdk.ChangeOutside, change.Kind == pluginsdk.ChangeByPerson && change.Author != "" && !change.Origin.OfAgent():
		from.of = fmt.Sprintf("edit %d", change.ID)
	case change.Kind == pluginsdk.ChangeByAgent && change.RunID == "":
		from.why = "several turns were at work when it was written, and it is not known which"
	case change.Kind == pluginsdk.ChangeByAgent:
		return p.originOfRun(ctx, c, change.RunID, from)
	default:
		from.why = "it was written by " + label.String()
	}
	return from, nil
}

// originOfRun says whether a run answers a person.
func (p *Plugin) originOfRun(ctx context.Context, c config, id string, from *origin) (*origin, error) {
	got, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: id})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		from.why = "the run in which it was written is not kept any more"
		return from, nil
	}
	if err != nil {
		return nil, err
	}
	run := got.Run
	thread, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: run.ThreadID})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && !c.learnsFrom(thread.Thread) {
		from.why = "it was written in the thread " + run.ThreadID + ", which memory does not learn from"
		return from, nil
	}
	if err != nil {
		return nil, err
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: run.ThreadID, After: run.MessageID - 1, Limit: 1}})
	if err != nil {
		return nil, err
	}
	if run.Kind != pluginsdk.RunMessage || run.Purpose != "" || run.CauseRunID != "" || len(page.Messages) == 0 || page.Messages[0].ID != run.MessageID || !personal(page.Messages[0]) {
		from.why = "no person's message is behind the run " + run.ID + " in which it was written"
		return from, nil
	}
	from.thread = run.ThreadID
	from.of, from.day = fmt.Sprintf("message %d", run.MessageID), page.Messages[0].CreatedAt.UTC().Format(dayLayout)
	return from, nil
}
