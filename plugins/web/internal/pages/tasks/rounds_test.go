package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/diff"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func shows(round int, evidence ...pluginsdk.Evidence) pluginsdk.TaskAnswer {
	return pluginsdk.TaskAnswer{Round: round, Iteration: round, Plugin: "worktree", Evidence: evidence}
}

// An iteration without a run has no page to go to.
func TestAnOwnIterationHasNoLinkToARun(t *testing.T) {
	var text strings.Builder
	w := whole{TaskHistory: api.TaskHistory{
		Task: pluginsdk.Task{ID: "T", Plugin: "workflow"},
		Iterations: []pluginsdk.TaskIteration{
			{Iteration: 1, RunID: "R1", State: pluginsdk.RunSucceeded}, {Iteration: 2, Own: true, State: pluginsdk.RunRunning},
		},
	}}
	if err := iterated(w).Render(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if page := text.String(); strings.Count(page, "/runs/") != 1 || !strings.Contains(page, "None: work of workflow") {
		t.Errorf("shown:\n%s", page)
	}
}

// What somebody looks at before they decide is of one round: the latest that says what the
// work changes, and nothing of those before.
func TestChangesAreThoseOfTheLatestRound(t *testing.T) {
	older := shows(1, pluginsdk.Evidence{Kind: kindDiff, Diff: "+older"}, pluginsdk.Evidence{Kind: kindPaths, Output: "old.go\n"})
	p := patchOf(api.TaskHistory{Answers: []pluginsdk.TaskAnswer{
		older, shows(2, pluginsdk.Evidence{Kind: kindPaths, Output: "new.go\n"}), shows(3, pluginsdk.Evidence{Kind: kindCommand}),
	}})
	if p.round != 2 || p.diff != "" || !slices.Equal(p.paths, []string{"new.go"}) {
		t.Errorf("%+v", p)
	}
	if p := patchOf(api.TaskHistory{}); p.files() != 0 || p.command != "" {
		t.Errorf("of nothing: %+v", p)
	}
}

// The command is for a shell: what a plugin says can put no other one into it.
func TestTheCommandForAllChangesIsNoOtherOne(t *testing.T) {
	for _, one := range []struct{ repository, base, tree, want string }{
		{"", "ba5e", "7aee", "git diff ba5e 7aee"},
		{"/it's here", "ba5e", "7aee", `git -C '/it'\''s here' diff ba5e 7aee`},
		{"/here", "ba5e; rm -r ~", "7aee", ""},
		{"/here", "ba5e", "$(id)", ""},
		{"/here", "", "7aee", ""},
	} {
		history := api.TaskHistory{
			Task:    pluginsdk.Task{Labels: map[string]string{"worktree.repository": one.repository}},
			Answers: []pluginsdk.TaskAnswer{shows(1, pluginsdk.Evidence{Kind: kindTree, Tree: one.tree}, pluginsdk.Evidence{Kind: kindBase, Tree: one.base})},
		}
		if got := patchOf(history).command; got != one.want {
			t.Errorf("%+v: %q", one, got)
		}
	}
}

func TestWhatBecameOfAFileIsSaid(t *testing.T) {
	for _, one := range []struct {
		file diff.File
		name string
		want []string
	}{
		{diff.File{New: "a"}, "a", []string{"new"}},
		{diff.File{Old: "a"}, "a", []string{"deleted"}},
		{diff.File{Old: "a", New: "a"}, "a", nil},
		{diff.File{Old: "a", New: "b"}, "a → b", []string{"moved"}},
		{diff.File{Old: "a", New: "b", Copied: true}, "a → b", []string{"copied"}},
		{diff.File{Old: "a", New: "a", OldMode: "100644", NewMode: "100755"}, "a", []string{"mode 100755"}},
	} {
		if got := became(one.file); !slices.Equal(got, one.want) || called(one.file) != one.name {
			t.Errorf("%+v: %s %q", one.file, called(one.file), got)
		}
	}
}

// Names of files and commands keep their letters.
func TestASentenceBeginsWithACapitalLetter(t *testing.T) {
	for text, want := range map[string]string{
		"it waits": "It waits", "a.go has changed": "a.go has changed", "`make` fails": "`make` fails", "": "", "éa va": "Éa va", "OK": "OK",
	} {
		if got := sentence(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
