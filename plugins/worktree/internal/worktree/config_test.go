package worktree

import (
	"path/filepath"
	"strings"
	"testing"
)

// What a repository's owner has set for their own use of git, or made of the repository,
// changes nothing: the same is looked at and merged, and the checkout is clean afterwards.
func TestSettingsOfTheRepository(t *testing.T) {
	t.Parallel()
	set := func(settings ...string) func(t *testing.T, repo string) string {
		return func(t *testing.T, repo string) string {
			for _, one := range settings {
				name, value, _ := strings.Cut(one, "=")
				gitIn(t, repo, "config", name, value)
			}
			return repo
		}
	}
	for name, shape := range map[string]func(t *testing.T, repo string) string{
		"diffs": set("diff.external=false", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.suppressBlankEmpty=true", "diff.renames=copies",
			"diff.algorithm=patience", "diff.indentHeuristic=false", "color.ui=always", "core.abbrev=4", "core.pager=false", "core.whitespace=trailing-space", "apply.whitespace=error"),
		"the index":        set("core.fsmonitor=false", "core.splitIndex=true", "core.untrackedCache=true", "index.version=4", "core.trustctime=false", "core.checkStat=minimal", "core.ignoreCase=true", "core.fileMode=false"),
		"lines' ends, one": set("core.autocrlf=true", "core.safecrlf=warn"),
		"lines' ends, two": set("core.autocrlf=input", "core.eol=crlf", "core.bigFileThreshold=1"),
		"commits": set("commit.template=/absent", "commit.verbose=true", "commit.cleanup=scissors", "commit.status=false", "core.commentChar=a", "i18n.commitEncoding=latin1",
			"core.editor=false", "format.signOff=true", "alias.commit=!false", "alias.read-tree=!false", "core.logAllRefUpdates=false"),
		"merges": set("merge.ff=only", "merge.conflictStyle=zdiff3", "merge.renames=false", "rerere.enabled=true", "branch.autoSetupMerge=always", "worktree.guessRemote=true", "submodule.recurse=true"),
		"status": set("status.showUntrackedFiles=all", "status.branch=true", "status.short=true", "status.renames=copies", "core.quotePath=true"),
		"upkeep": set("gc.auto=1", "maintenance.auto=true", "feature.manyFiles=true", "core.sharedRepository=group", "extensions.worktreeConfig=true", "include.path=/absent", "transfer.fsckObjects=true"),
		"refs in a pack": func(t *testing.T, repo string) string {
			gitIn(t, repo, "pack-refs", "--all")
			gitIn(t, repo, "gc", "-q", "--prune=now")
			return repo
		},
		"a shallow clone": func(t *testing.T, repo string) string {
			clone := repo + "-clone"
			gitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "second")
			gitIn(t, repo, "clone", "-q", "--depth=1", "file://"+repo, clone)
			return set("user.name=Ann", "user.email=ann@example.org")(t, clone)
		},
		"a part of it is checked out": func(t *testing.T, repo string) string {
			gitIn(t, repo, "sparse-checkout", "set", "sub")
			return repo
		},
		"filters": func(t *testing.T, repo string) string {
			write(t, repo, ".gitattributes", "*.lfs filter=upper\n*.txt ident\n", "m.lfs", "Pointer\n")
			set("filter.upper.clean=tr A-Z a-z", "filter.upper.smudge=tr a-z A-Z", "filter.upper.required=true")(t, repo)
			commitAll(t, repo, "filters")
			gitIn(t, repo, "checkout", "-q", "HEAD~", "--", ".")
			gitIn(t, repo, "reset", "-q", "--hard")
			return repo
		},
		"a driver for all merges": set("merge.default=ours", "merge.ours.driver=true"),
		"a linked worktree of a bare one": func(t *testing.T, repo string) string {
			bare, linked := filepath.Join(filepath.Dir(repo), ".bare"), filepath.Join(filepath.Dir(repo), "linked")
			gitIn(t, repo, "clone", "-q", "--bare", repo, bare)
			set("user.name=Ann", "user.email=ann@example.org")(t, bare)
			gitIn(t, bare, "worktree", "add", "-q", linked, "main")
			return linked
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := shape(t, repository(t, "shop"))
			w := newWorld(t, repo)
			dir := w.begun("t1", "")
			write(t, dir, "sub/b.txt", "B\ntwo\n\n\nnine \n", "new.txt", "new\nline\n", "bin", "\x00\x01\r\n\x00", "sub/b2.txt", "b\n")
			write(t, w.repo, "sub/e.txt", "moved\n")
			commitAll(t, w.repo, "moved")
			write(t, w.repo, "sub/mine", "mine\n")
			w.merges("t1")
			if now := w.look(); now.status != "? sub/mine\n" {
				t.Errorf("the checkout is %+v", now)
			}
			if merged := gitIn(t, repo, "ls-tree", "-r", "--name-only", "HEAD"); !strings.Contains(merged, "bin\n") || !strings.Contains(merged, "new.txt\n") || !strings.Contains(merged, "sub/b2.txt\nsub/e.txt") {
				t.Errorf("merged: %s", merged)
			}
			gitIn(t, repo, "fsck", "--strict", "--no-dangling", "--no-progress")
			if left := gitIn(t, repo, "for-each-ref", "refs/heads/task"); left != "" {
				t.Error(left)
			}
		})
	}
}
