package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// evil is a directory of programs that each leave a file with their name when they are run.
type evil struct{ bin, ran string }

func newEvil(t *testing.T) *evil {
	t.Helper()
	dir := t.TempDir()
	e := &evil{bin: filepath.Join(dir, "bin"), ran: filepath.Join(dir, "ran")}
	if err := os.Mkdir(e.ran, 0o700); err != nil {
		t.Fatal(err)
	}
	return e
}

// program makes a program, and returns its path.
func (e *evil) program(t *testing.T, name string) string {
	t.Helper()
	write(t, e.bin, name, "#!/bin/sh\n: >'"+filepath.Join(e.ran, name)+"'\ncase \"$*\" in *--stdin*|*filter*) exit 1;; esac\ncat 2>/dev/null </dev/null\n")
	path := filepath.Join(e.bin, name)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (e *evil) hasRun(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(e.ran)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// hooks are those that git may run in anything that the plugin does.
var hooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
	"pre-push", "pre-receive", "update", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "post-index-change",
}

// settings are all that name a program, of which git has some run.
func (e *evil) settings(t *testing.T) (settings [][2]string) {
	t.Helper()
	for _, name := range []string{
		"core.fsmonitor", "core.editor", "sequence.editor", "core.pager", "pager.status", "pager.worktree", "core.sshCommand", "core.askPass", "core.gitProxy", "core.alternateRefsCommand",
		"diff.external", "gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand", "credential.helper", "interactive.diffFilter", "uploadpack.packObjectsHook",
		"filter.a.clean", "filter.a.smudge", "filter.b.process", "filter.c=d.e.clean", "filter.c=d.e.smudge", "filter.lfs.clean", "filter.lfs.smudge", "merge.a.driver", "merge.text.driver", "merge.union.driver",
		"diff.a.textconv", "diff.a.command", "trailer.x.command", "trailer.y.cmd", "hook.h.command", "remote.origin.uploadpack", "remote.origin.receivepack", "mergetool.x.cmd", "credential.https://x.helper",
	} {
		program := e.program(t, strings.NewReplacer(".", "-", "/", "_", " ", "_").Replace(name))
		if strings.HasPrefix(name, "alias.") {
			program = "!" + program
		}
		settings = append(settings, [2]string{name, program})
	}
	for _, name := range []string{"add", "commit", "status", "worktree", "rev-parse"} {
		settings = append(settings, [2]string{"alias." + name, "!" + e.program(t, "alias-"+name)})
	}
	for _, hook := range hooks {
		e.program(t, hook)
		settings = append(settings, [2]string{"hook.h.event", hook})
	}
	return append(settings, [][2]string{
		{"core.hooksPath", e.bin}, {"commit.gpgSign", "true"}, {"tag.gpgSign", "true"}, {"merge.default", "a"}, {"filter.a.required", "true"}, {"filter.b.required", "true"}, {"user.signingKey", "x"},
		{"diff.a.cachetextconv", "true"}, {"remote.origin.url", e.bin}, {"protocol.allow", "always"}, {"protocol.ext.allow", "always"},
		{"merge.verifySignatures", "true"}, {"log.showSignature", "true"}, {"diff.submodule", "diff"}, {"status.submoduleSummary", "true"}, {"submodule.recurse", "true"}, {"commit.verbose", "true"},
		{"gc.auto", "1"}, {"maintenance.auto", "true"}, {"rerere.enabled", "true"},
	}...)
}

// attributes name a driver of each kind for files.
const attributes = "a.txt filter=a diff=a merge=a\nsub/* filter=b diff=a\nnew* filter=c=d.e\n*.bin filter=lfs merge=a\nc.txt merge=union diff=a\n"

// No program that a repository, its owner or the machine name is run in the life of a task,
// whichever file names it.
func TestNoProgramOfTheRepositoryIsRun(t *testing.T) {
	// config adds the settings to a file, in which git then finds them.
	config := func(t *testing.T, e *evil, file ...string) {
		t.Helper()
		path := filepath.Join(file...)
		before, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		var words, want strings.Builder
		for _, setting := range e.settings(t) {
			section, key, _ := strings.Cut(setting[0], ".")
			if i := strings.LastIndexByte(key, '.'); i >= 0 {
				section, key = section+" \""+key[:i]+"\"", key[i+1:]
			}
			fmt.Fprintf(&words, "[%s]\n\t%s = %q\n", section, key, setting[1])
			fmt.Fprintf(&want, "%s=%s\n", setting[0], setting[1])
		}
		write(t, filepath.Dir(path), filepath.Base(path), string(before)+words.String())
		if has := gitIn(t, e.bin, "config", "--list", "--file", path) + "\n"; !strings.HasSuffix(strings.ToLower(has), strings.ToLower(want.String())) {
			t.Fatalf("git finds\n%s\nand not\n%s", has, want.String())
		}
	}
	info := func(t *testing.T, repo string) {
		t.Helper()
		write(t, repo, ".git/info/attributes", attributes+"*.md diff=a merge=a\nsub/* filter=a\n")
	}
	for name, set := range map[string]func(t *testing.T, e *evil, repo string){
		".git/config":                            func(t *testing.T, e *evil, repo string) { config(t, e, repo, ".git", "config") },
		".git/config, and attributes of its own": func(t *testing.T, e *evil, repo string) { config(t, e, repo, ".git", "config"); info(t, repo) },
		"config.worktree": func(t *testing.T, e *evil, repo string) {
			gitIn(t, repo, "config", "extensions.worktreeConfig", "true")
			config(t, e, repo, ".git", "config.worktree")
			info(t, repo)
		},
		"an included file": func(t *testing.T, e *evil, repo string) {
			config(t, e, e.bin, "included")
			gitIn(t, repo, "config", "include.path", filepath.Join(e.bin, "included"))
			info(t, repo)
		},
		"a file included on a branch": func(t *testing.T, e *evil, repo string) {
			config(t, e, e.bin, "included")
			for _, when := range []string{"onbranch:main", "onbranch:task/**", "gitdir:**/worktrees/**"} {
				gitIn(t, repo, "config", "includeIf."+when+".path", filepath.Join(e.bin, "included"))
			}
			info(t, repo)
		},
		"the user's": func(t *testing.T, e *evil, repo string) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
			write(t, home, ".gitconfig", "[core]\n\tattributesFile = "+filepath.Join(home, "attributes")+"\n", "attributes", attributes)
			config(t, e, home, ".gitconfig")
		},
		"the surroundings": func(t *testing.T, e *evil, repo string) {
			for _, name := range []string{"GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PAGER", "GIT_PROXY_COMMAND", "EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS", "GIT_SEQUENCE_EDITOR"} {
				t.Setenv(name, e.program(t, name))
			}
			t.Setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor="+e.program(t, "parameters")+"'")
			info(t, repo)
		},
		".git/hooks": func(t *testing.T, e *evil, repo string) {
			for _, hook := range hooks {
				path := e.program(t, hook)
				_ = os.Remove(filepath.Join(repo, ".git", "hooks", hook))
				if err := os.Symlink(path, filepath.Join(repo, ".git", "hooks", hook)); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvil(t)
			repo := repository(t, "shop")
			write(t, repo, ".gitattributes", attributes)
			commitAll(t, repo, "attributes")
			// What the target moves to is made before: a person's own git runs what is set.
			write(t, repo, "main.md", "moved\n")
			next := committed(t, repo, "moved")
			write(t, repo, ".git/next-index", read(t, repo, ".git", "index"))
			gitIn(t, repo, "reset", "-q", "--hard", "HEAD~")
			moved := func() {
				write(t, repo, "main.md", "moved\n", ".git/index", read(t, repo, ".git", "next-index"), ".git/refs/heads/main", next+"\n")
			}
			set(t, e, repo)
			w := newWorld(t, repo)
			life := func(name string, call func()) {
				t.Helper()
				call()
				if ran := e.hasRun(t); ran != "" {
					t.Fatalf("%s: ran %s", name, ran)
				}
			}
			var dir string
			life("created", func() { dir = w.begun("t1", "") })
			life("given back", func() {
				write(t, dir, "a.txt", "one\nchanged\n", "new.txt", "new\n")
				if filters := gitIn(t, repo, "-c", "core.fsmonitor=false", "-c", "filter.none.clean=", "config", "--includes", "--get-regexp", "^filter[.]"); strings.Contains(filters, "filter.a.clean") {
					w.rejects("t1", "filter", "git restore", "a.txt", "new.txt")
				} else if said, err := w.complete(t.Context(), "t1"); err != nil || said.Verdict != "" {
					t.Errorf("%+v, %v", said, err)
				}
			})
			life("snapshot", func() {
				for _, path := range []string{"a.txt", "new.txt"} {
					_ = os.Remove(filepath.Join(dir, path))
				}
				write(t, dir, "plain.md", "plain\n")
				below := w.begun("t1-1", dir)
				write(t, below, "below.md", "below\n")
				w.fails("t1-1")
			})
			life("completed", func() {
				if said, err := w.complete(t.Context(), "t1"); err != nil || said.Verdict != "" {
					t.Fatalf("%+v, %v", said, err)
				}
			})
			moved()
			life("validated", func() { w.merges("t1") })
			life("failed", func() { write(t, w.begun("t2", ""), "kept.md", "kept\n"); w.fails("t2") })
			if now := read(t, repo, "plain.md"); now != "plain\n" || exists(filepath.Join(repo, "a.txt")) {
				t.Errorf("merged is %q", now)
			}
		})
	}
}

