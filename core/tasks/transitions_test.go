package tasks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var names = map[state]string{
	pending: "pending", running: "running", reviewing: "reviewing", handing: "handing", waiting: "waiting", failing: "failing",
	cancelling: "cancelling", completed: "completed", failed: "failed", cancelled: "cancelled",
}

// diagram is the life of a task as people draw it: what leads from where to where.
const diagram = `
pending -begun-> running
running -iterated-> running
running -evaluated-> reviewing
reviewing -accepted-> handing
reviewing -rejected-> running
handing -completed-> completed
handing -evaluated again-> reviewing
running -suspended-> waiting
reviewing handing -left to a person-> waiting
waiting -approved-> handing
waiting -resumed-> running
pending running reviewing handing waiting -given up-> failing
pending running reviewing handing waiting -cancelled-> cancelling
failing -ended-> failed
cancelling -ended-> cancelled
`

// drawn returns the diagram's arrows, each with one beginning.
func drawn() (arrows []string) {
	for line := range strings.Lines(strings.TrimSpace(diagram)) {
		froms, arrow, _ := strings.Cut(strings.TrimSpace(line), " -")
		for _, from := range strings.Fields(froms) {
			arrows = append(arrows, from+" -"+arrow)
		}
	}
	slices.Sort(arrows)
	return arrows
}

// Walks the table: every verb on every state. What the diagram does not have is
// refused, and says why.
func TestTransitionsAreThoseOfTheDiagram(t *testing.T) {
	var walked []string
	for v, table := range transitions {
		for at, name := range names {
			task := ledger.Task{Task: pluginsdk.Task{ID: "K", Status: at.status}, Phase: at.phase}
			to, err := v.of(task)
			is := state{to.Status, to.Phase}
			if _, ok := table[at]; !ok {
				if pluginsdk.CodeOf(err) != pluginsdk.CodeStale || is != at || !strings.Contains(err.Error(), string(v)) {
					t.Errorf("%s of a task that is %s: %v, %v", v, name, is, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s of a task that is %s: %v", v, name, err)
			}
			if v == note {
				if is != at {
					t.Errorf("an answer takes a task that is %s to %s", name, names[is])
				}
				continue
			}
			walked = append(walked, fmt.Sprintf("%s -%s-> %s", name, v, names[is]))
		}
	}
	slices.Sort(walked)
	if want := drawn(); !slices.Equal(walked, want) {
		t.Errorf("the table has\n%s\nthe diagram\n%s", strings.Join(walked, "\n"), strings.Join(want, "\n"))
	}
}

// From everywhere there is a way to an end, and from an end there is none.
func TestEveryTaskCanEnd(t *testing.T) {
	for at, name := range names {
		seen, next := map[state]bool{}, []state{at}
		for len(next) > 0 {
			here := next[0]
			if next = next[1:]; seen[here] {
				continue
			}
			seen[here] = true
			for _, table := range transitions {
				if to, ok := table[here]; ok {
					next = append(next, to)
				}
			}
		}
		over := at.status.Final() && at.phase == ledger.PhaseIdle
		if ends := seen[completed] || seen[failed] || seen[cancelled]; !ends || over && len(seen) != 1 {
			t.Errorf("from %s one gets to %d states, an end: %v", name, len(seen), ends)
		}
	}
}

// Work that was changed after a reviewer has seen it must not be handed over with what
// that one had seen.
func TestEvidenceIsOfTheRoundThatAccepted(t *testing.T) {
	said := func(round int, author, tree string) ledger.TaskAnswer {
		return ledger.TaskAnswer{
			Round: round, Author: author, Phase: ledger.PhaseReviewing, Answer: string(pluginsdk.VerdictAccept), Evidence: []pluginsdk.Evidence{{Tree: tree}},
		}
	}
	answers := []ledger.TaskAnswer{said(1, "", "old"), said(2, "", "a"), said(2, "", "b"), said(3, "Ann", ""), said(5, "Ann", "")}
	if got := accepting(ledger.Task{Round: 2}, answers); len(got) != 2 || got[0].Tree != "a" || got[1].Tree != "b" {
		t.Errorf("handed over with %+v", got)
	}
	if got := accepting(ledger.Task{Round: 3}, answers); len(got) != 2 {
		t.Errorf("a person's word has the evidence %+v", got)
	}
	if got := accepting(ledger.Task{Round: 5}, answers); len(got) != 0 {
		t.Errorf("a person's word on work that nobody has accepted has the evidence %+v", got)
	}
}
