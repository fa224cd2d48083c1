package worktree

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is merged is what was looked at, and only this plugin says what that is.
func TestAVerdictOfAnotherTree(t *testing.T) {
	other := strings.Repeat("1", 40)
	for name, row := range map[string]struct {
		change func(own []pluginsdk.Evidence) []pluginsdk.Evidence
		merges bool
	}{
		"of this tree": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			return append(own, pluginsdk.Evidence{Kind: kindVerdict, Tree: own[0].Tree, Plugin: "validation"})
		}, true},
		"of another one": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			return append(own, pluginsdk.Evidence{Kind: kindVerdict, Tree: other, Plugin: "validation"})
		}, false},
		"of none": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			return append(own, pluginsdk.Evidence{Kind: kindVerdict, Plugin: "validation"})
		}, false},
		"two that disagree": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			return append(own, pluginsdk.Evidence{Kind: kindVerdict, Tree: own[0].Tree, Plugin: "validation"}, pluginsdk.Evidence{Kind: kindVerdict, Tree: other, Plugin: "second"})
		}, false},
		"the tree is a stranger's word": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			own[0].Plugin = "stranger"
			return own
		}, false},
		"the tree has no maker": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			own[0].Plugin = ""
			return own
		}, false},
		"the own tree is another one": {func(own []pluginsdk.Evidence) []pluginsdk.Evidence {
			own[0].Tree = other
			return own
		}, false},
		"nothing": {func([]pluginsdk.Evidence) []pluginsdk.Evidence { return nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, repository(t, "shop"))
			before := w.look()
			write(t, w.begun("t1", ""), "new.txt", "new\n")
			if _, err := w.complete(t.Context(), "t1"); err != nil {
				t.Fatal(err)
			}
			w.round["t1"] = row.change(w.round["t1"])
			answer, err := w.validate(t.Context(), "t1")
			if err != nil || (answer.Handover == "") != row.merges || (w.look() == before) == row.merges {
				t.Errorf("%+v, %v", answer, err)
			}
		})
	}
}