// What is missing in a repository is not fetched, by whatever program.
func TestNothingIsFetched(t *testing.T) {
	for name, url := range map[string]string{"a path": "", "ext": "ext::", "ssh": "ssh://x/", "a helper of its own": "evil::x"} {
		t.Run(name, func(t *testing.T) {
			e, repo := newEvil(t), repository(t, "shop")
			helper := e.program(t, "git-remote-evil")
			t.Setenv("PATH", e.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			switch name {
			case "a path":
				url = repository(t, "other")
			case "ext":
				url += helper
			}
			for _, setting := range [][2]string{
				{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"}, {"remote.origin.promisor", "true"}, {"remote.origin.url", url}, {"protocol.allow", "always"},
				{"protocol.ext.allow", "always"}, {"remote.origin.uploadpack", helper}, {"core.sshCommand", helper}, {"core.askPass", helper}, {"credential.helper", helper},
			} {
				gitIn(t, repo, "config", setting[0], setting[1])
			}
			blob := gitIn(t, repo, "rev-parse", "HEAD:a.txt")
			if err := os.Remove(filepath.Join(repo, ".git", "objects", blob[:2], blob[2:])); err != nil {
				t.Fatal(err)
			}
			if _, err := newWorld(t, repo).create(t.Context(), "t1", ""); err == nil {
				t.Error("the task began without a file")
			}
			if ran := e.hasRun(t); ran != "" {
				t.Errorf("ran %s", ran)
			}
		})
	}
}

// A git repository in the work, or in the branch, is looked at by none of its settings.
func TestAGitlinkRunsNothing(t *testing.T) {
	e, repo := newEvil(t), repository(t, "shop")
	lib := repository(t, "lib")
	gitIn(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, lib, "rev-parse", "HEAD")+",lib")
	gitIn(t, repo, "commit", "-q", "-m", "a link that no file describes")
	embed := func(dir string) {
		t.Helper()
		gitIn(t, filepath.Dir(dir), "clone", "-q", lib, dir)
		write(t, dir, ".gitattributes", "* filter=x diff=x\n", "a.txt", "changed\n")
		for _, name := range []string{"core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.x.textconv", "diff.external", "core.hooksPath"} {
			gitIn(t, dir, "-c", "core.fsmonitor=false", "config", name, e.program(t, strings.ReplaceAll(name, ".", "-")))
		}
	}
	embed(filepath.Join(repo, "lib"))
	w := newWorld(t, repo)
	dir := w.begun("t1", "")
	embed(filepath.Join(dir, "lib"))
	write(t, dir, "plain.md", "plain\n")
	moved := func() {
		write(t, repo, "main.md", "moved\n")
		quiet := []string{"-c", "core.fsmonitor=false"}
		gitIn(t, repo, append(quiet, "add", "main.md")...)
		gitIn(t, repo, append(quiet, "commit", "-q", "-m", "moved", "--", "main.md")...)
		for _, ran := range strings.Fields(e.hasRun(t)) {
			_ = os.Remove(filepath.Join(e.ran, ran))
		}
	}
	moved()
	w.merges("t1")
	if ran := e.hasRun(t); ran != "" || read(t, repo, "plain.md") != "plain\n" {
		t.Errorf("ran %s", ran)
	}
	embed(filepath.Join(w.begun("t2", ""), "another"))
	w.rejects("t2", "another/")
	if _, err := w.plugin.OnTaskFailed(t.Context(), &pluginsdk.OnTaskFailedRequest{Task: *w.task("t2")}); err != nil {
		t.Error(err)
	}
	if ran := e.hasRun(t); ran != "" {
		t.Errorf("ran %s", ran)
	}
}

// Files that a filter keeps, such as those of git-lfs, stay as they are in the branch and in
// the checkout, whether they were pulled in the worktree or not.
func TestFilesThatAFilterKeeps(t *testing.T) {
	t.Parallel()
	repo := repository(t, "shop")
	// Stored is the pointer, and in the checkout what it stands for.
	gitIn(t, repo, "config", "filter.lfs.clean", "sed 's/^whole/pointer/'")
	gitIn(t, repo, "config", "filter.lfs.smudge", "sed 's/^pointer/whole/'")
	gitIn(t, repo, "config", "filter.lfs.required", "true")
	write(t, repo, ".gitattributes", "*.bin filter=lfs\n", "one.bin", "whole 1\n", "two.bin", "whole 2\n", "three.bin", "whole 3\n")
	for _, name := range []string{"one.bin", "two.bin", "three.bin"} { // older than the index: else git asks the filter
		if err := os.Chtimes(filepath.Join(repo, name), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	commitAll(t, repo, "lfs")
	w := newWorld(t, repo)
	dir := w.begun("t1", "")
	if has := read(t, dir, "one.bin"); has != "pointer 1\n" {
		t.Errorf("the worktree has %q", has)
	}
	pull := func(name string) { // as git lfs pull does
		t.Helper()
		write(t, dir, name, strings.Replace(read(t, dir, name), "pointer", "whole", 1))
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		gitIn(t, dir, "update-index", "-q", "--refresh", name)
	}
	pull("one.bin")
	pull("two.bin")
	write(t, dir, "plain.md", "plain\n", "two.bin", "another\n", "new.bin", "new\n")
	w.rejects("t1", `"new.bin", "two.bin"`)
	write(t, dir, "two.bin", "pointer 2\n")
	pull("two.bin")
	for _, path := range []string{"new.bin", "three.bin"} {
		if err := os.Remove(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, repo, "one.bin", "whole 1\n", "main.md", "moved\n") // as new: only the filter knows that it has not changed
	gitIn(t, repo, "add", "main.md")
	gitIn(t, repo, "commit", "-q", "-m", "moved")
	w.merges("t1")
	if exists(filepath.Join(repo, "three.bin")) || read(t, repo, "one.bin") != "whole 1\n" || read(t, repo, "two.bin") != "whole 2\n" || gitIn(t, repo, "show", "HEAD:one.bin") != "pointer 1" {
		t.Error("the files are not as they were")
	}
	if now := w.look(); now.status != "" {
		t.Errorf("the checkout is %+v", now)
	}
	w.bare()
	write(t, w.begun("t2", ""), "one.bin", "another\n")
	w.rejects("t2", "one.bin")
	if w.fails("t2"); gitIn(t, repo, "show", keptRef("t2")+":one.bin") != "another" {
		t.Error("what was done is not kept")
	}
	w.bare()
}
