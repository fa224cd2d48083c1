package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/worktree/internal/git"
)

// lockFiles say how a project's dependencies are installed as they were written down. The
// first one that is there counts. Files of a cache are copied, and not linked: what writes into
// an installed package must not write into the cache that other builds install from.
var lockFiles = []struct{ file, command string }{
	{"package-lock.json", "npm ci"},
	{"npm-shrinkwrap.json", "npm ci"},
	{"pnpm-lock.yaml", "pnpm install --frozen-lockfile --package-import-method=copy"},
	{"yarn.lock", "yarn install --frozen-lockfile"},
	{"bun.lock", "bun install --frozen-lockfile --backend=copyfile"},
	{"bun.lockb", "bun install --frozen-lockfile --backend=copyfile"},
	{"uv.lock", "uv sync --frozen --link-mode=copy"},
	{"poetry.lock", "poetry install --no-interaction"},
	{"Pipfile.lock", "pipenv sync --dev"},
	{"Gemfile.lock", "bundle install"},
	{"composer.lock", "composer install --no-interaction"},
}

// setupCommand is what readies the worktree, and where: what the operator has set, else what
// a lock file at the top, or where the task works, says. "": nothing.
func (p *Plugin) setupCommand(r *record) (command, dir string) {
	if command, set := p.set.Load().Setup[r.Root]; set {
		return command, r.Path
	}
	for _, dir := range []string{r.Path, filepath.Join(r.Path, filepath.FromSlash(r.Prefix))} {
		for _, one := range lockFiles {
			if info, err := os.Lstat(filepath.Join(dir, one.file)); err == nil && info.Mode().IsRegular() {
				return one.command, dir
			}
		}
	}
	return "", ""
}

// mostLeft is how many files and directories a set-up command may leave behind that git
// does not ignore.
const mostLeft = 100

// setUp readies the worktree, unless that was done. What the command leaves behind that git
// does not ignore is not the worker's, and remembered as such.
func (p *Plugin) setUp(ctx context.Context, g *git.Git, r *record) error {
	if r.Phase != settingUp {
		return nil
	}
	command, dir := p.setupCommand(r)
	if command != "" {
		defer p.beats(ctx, "readies the worktree: "+command)()
		p.Config.Fault("set up", r.Task)
		said, err := run.Do(ctx, run.Command{
			Args: []string{"/bin/sh", "-c", command + "\n"}, Dir: dir, Env: g.Environment("CI=true"), Limit: p.set.Load().setupLimit,
		})
		words := strings.TrimSpace(string(said.Stdout) + "\n" + said.Stderr)
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil:
			return refused("the set-up command %q in %s: %w (see the setting setup): %s", command, dir, err, words)
		case said.Code != 0:
			return refused("the set-up command %q in %s has failed with exit code %d (see the setting setup): %s", command, dir, said.Code, words)
		}
		left, err := r.worktree(g).List(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--directory", "--no-empty-directory")
		if err != nil {
			return err
		}
		if len(left) > mostLeft {
			return refused("the set-up command %q in %s leaves %d files behind that git does not ignore, such as %q: have .gitignore name them", command, dir, len(left), left[0])
		}
		r.Left = left
	}
	return p.enters(ctx, r, ready)
}
