package budget

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Budgets that are a share of a plan's windows. Nothing is set aside for them: how much of a window is used
// is what the agent has told last, and is known here a minute after a turn.

// heldByShare returns the budget that holds a turn back, and the window of which its share is used. A window of which
// nobody knows when it begins anew holds nothing: it might for ever, since without a turn nothing more is told of it.
func (k *known) heldByShare(asked turn, now time.Time) (of Budget, window pluginsdk.PlanWindow, held bool) {
	for _, b := range k.holds() {
		if b.Share == 0 || b.Soft {
			continue
		}
		if _, counted := b.Scope.counts(asked); !counted {
			continue
		}
		for _, w := range k.accounts[asked.account].Windows {
			if w.Used*100 >= b.Share && now.Before(w.ResetsAt) && limits(w, asked.model) {
				return b, w, true
			}
		}
	}
	return of, window, false
}

// limits reports whether the window is of the model's use.
func limits(w pluginsdk.PlanWindow, model string) bool {
	return w.Model == "" || strings.Contains(strings.ToLower(model), strings.ToLower(w.Model))
}

// denied is the answer for a turn that a share holds back.
func denied(b Budget, w pluginsdk.PlanWindow, waits bool) *pluginsdk.OnBeforeRunResponse {
	raise := ""
	if b.Share < 100 {
		raise = fmt.Sprintf(", or with a larger share: harness budget set %s %s", b.Name, more(b))
	}
	then := ", and then /retry"
	if waits {
		then = ""
	}
	answer := &pluginsdk.OnBeforeRunResponse{Deny: true, Reason: fmt.Sprintf(
		"the budget %s lets turns begin while less than %.0f %% of the plan's %s is used, and %.0f %% is. It is free again on %s%s%s",
		b.Name, b.Share, cmp.Or(pluginsdk.WindowName(w.Name, w.Model), w.Name), w.Used*100, moment(w.ResetsAt.UTC()), raise, then)}
	if waits {
		answer.Wait = &pluginsdk.Wait{For: b.Name, Until: w.ResetsAt}
	}
	return answer
}
