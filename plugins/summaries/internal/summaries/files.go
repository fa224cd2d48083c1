package summaries

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/digest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	summariesFile = "context/thread-summaries.md"
	// archiveDir is below context, where prompts do not have it.
	archiveDir = "context/archive/"
	// summariesBytes is how long thread-summaries.md gets: it is in each prompt of the owner's.
	summariesBytes = 16 << 10
	// archiveBytes is when another archive is begun; a context file may have 1 MiB.
	archiveBytes = 512 << 10
	// mostTries is how often a file is written anew that somebody else writes too.
	mostTries = 8
)

// file is a context file as it was read; one that is not there has no version.
type file struct{ path, version, text string }

func (p *Plugin) read(ctx context.Context, path string) (file, error) {
	answer, err := p.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: path})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return file{path: path}, nil
	}
	if err != nil {
		return file{}, err
	}
	return file{path, answer.File.Version, answer.Text}, nil
}

// replace writes a file that is still of the version that was read; false: somebody was faster.
func (p *Plugin) replace(ctx context.Context, was file, text string) (bool, error) {
	_, err := p.host.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{Path: was.path, Text: text, Version: was.version})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
		return false, nil
	}
	return err == nil, err
}

// change reads a file, and writes what edit makes of it, again and again while somebody else writes it too.
func (p *Plugin) change(ctx context.Context, path string, edit func(text string) (string, error)) error {
	for range mostTries {
		was, err := p.read(ctx, path)
		if err != nil {
			return err
		}
		text, err := edit(was.text)
		if err != nil || text == was.text {
			return err
		}
		if done, err := p.replace(ctx, was, text); done || err != nil {
			return err
		}
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s was changed %d times while it was to be written", path, mostTries)
}

// write puts sections into thread-summaries.md. What has no room any more goes to the archive first.
func (p *Plugin) write(ctx context.Context, w *work, sections []digest.Section) error {
	if len(sections) == 0 {
		return nil
	}
	return p.change(ctx, summariesFile, func(text string) (string, error) {
		page := digest.Parse(text)
		for i := len(sections) - 1; i >= 0; i-- { // the first becomes the uppermost
			page.Put(sections[i])
		}
		var archive strings.Builder
		for _, old := range page.Fit(summariesBytes) {
			archive.WriteString(old.String() + "\n")
		}
		if w.Over = 0; len(page.String()) > summariesBytes {
			w.Over = len(page.String())
		}
		return page.String(), p.archive(ctx, "threads", archive.String())
	})
}

// archive adds text to the archive of the month, unless it stands there already.
func (p *Plugin) archive(ctx context.Context, what, text string) error {
	if text == "" {
		return nil
	}
	month := p.now().UTC().Format("2006-01")
	for n := 1; ; n++ {
		path := fmt.Sprintf("%s%s-%s.md", archiveDir, what, month)
		if n > 1 {
			path = fmt.Sprintf("%s%s-%s-%d.md", archiveDir, what, month, n)
		}
		full := false
		err := p.change(ctx, path, func(was string) (string, error) {
			switch {
			case strings.Contains(was, text):
				return was, nil
			case len(was)+len(text) > archiveBytes && was != "":
				full = true
				return was, nil
			case was == "":
				was = "# What has left the " + what + " in " + month + "\n\n"
			}
			return was + text, nil
		})
		if err != nil || !full {
			return err
		}
	}
}

// forget removes the sections of threads that were deleted from the archives.
func (p *Plugin) forget(ctx context.Context) error {
	p.deletedMu.Lock()
	deleted := maps.Clone(p.deleted)
	p.deletedMu.Unlock()
	if len(deleted) == 0 {
		return nil
	}
	list, err := p.host.Workspace.List(ctx, &pluginsdk.ListWorkspaceRequest{})
	if err != nil {
		return err
	}
	for _, one := range list.Files {
		if !strings.HasPrefix(one.Path, archiveDir+"threads-") {
			continue
		}
		err := p.change(ctx, one.Path, func(text string) (string, error) {
			page := digest.Parse(text)
			page.Drop(func(s digest.Section) bool { return deleted[s.ThreadID] })
			return page.String(), nil
		})
		if err != nil {
			return err
		}
	}
	p.deletedMu.Lock()
	defer p.deletedMu.Unlock()
	maps.DeleteFunc(p.deleted, func(id string, _ bool) bool { return deleted[id] })
	return nil
}

// dropGone removes the sections of threads that are gone, or that summaries do not learn from any more.
func (p *Plugin) dropGone(ctx context.Context, c config, page *digest.File, was file) error {
	gone := make(map[string]bool)
	for _, section := range page.Sections() {
		answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: section.ThreadID})
		if err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			return err
		}
		if err != nil || !c.learnsFrom(answer.Thread) {
			gone[section.ThreadID] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	drop := func(s digest.Section) bool { return gone[s.ThreadID] }
	page.Drop(drop)
	return p.change(ctx, was.path, func(text string) (string, error) {
		fresh := digest.Parse(text)
		fresh.Drop(drop)
		return fresh.String(), nil
	})
}
