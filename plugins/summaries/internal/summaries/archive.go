package summaries

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sectionOf begins what the archive has of a consolidation.
func (r *record) sectionOf() string {
	return fmt.Sprintf("## %s, consolidation %d\n", r.At.UTC().Format(dayLayout), r.N)
}

// putAway writes what falls out of the memory, and what of the inbox nothing is kept of, to the archive and its copy.
func (p *Plugin) putAway(ctx context.Context, r *record) error {
	var out strings.Builder
	for _, note := range append(append([]memory.Note{}, r.Plan.Removed...), r.Plan.Skipped...) {
		fmt.Fprintf(&out, "%s\n  - %s\n", note.What, note.Why)
	}
	if out.Len() == 0 {
		return nil
	}
	text := r.sectionOf() + "\n" + out.String() + "\n"
	if err := p.archive(ctx, "memory", text); err != nil {
		return err
	}
	return p.findable(ctx, r, text)
}

// copyOf is the thread with the copy of what a consolidation has put away. Each has one, so that it can be taken back.
func (r *record) copyOf() string {
	return fmt.Sprintf("archive/%s/%d", r.At.UTC().Format(dayLayout), r.N)
}

// findable adds what has fallen out of the memory to a thread that is only there for it: the search for messages finds it.
func (p *Plugin) findable(ctx context.Context, r *record, text string) error {
	made, err := p.host.Threads.Create(ctx, &pluginsdk.CreateThreadRequest{Thread: pluginsdk.NewThread{
		Source: name, SourceID: r.copyOf(), Name: fmt.Sprintf("Archive of the memory, consolidation %d", r.N),
	}})
	if err != nil {
		return err
	}
	if archived := pluginsdk.ThreadArchived; made.Thread.Status != archived {
		if _, err := p.host.Threads.Update(ctx, &pluginsdk.UpdateThreadRequest{ID: made.Thread.ID, Patch: pluginsdk.ThreadPatch{Status: &archived}}); err != nil {
			return err
		}
	}
	_, err = p.host.Messages.Append(ctx, &pluginsdk.AppendMessagesRequest{
		ThreadID: made.Thread.ID, Key: fmt.Sprintf("archive/%d/%.8s", r.N, versionOf(text)),
		Messages: []pluginsdk.NewMessage{{Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageSummary, Content: text}},
	})
	return err
}

// takeBack takes what a consolidation has put away from the archive and the search: it was not done, or is not any more. Taken back
// again, nothing is there to take.
func (p *Plugin) takeBack(ctx context.Context, r *record) error {
	list, err := p.host.Workspace.List(ctx, &pluginsdk.ListWorkspaceRequest{})
	if err != nil {
		return err
	}
	for _, one := range list.Files {
		if !strings.HasPrefix(one.Path, archiveDir+"memory-") {
			continue
		}
		if err := p.change(ctx, one.Path, func(text string) (string, error) { return withoutSection(text, r.sectionOf()), nil }); err != nil {
			return err
		}
	}
	page, err := p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Source: name, SourceID: r.copyOf()}})
	if err != nil {
		return err
	}
	for _, thread := range page.Threads {
		if _, err := p.host.Threads.Delete(ctx, &pluginsdk.DeleteThreadRequest{ID: thread.ID}); err != nil {
			return err
		}
	}
	return nil
}

// withoutSection is a text without the sections that begin with a line: that line, and the items behind it. What others have written
// behind them stays.
func withoutSection(text, begin string) string {
	var b strings.Builder
	inside := false
	for _, line := range strings.SplitAfter(text, "\n") {
		item := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.TrimLeft(line, " \t") != line || line == "\n"
		if inside = line == begin || inside && item; !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}
