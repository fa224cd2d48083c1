package summaries

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/digest"
	"github.com/seed-706843ae/harness/plugins/summaries/internal/heard"
	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostChanges is how many changes of the inbox are looked through for the one that has added a line.
	mostChanges = 1000
	// mostLines is how many lines are consolidated at a time.
	mostLines = 100
	// mostSaidBefore is how many messages of a person's before the one that a run answers count as what they have said in it.
	mostSaidBefore = 10
)

// origin is where a line of the inbox is from.
type origin struct {
	day, of, thread string // as in memory.Line; of is empty: no person's message is behind it
	why             string // there is none

	// said is what people have said to the agent that has written the line; nil: a person has written it.
	said    *heard.Words
	written time.Time
	names   []string // of the thread
}

// holds says why a line is not what people have said; empty: it is.
func (o origin) holds(line string) string {
	if o.said == nil {
		return ""
	}
	missing := o.said.Missing(line, o.written, o.names...)
	if len(missing) == 0 {
		return ""
	}
	const most = 5
	return "nothing that people said contains it: " + digest.OneLine(strings.Join(missing[:min(most, len(missing))], ", "), 100)
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
		case from.holds(item.Text) != "":
			leftOut = append(leftOut, memory.Note{What: item.Raw, Why: from.holds(item.Text)})
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
	found, runs := make(map[string]origin), make(map[string]origin)
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
					if from, err = p.origin(ctx, c, change, runs); err != nil {
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
// run has to answer a person, in a thread that memory learns from. runs are the origins of the runs that are known already.
func (p *Plugin) origin(ctx context.Context, c config, change pluginsdk.WorkspaceChange, runs map[string]origin) (*origin, error) {
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
		known, ok := runs[change.RunID]
		if !ok {
			var err error
			if known, err = p.originOfRun(ctx, c, change.RunID); err != nil {
				return nil, err
			}
			runs[change.RunID] = known
		}
		known.written = change.At
		return &known, nil
	default:
		from.why = "it was written by " + label.String()
	}
	return from, nil
}

// originOfRun says whether a run answers a person, and what people have said there.
func (p *Plugin) originOfRun(ctx context.Context, c config, id string) (from origin, err error) {
	got, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: id})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		from.why = "the run in which it was written is not kept any more"
		return from, nil
	}
	if err != nil {
		return from, err
	}
	run := got.Run
	thread, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: run.ThreadID})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && !c.learnsFrom(thread.Thread) {
		from.why = "it was written in the thread " + run.ThreadID + ", which memory does not learn from"
		return from, nil
	}
	if err != nil {
		return from, err
	}
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: run.ThreadID, After: run.MessageID - 1, Limit: 1}})
	if err != nil {
		return from, err
	}
	if run.Kind != pluginsdk.RunMessage || run.Purpose != "" || run.CauseRunID != "" || len(page.Messages) == 0 || page.Messages[0].ID != run.MessageID || !personal(page.Messages[0]) {
		from.why = "no person's message is behind the run " + run.ID + " in which it was written"
		return from, nil
	}
	from.thread, from.names = run.ThreadID, namesOf(thread.Thread)
	from.of, from.day = fmt.Sprintf("message %d", run.MessageID), page.Messages[0].CreatedAt.UTC().Format(dayLayout)
	from.said, err = p.saidTo(ctx, run, page.Messages[0])
	return from, err
}

// namesOf is how notes call a thread.
func namesOf(thread pluginsdk.Thread) []string {
	kind := string(thread.Kind)
	return []string{thread.Name, thread.ID, kind, kind + " thread", "the " + kind + " thread"}
}

// saidTo is what people have said to the agent in a run: the messages that the run answers, those of the same person shortly before,
// and what people have answered to its questions. What the agent, its tools and its prompt say is not among it.
func (p *Plugin) saidTo(ctx context.Context, run pluginsdk.Run, message pluginsdk.Message) (*heard.Words, error) {
	newest := slices.Max(append([]int64{run.MessageID}, run.Absorbed...))
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{
		ThreadID: run.ThreadID, Roles: []pluginsdk.Role{pluginsdk.RoleUser}, Kinds: []pluginsdk.MessageKind{pluginsdk.MessageText}, Before: newest + 1, Last: true, Limit: 100,
	}})
	if err != nil {
		return nil, err
	}
	all, before := []heard.Message{{Text: message.Author}, {Text: message.Content, At: message.CreatedAt}}, 0
	for _, row := range slices.Backward(page.Messages) {
		switch {
		case row.ID == message.ID || !personal(row):
			continue
		case slices.Contains(run.Absorbed, row.ID):
		case row.ID > message.ID || row.Author != message.Author || before == mostSaidBefore:
			continue
		default:
			before++
		}
		all = append(all, heard.Message{Text: row.Content, At: row.CreatedAt})
	}
	answers, err := p.answersIn(ctx, run.ID)
	return heard.New(append(all, answers...)...), err
}

// answersIn is what people have answered to what the agent asked in a run. Without the right to read that, nobody has answered.
func (p *Plugin) answersIn(ctx context.Context, runID string) (all []heard.Message, err error) {
	page, err := p.host.Approvals.List(ctx, &pluginsdk.ListApprovalsRequest{Query: pluginsdk.ApprovalQuery{
		RunID: runID, States: []pluginsdk.ApprovalState{pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied}, Newest: true,
	}})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeDenied {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, one := range page.Approvals {
		if one.Label().OfAgent() {
			continue
		}
		all = append(all, heard.Message{Text: one.Words, At: one.DecidedAt})
		for _, answer := range one.Answers {
			all = append(all, heard.Message{Text: strings.Join(append(answer.Labels, answer.Text), "\n"), At: one.DecidedAt})
		}
	}
	return all, nil
}
