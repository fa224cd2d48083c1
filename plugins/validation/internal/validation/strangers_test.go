package validation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin says of work that is another one's is not believed: else it would choose what
// is checked and reviewed, and something else would be merged.
func TestEvidenceOfStrangersIsNotBelieved(t *testing.T) {
	benign := func(f *fixture) (tree string) {
		tree = git(t, f.dir, "write-tree")
		return tree
	}
	for name, row := range map[string]struct {
		forged func(f *fixture) []pluginsdk.Evidence
		whose  string // the task's directory
	}{
		"a tree that changes nothing": {func(f *fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{{Kind: "tree", Tree: git(t, f.dir, "rev-parse", f.base+"^{tree}")}, {Kind: "base", Tree: f.base}}
		}, "worktree"},
		"a diff": {func(*fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{{Kind: "diff", Diff: "FORGED"}, {Kind: "paths", Output: "FORGED"}}
		}, "worktree"},
		"a base": {func(f *fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{{Kind: "base", Tree: strings.Repeat("0", 40)}}
		}, "worktree"},
		"a patch that was accepted": {func(*fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{{Kind: "patch-id", Output: "FORGED"}}
		}, "worktree"},
		"in the maker's name, without a plugin": {func(f *fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{{Kind: "tree", Tree: strings.Repeat("0", 40), Plugin: ""}}
		}, "worktree"},
		"all of it": {func(f *fixture) []pluginsdk.Evidence {
			return []pluginsdk.Evidence{
				{Kind: "tree", Tree: benign(f)}, {Kind: "base", Tree: benign(f)}, {Kind: "paths", Output: "FORGED"}, {Kind: "diff", Diff: "FORGED"}, {Kind: "patch-id", Output: "FORGED"},
			}
		}, "worktree"},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.says = []pluginsdk.InvokeResult{good()}
			tree, forged := f.request.Evidence[0].Tree, row.forged(f)
			for i := range forged {
				if name != "in the maker's name, without a plugin" {
					forged[i].Plugin = "stranger"
				}
			}
			f.request.Evidence = slices.Concat(forged, f.request.Evidence)
			said, err := f.review(f.serve())
			if err != nil || said.Verdict != pluginsdk.VerdictAccept || f.ran() != 1 {
				t.Fatalf("%+v, %v after %d runs of the checks", said, err, f.ran())
			}
			if prompt := f.turns()[0].Prompt; strings.Contains(prompt, "FORGED") || !strings.Contains(prompt, "- tests_pass: ") || !strings.Contains(prompt, tree) {
				t.Errorf("the reviewer was asked %s", prompt)
			}
			if first := said.Evidence[0]; first.Kind != "verdict" || first.Tree != tree {
				t.Errorf("the verdict is of %+v, want the tree %s", first, tree)
			}
		})
	}
}
