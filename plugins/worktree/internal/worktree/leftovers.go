package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// keptFor is how long refs are kept of tasks that have failed, and of leftovers: as long as
// git keeps its reflogs.
const keptFor = 90 * 24 * time.Hour

// place is a repository that a worktree was made in, as it is remembered: under
// repository/HASH, so that leftovers are found of which nothing else is known.
type place struct {
	Root   string
	Common string
}

func (p *Plugin) knows(ctx context.Context, r *record) error {
	sum := sha256.Sum256([]byte(r.Root))
	_, err := p.host.State.Put(ctx, &pluginsdk.PutStateRequest{
		Key: repositoryKeys + hex.EncodeToString(sum[:8]), Value: []byte(r.Root + "\x00" + r.Common),
	})
	return err
}

func (p *Plugin) places(ctx context.Context) (places []place, err error) {
	err = p.each(ctx, repositoryKeys, func(entry pluginsdk.StateEntry) error {
		root, common, ok := strings.Cut(string(entry.Value), "\x00")
		if ok && exists(root) && exists(common) {
			places = append(places, place{root, common})
		}
		return nil
	})
	return places, err
}

// Activate begins to look what was left behind, and lets go of what was kept long enough.
func (p *Plugin) Activate(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.tidy(ctx)
	}()
	p.stop = func() { cancel(); <-ended }
	return nil
}

// Deactivate ends that.
func (p *Plugin) Deactivate(context.Context) error {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
	return nil
}

func (p *Plugin) tidy(ctx context.Context) {
	if err := p.dropKept(ctx, time.Now().Add(-keptFor)); err != nil && ctx.Err() == nil {
		p.log.Warn("refs of tasks that were kept long enough stay", "err", err)
	}
	found, err := p.leftovers(ctx)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("worktrees that were left behind could not be looked for", "err", err)
	}
	for _, one := range found {
		p.log.Warn("a worktree was left behind", "path", one.path, "reason", one.reason)
	}
}

// dropKept deletes the refs of tasks that have failed, and of leftovers, that are older.
func (p *Plugin) dropKept(ctx context.Context, before time.Time) error {
	places, err := p.places(ctx)
	if err != nil || len(places) == 0 {
		return err
	}
	g, err := p.program(ctx)
	if err != nil {
		return err
	}
	for _, at := range places {
		// One that is broken keeps no other's.
		if failed := dropKeptOf(ctx, g.Repository(at.Common), before); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", at.Root, failed))
		}
	}
	return err
}

func dropKeptOf(ctx context.Context, repository git.Dir, before time.Time) error {
	refs, err := repository.Text(ctx, "for-each-ref", "--format=%(objectname) %(committerdate:unix) %(refname)", keptRefs, leftoverRefs)
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(refs, "\n") {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			continue
		}
		made, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || time.Unix(made, 0).After(before) {
			continue
		}
		if err := repository.Run(ctx, "update-ref", "-d", fields[2], fields[0]); err != nil {
			return err
		}
	}
	return nil
}

// leftover is a worktree that no task needs any more.
type leftover struct{ path, reason, remedy string }

// leftovers are the worktrees of tasks that are over, or that nobody knows. None is removed:
// somebody may want what is in it.
func (p *Plugin) leftovers(ctx context.Context) (found []leftover, err error) {
	records, err := p.records(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]*record, len(records))
	for _, r := range records {
		known[r.Path] = r
	}
	places, err := p.places(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range places {
		entries, err := os.ReadDir(filepath.Join(at.Root, filepath.FromSlash(worktrees)))
		if err != nil && !os.IsNotExist(err) {
			return found, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "look for worktrees: %w", err)
		}
		for _, entry := range entries {
			path := filepath.Join(at.Root, filepath.FromSlash(worktrees), entry.Name())
			reason, err := p.whyLeft(ctx, at, known[path], entry)
			if err != nil {
				return found, err
			}
			if reason != "" {
				found = append(found, leftover{path: path, reason: reason, remedy: fmt.Sprintf(
					"look at it; then git -C %s worktree remove --force %s && git -C %s branch -D task/%s", at.Root, path, at.Root, entry.Name())})
			}
		}
	}
	return found, nil
}

// whyLeft says why a worktree is a leftover; "": it is none, or not the plugin's: the
// directory is where the Claude CLI, too, makes worktrees for people.
func (p *Plugin) whyLeft(ctx context.Context, at place, r *record, entry os.DirEntry) (string, error) {
	if r == nil {
		head, err := os.ReadFile(filepath.Join(at.Common, "worktrees", entry.Name(), "HEAD"))
		if err != nil || strings.TrimSpace(string(head)) != "ref: refs/heads/task/"+entry.Name() {
			return "", nil //nolint:nilerr // it is no worktree of a task
		}
		return "no task of this installation is known to work in it", nil
	}
	answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: r.Task})
	switch {
	case err != nil && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound:
		return "its task is not known any more", nil
	case err != nil:
		return "", err
	case answer.Task.Status.Final() && !answer.Task.CompletedAt.IsZero():
		return fmt.Sprintf("its task is %s", answer.Task.Status), nil
	}
	return "", nil
}

// OnCheck says whether git is there, and which worktrees were left behind.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	checks := []pluginsdk.Check{{Name: "git", State: pluginsdk.CheckOK}}
	if _, err := p.program(ctx); err != nil {
		checks[0] = pluginsdk.Check{
			Name: "git", State: pluginsdk.CheckFailing, Detail: err.Error(),
			Remedy: "install git; until then no task on a repository begins, and none is merged",
		}
	}
	found, err := p.leftovers(ctx)
	if err != nil {
		return nil, err
	}
	const most = 30
	for i, one := range found {
		if i == most {
			checks = append(checks, pluginsdk.Check{Name: "worktrees", State: pluginsdk.CheckWarning, Detail: fmt.Sprintf("%d more were left behind", len(found)-most)})
			break
		}
		checks = append(checks, pluginsdk.Check{
			Name: "worktree " + filepath.Base(one.path), State: pluginsdk.CheckWarning, Detail: one.path + ": " + one.reason, Remedy: one.remedy,
		})
	}
	return &pluginsdk.OnCheckResponse{Checks: checks}, nil
}
