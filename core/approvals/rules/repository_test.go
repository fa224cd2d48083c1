package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a directory's own git configuration would run is seen before anything is run.
func TestRepositoriesThatRunPrograms(t *testing.T) {
	for config, runs := range map[string]bool{
		"[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n": false,
		"[user]\n\tname = A B # c\n\temail = \"a@b\"\n[alias]\n\tst = status\n[core]\n\tfsmonitor\n\tautocrlf = input\n":                                                                             false,
		"[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n":                                                  false,
		"[core]\n\thooksPath = .husky/_\n":               false,
		"[diff \"x\"]\n\ttextconv = ./x\n":               true,
		"[diff \"X.y\"] textconv = ./x":                  true,
		"[DIFF \"x\"]\nTextConv=./x":                     true,
		"[diff.x]\n\ttextconv = ./x\n":                   true,
		"[diff]\n\texternal = ./x\n":                     true,
		"[diff \"x\"]\n\tcommand = ./x\n":                true,
		"[filter \"x\"]\n\tclean = ./x\n":                true,
		"[filter \"lfs\"]\n\tprocess = ./x\n":            true,
		"[core]\n\tsshCommand = ./x\n":                   true,
		"[core]\n\tworktree = /etc\n":                    true,
		"[core]\n\tworktree = ../\n":                     false,
		"[gpg]\n\tprogram = ./x\n":                       true,
		"[gpg \"ssh\"]\n\tprogram = ./x\n":               true,
		"[alias]\n\tst = !./x\n":                         true,
		"[credential \"https://x\"]\n\thelper = !./x":    true,
		"[merge \"x\"]\n\tdriver = ./x %A\n":             true,
		"[remote \"x\"]\n\tuploadpack = ./x\n":           true,
		"[include]\n\tpath = other\n":                    true,
		"[includeIf \"gitdir:/\"]\n\tpath = other\n":     true,
		"[include]\n\tpath = missing\n":                  false,
		"[core]\n\tsshCommand = \\\n./x\n":               true,
		"[diff \"x\"]\n\ttextconv = \"a\\q\"\n":          true, // git does not take it, and nobody knows
		"[diff \"x\"\n\ttextconv = x\n":                  true,
		"; [core]\n# sshCommand = x\n[core]\n\tx = y;":   false,
		"\uFEFF[core]\r\n\tsshCommand = ./x\r\n":         true,
		"[core] bare = false\n[ext]\n[core]sshcommand=x": true,
		"[hook \"x\"]\n\tcommand = ./x\n":                true,
	} {
		tree := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(tree, ".git"), 0o700))
		must(t, os.MkdirAll(filepath.Join(tree, "sub"), 0o700))
		must(t, os.WriteFile(filepath.Join(tree, ".git", "config"), []byte(config), 0o600))
		must(t, os.WriteFile(filepath.Join(tree, ".git", "other"), []byte("[diff]\nexternal=x\n"), 0o600))
		for _, directory := range []string{tree, filepath.Join(tree, "sub")} {
			if why := RunsPrograms(directory); (why != "") != runs {
				t.Errorf("%q: %q", config, why)
			}
		}
	}
}

// A linked working tree, the configuration of one working tree, and submodules count too.
func TestConfigurationsElsewhere(t *testing.T) {
	for _, place := range []string{".git/config.worktree", ".git/modules/a/config", ".git/modules/a/b/config", "lib/.git/config", "elsewhere/config", "common/config"} {
		tree := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(tree, filepath.Dir(place)), 0o700))
		must(t, os.MkdirAll(filepath.Join(tree, "elsewhere"), 0o700))
		must(t, os.WriteFile(filepath.Join(tree, place), []byte("[diff]\nexternal=x\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(tree, ".gitmodules"), []byte("[submodule \"l\"]\npath = lib\n"), 0o600))
		if place == "elsewhere/config" {
			must(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: elsewhere\n"), 0o600))
		}
		if place == "common/config" {
			must(t, os.WriteFile(filepath.Join(tree, ".git"), []byte("gitdir: elsewhere\n"), 0o600))
			must(t, os.WriteFile(filepath.Join(tree, "elsewhere", "commondir"), []byte("../common\n"), 0o600))
		}
		if place == "lib/.git/config" {
			must(t, os.MkdirAll(filepath.Join(tree, ".git"), 0o700))
		}
		before := RepositoryStamp(tree)
		if RunsPrograms(tree) == "" || before == "" {
			t.Errorf("%s is not read", place)
		}
		must(t, os.WriteFile(filepath.Join(tree, place), []byte("[diff]\nexternal=another\n"), 0o600))
		if RepositoryStamp(tree) == before {
			t.Errorf("%s has changed unseen", place)
		}
	}
}

// A repository below the directory in which the agent works is looked at when a command goes
// there.
func TestRepositoriesBelow(t *testing.T) {
	cwd := newTree(t)
	must(t, os.WriteFile(filepath.Join(cwd, ".git", "config"), []byte("[core]\n"), 0o600))
	must(t, os.MkdirAll(filepath.Join(cwd, "sub", ".git"), 0o700))
	must(t, os.WriteFile(filepath.Join(cwd, "sub", ".git", "config"), []byte("[diff]\nexternal=x\n"), 0o600))
	for _, command := range []string{"cd sub && git diff", "git -C sub diff", "cd sub; git status"} {
		if why := objectionTo(cwd, command); !strings.Contains(why, "diff.external") {
			t.Errorf("%s: %q", command, why)
		}
	}
	if why := objectionTo(cwd, "git diff"); why != "" {
		t.Error(why)
	}
}
