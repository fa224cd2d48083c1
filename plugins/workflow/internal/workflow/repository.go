package workflow

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What the first commit of a directory that becomes a repository has at most. More than that is rarely
// somebody's work: it is what was built, or installed.
const (
	mostFiles = 20_000
	mostBytes = 256 << 20
	mostNames = 8 << 20 // bytes of the names of the files
)

// readyGit makes a directory a git repository with a commit, where a person asked for that. It returns what
// people are told of that, or of a directory without git.
func (p *Plugin) readyGit(ctx context.Context, dir string, r request) (note string, err error) {
	wanted := r.fields["git"]
	switch wanted {
	case "", "yes", "no":
	default:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "git: %q is neither yes nor no", wanted)
	}
	repository := inCheckout(dir, p.workspace)
	switch {
	case repository && wanted == "no":
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "git: %s is in a git project, where a workflow builds on a branch of its own; leave git=no out", dir)
	case repository && !unborn(ctx, dir):
		return "", nil
	case wanted == "yes" && r.agent:
		return "", pluginsdk.Errorf(pluginsdk.CodeDenied, "git: only a person makes a directory a repository: ask them to type /workflow start dir=%s git=yes WHAT TO BUILD, or start without git=yes", dir)
	case wanted == "yes":
		return firstCommit(ctx, dir, repository)
	case repository:
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "git: the repository of %s has no commit yet, so there is nothing to branch from: make one by hand, or have a person start the workflow with git=yes, which commits the files that are there", dir)
	}
	return " It is no git project: the work is done in the directory itself, one batch after the other, and nothing is undone by itself. (Started with git=yes, it is made one.)", nil
}

func git(ctx context.Context, dir string, args ...string) (run.Result, error) {
	return run.Do(ctx, run.Command{Args: append([]string{"git"}, args...), Dir: dir, Limit: 5 * time.Minute, Most: mostNames})
}

// unborn reports whether the repository that a directory is in has no commit.
func unborn(ctx context.Context, dir string) bool {
	done, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD")
	return err == nil && done.Code == 1
}

// firstCommit commits what a directory has and git does not ignore, in a repository that it makes unless there is one.
// Whatever of that was done before is done again.
func firstCommit(ctx context.Context, dir string, repository bool) (note string, err error) {
	files, err := toCommit(ctx, dir, repository)
	if err != nil {
		return "", err
	}
	steps := [][]string{{"init", "--quiet"}}
	if repository {
		steps = nil
	}
	if who, err := git(ctx, dir, "config", "user.email"); err != nil || strings.TrimSpace(string(who.Stdout)) == "" {
		steps = append(steps, []string{"config", "user.name", "Harness"}, []string{"config", "user.email", "harness@localhost"})
	}
	steps = append(steps, []string{"add", "--all"}, []string{"commit", "--quiet", "--allow-empty", "--message", "What was there before the workflow"})
	for _, step := range steps {
		if done, err := git(ctx, dir, step...); err != nil || done.Code != 0 {
			return "", notGit(dir, step[0], done, err)
		}
	}
	return fmt.Sprintf(" It is a git repository now. Its first commit has what was there and git does not ignore: %s.", counted(files, "file")), nil
}

func notGit(dir, step string, done run.Result, err error) error {
	return pluginsdk.Errorf(pluginsdk.CodeInvalid, "git %s in %s: %s; make it a git repository with a commit by hand, or start with git=no", step, dir, cmp.Or(strings.TrimSpace(done.Stderr), fmt.Sprint(err)))
}

// toCommit counts the files that a first commit has. Too many of them, or too large ones, are an error.
func toCommit(ctx context.Context, dir string, repository bool) (files int, err error) {
	top, list := dir, []string{"ls-files", "--cached", "--others", "--exclude-standard", "-z"}
	if repository {
		found, err := git(ctx, dir, "rev-parse", "--show-toplevel")
		if err != nil || found.Code != 0 {
			return 0, notGit(dir, "rev-parse", found, err)
		}
		top = strings.TrimSuffix(string(found.Stdout), "\n")
	} else {
		// Nothing is left in the directory when it has too much.
		aside, err := os.MkdirTemp("", "harness-workflow-git-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(aside)
		if done, err := git(ctx, aside, "init", "--quiet", "--bare"); err != nil || done.Code != 0 {
			return 0, notGit(dir, "init", done, err)
		}
		list = append([]string{"--git-dir", aside, "--work-tree", dir}, list...)
	}
	done, err := git(ctx, top, list...)
	if err != nil && len(done.Stdout) < mostNames/2 || err == nil && done.Code != 0 {
		return 0, notGit(dir, "ls-files", done, err)
	}
	var size int64
	for path := range bytes.SplitSeq(done.Stdout, []byte{0}) {
		if info, err := os.Lstat(filepath.Join(top, string(path))); err == nil && len(path) > 0 {
			files++
			size += info.Size()
		}
	}
	if files > mostFiles || size > mostBytes || err != nil {
		return 0, pluginsdk.Errorf(pluginsdk.CodeInvalid, "git: the first commit of %s would have %s of %d MB, and git=yes commits at most %d of %d MB: name what does not belong there in a file .gitignore, or make it a git repository with a commit by hand",
			top, counted(files, "file"), size>>20, mostFiles, mostBytes>>20)
	}
	return files, nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
