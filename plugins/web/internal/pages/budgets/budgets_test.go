package budgets

import (
	"strings"
	"testing"
)

// Of a soft budget nobody is told that it holds.
func TestWhatABudgetDoesThatWasSet(t *testing.T) {
	for soft, want := range map[bool]string{true: "It is soft: people are told when it is passed, and turns go on.", false: "It holds from the next turn on; what waits"} {
		if said := setWords("watch", soft); !strings.Contains(said, want) || strings.Contains(said, "It holds") == soft {
			t.Errorf("said is %q, want %q", said, want)
		}
	}
}
