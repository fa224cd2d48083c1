package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// usedUpWords says what a run waits for.
func usedUpWords(parked pluginsdk.Parked) string {
	return fmt.Sprintf("The plan's %s is used up (account %q).", pluginsdk.WindowName(parked.Window, parked.Model), parked.Account)
}

// shareWords says why what a plugin has started waits.
func (r *Room) shareWords(w pluginsdk.PlanWindow) string {
	return fmt.Sprintf("%d %% of the plan's %s is used (account %q). Above %d %% only people's messages are answered (HARNESS_PLAN_SHARE).",
		percent(w.Used), pluginsdk.WindowName(w.Name, w.Model), w.Account, percent(r.config.Share))
}

func percent(share float64) int { return int(math.Floor(share*100 + 1e-9)) }

// warningKey is the same for a threshold of a window.
func (w *window) warningKey() string {
	return fmt.Sprintf("plan:%s:%s:%d:%d", w.Account, w.Name, w.ResetsAt.Unix(), w.warn)
}

// warning tells people how much of a window is used.
func (r *Room) warning(state ledger.PlanState) string {
	w := projected(state, r.config.Now())
	text := fmt.Sprintf("%d %% of the plan's %s is used (account %q)", percent(w.Used), pluginsdk.WindowName(w.Name, w.Model), w.Account)
	if !w.ResetsAt.IsZero() {
		text += ". It resets at " + Clock(w.ResetsAt, r.config.Now())
	}
	text += "."
	if !w.FullAt.IsZero() {
		text += " At this pace it will be used up at " + Clock(w.FullAt, r.config.Now()) + "."
	}
	return text
}

// Clock says when something is, as short as it is clear: the time, and the day when that is not
// within 20 hours.
func Clock(at, now time.Time) string {
	if at.Sub(now) < 20*time.Hour {
		return at.UTC().Format("15:04 MST")
	}
	return at.UTC().Format("Mon 2 Jan 15:04 MST")
}

// Told says for people that a run is parked, why, and when it goes on.
func (r *Room) Told(parked pluginsdk.Parked) string {
	return fmt.Sprintf("Parked: %s The message continues by itself at %s.", parked.Reason, Clock(parked.Until, r.config.Now()))
}

// Show says for people how much of the plans is used.
func (r *Room) Show() string {
	r.mu.Lock()
	accounts := make(map[string]bool)
	for at := range r.windows {
		accounts[at.account] = true
	}
	r.mu.Unlock()
	if len(accounts) == 0 {
		return "Nothing was seen of a plan: the agent uses an API key, or has not been asked since it was installed."
	}
	var lines []string
	for _, account := range slices.Sorted(maps.Keys(accounts)) {
		lines = append(lines, "Account "+account+":")
		for _, w := range r.Windows(account) {
			lines = append(lines, r.line(w))
		}
	}
	return strings.Join(lines, "\n")
}

// barWidth is how many characters a bar has.
const barWidth = 10

func (r *Room) line(w pluginsdk.PlanWindow) string {
	full := min(int(math.Round(w.Used*barWidth)), barWidth)
	line := fmt.Sprintf("%s%s %3d %%  %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), percent(w.Used), pluginsdk.WindowName(w.Name, w.Model))
	now := r.config.Now()
	if !w.ResetsAt.IsZero() {
		line += ", resets at " + Clock(w.ResetsAt, now)
	}
	switch {
	case w.Status == pluginsdk.PlanRejected && w.Overage:
		line += ", used up; further use is billed"
	case w.Status == pluginsdk.PlanRejected:
		line += ", used up"
	case !w.FullAt.IsZero():
		line += ", at this pace used up at " + Clock(w.FullAt, now)
	}
	return line
}
