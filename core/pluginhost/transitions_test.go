package pluginhost

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// phases are all of them, in the order of a life, and what each means.
var phases = []phase{
	atWaiting, atStarting, atServing, atReplacing, atHandingOver, atFalling, atBackingOff, atRefused, atQuarantined, atStopping, atEnded,
}

var happenings = []happening{
	onBegun, onDue, onFreed, onConfined, onUp, onFailed, onDenied, onDiffers, onReady, onReplaced, onSetBack, onFallen, onBroken, onTold, onGone,
}

// table is THE table as docs/architecture.md has it.
func table() string {
	var text strings.Builder
	text.WriteString("| phase | seen as | what happens → the next phase |\n|---|---|---|\n")
	for _, from := range phases {
		seen := fmt.Sprintf("`%s`", seenAs[from])
		if from == atEnded {
			seen = fmt.Sprintf("`%s`, `%s`", pluginsdk.PluginDisabled, pluginsdk.PluginStopped)
		}
		var ways []string
		for _, what := range happenings {
			if to, ok := transitions[what][from]; ok {
				ways = append(ways, fmt.Sprintf("%s → %s", what, to))
			}
		}
		fmt.Fprintf(&text, "| %s | %s | %s |\n", from, seen, strings.Join(ways, "; "))
	}
	return text.String()
}

// Who reads in the documents what becomes of a plugin reads what the code does.
func TestTheTableOfPhasesIsThatOfTheDocuments(t *testing.T) {
	docs, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(docs), table()) {
		t.Errorf("docs/architecture.md does not have this table:\n%s", table())
	}
}

// Whatever happens to a plugin in whatever phase, there is a way to its end, and from
// the end there is none. Everything that is seen of one is seen somewhere.
func TestEveryPluginCanEnd(t *testing.T) {
	known := 0
	for _, what := range happenings {
		known += len(transitions[what])
	}
	all := 0
	for _, table := range transitions {
		all += len(table)
	}
	if known != all {
		t.Errorf("%d of %d transitions are of a happening that is in no list", all-known, all)
	}
	for _, from := range phases {
		reached, next := map[phase]bool{}, []phase{from}
		for len(next) > 0 {
			here := next[0]
			if next = next[1:]; reached[here] {
				continue
			}
			reached[here] = true
			for _, table := range transitions {
				if to, ok := table[here]; ok {
					next = append(next, to)
				}
			}
		}
		if !reached[atEnded] || from == atEnded && len(reached) > 1 {
			t.Errorf("from %q one gets to %d phases, the end: %v", from, len(reached), reached[atEnded])
		}
		if from != atEnded && from != atStopping && !slices.Contains([]phase{atEnded, atStopping}, transitions[onTold][from]) {
			t.Errorf("a plugin that is %q cannot be told to end", from)
		}
	}
}
