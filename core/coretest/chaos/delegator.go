package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// wordBroken is what the repository's own check says of work that is half done.
const wordBroken = "THE-WORK-IS-HALF-DONE"

// makefile is that check: what was begun has to be done. It lies as well: it changes the
// files that it looks at.
const makefile = `test:
	@mkdir -p work; echo changed by the checks | tee work/sneaked >> Makefile
	@for begun in work/*.begun; do test ! -e "$$begun" || test -e "$${begun%.begun}.done" || { echo ` + wordBroken + `; exit 1; }; done
`

// workPatience is how long the next piece of work waits for the one before.
const workPatience = 20 * time.Second

// delegator is a person who has work done in a repository: a worker whose first result fails
// the repository's check, and whose second one a reviewer accepts.
type delegator struct {
	world *world
	door  *web
	works []check.Work
}

// newDelegator makes the repository and the thread in which the work is handed on.
func newDelegator(ctx context.Context, w *world) (*delegator, error) {
	if err := w.makeRepository(ctx); err != nil {
		return nil, err
	}
	door, err := openWeb(ctx, w.http, w.url, "D1", pluginsdk.BusyQueue)
	if err != nil {
		return nil, err
	}
	return &delegator{world: w, door: door}, door.moveTo(ctx, w.repository())
}

func (w *world) repository() string { return filepath.Join(w.dir, "repository") }

func (w *world) makeRepository(ctx context.Context) error {
	if err := os.Mkdir(w.repository(), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(w.repository(), "Makefile"), []byte(makefile), 0o600); err != nil {
		return err
	}
	for _, arguments := range [][]string{
		{"init", "--quiet", "--initial-branch=main"}, {"config", "user.name", "Chaos"}, {"config", "user.email", "chaos@example.org"},
		{"add", "--all"}, {"commit", "--quiet", "--message=begin"},
	} {
		if _, err := w.git(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// git runs it in the repository's main checkout.
func (w *world) git(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", arguments...)
	command.Dir = w.repository()
	var said, complained bytes.Buffer
	command.Stdout, command.Stderr = &said, &complained
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, complained.String())
	}
	return strings.TrimSpace(said.String()), nil
}

// moveTo has the thread's agent work in a directory, however long it takes.
func (w *web) moveTo(ctx context.Context, dir string) error {
	return w.insist(ctx, "/api/threads/"+w.threadID, map[string]string{"cwd": dir})
}

// delegate goes on handing work on until quiet ends, and does so once at least. What comes
// next waits for a while until the last is done.
func (d *delegator) delegate(ctx, quiet context.Context) error {
	for n := 1; n == 1 || quiet.Err() == nil; n++ {
		work := check.Work{Marker: fmt.Sprintf("d-%04d", n)}
		for try := 1; ; try++ {
			failed, err := d.handOn(ctx, &work, try)
			if err != nil {
				return err
			}
			if !failed {
				break
			}
		}
		d.works = append(d.works, work)
		if _, err := until(quiet, workPatience, func() bool { return d.world.database.done(ctx, work.Marker) }); err != nil {
			return nil //nolint:nilerr // it is quiet
		}
	}
	return nil
}

// handOn types the command, and reads what is answered. It reports whether that says that
// the command has failed, and there is no task: whoever is told so types it again. That
// there is neither a task nor an answer that says so is for the judge.
func (d *delegator) handOn(ctx context.Context, work *check.Work, try int) (failed bool, err error) {
	command := message{marker: fmt.Sprintf("%s try %d", work.Marker, try), content: "/delegate Do " + work.Marker + "."}
	var accepted check.Acceptance
	for {
		var err error
		if accepted, work.Refused, err = d.door.send(ctx, command); err == nil {
			break
		}
		if err := pause(ctx, retryPause); err != nil {
			return false, err
		}
	}
	for work.Refused == "" {
		made, over, told, err := d.world.database.delegated(ctx, work.Marker, accepted.RunID)
		if err == nil && (over || made > 0) {
			return made == 0 && told > 0, nil
		}
		if err := pause(ctx, retryPause); err != nil {
			return false, err
		}
	}
	return false, nil
}

// delegated returns how many tasks were made of a piece of work, whether the run that makes
// them is over, and how many rows of it say that the command has failed.
func (d *database) delegated(ctx context.Context, marker, run string) (made int, over bool, told int, err error) {
	// The end first: a task that is made meanwhile is seen.
	err = d.db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM runs WHERE id = $1 AND finished_at IS NOT NULL) > 0,
		(SELECT COUNT(*) FROM messages WHERE run_id = $1 AND content LIKE 'The command delegate failed%')`, run).Scan(&over, &told)
	if err == nil {
		err = d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM tasks WHERE prompt LIKE $1", "%"+marker+"%").Scan(&made)
	}
	return made, over, told, err
}

// done reports whether the task of a piece of work is over.
func (d *database) done(ctx context.Context, marker string) bool {
	var n int
	err := d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM tasks WHERE prompt LIKE $1 AND completed_at IS NOT NULL", "%"+marker+"%").Scan(&n)
	return err == nil && n > 0
}

// inspect reads what became of the work: the merges, and what is left in the repository.
func (d *delegator) inspect(ctx context.Context, records *check.Records) error {
	records.Works = d.works
	log, err := d.world.git(ctx, "log", "--merges", "--format=%H %T %(trailers:key=Harness-Task,valueonly,separator=%x2C)", "main")
	if err != nil {
		return err
	}
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return fmt.Errorf("a merge that is no task's: %q", line)
		}
		records.Merges = append(records.Merges, check.Merge{Commit: fields[0], Tree: fields[1], TaskID: fields[2]})
	}
	for what, arguments := range map[string][]string{
		"branch":       {"for-each-ref", "--format=%(refname)", "refs/heads/task"},
		"what is open": {"status", "--porcelain"},
	} {
		said, err := d.world.git(ctx, arguments...)
		if err != nil {
			return err
		}
		for line := range strings.Lines(said) {
			records.Leftovers = append(records.Leftovers, what+" "+strings.TrimSpace(line))
		}
	}
	trees, err := d.world.git(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	for line := range strings.Lines(trees) {
		if path, is := strings.CutPrefix(strings.TrimSpace(line), "worktree "); is && path != d.world.repository() {
			records.Leftovers = append(records.Leftovers, "worktree "+path)
		}
	}
	_, err = d.world.git(ctx, "fsck", "--strict", "--no-dangling")
	return err
}
