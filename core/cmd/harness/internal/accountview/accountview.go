// Package accountview prints the agent's accounts for a person at a terminal: how they stand,
// how much of their plans is used, what they have cost, and what the agent may do.
package accountview

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Accounts prints accounts as a table.
func Accounts(out io.Writer, accounts []pluginsdk.Account, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tKIND\tDEFAULT\tPLAN\tOVERAGE\tFALLBACK\tSTATE")
	for _, a := range accounts {
		state := "usable"
		if !a.Usable {
			state = "not usable: " + terminal.Short(a.Reason, 200)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.Name, a.Kind, yes(a.Default, "yes", "-"), short(a, now),
			overage(a), cmp.Or(a.Fallback, "-"), state)
	}
	return table.Flush()
}

// Brief is a line for each account, and for windows that are used up; nothing when there is
// only that of the environment, with room in its plan.
func Brief(accounts []pluginsdk.Account, now time.Time) string {
	var text strings.Builder
	for _, a := range accounts {
		if a.Kind == pluginsdk.AccountEnvironment && !a.Default && !a.Usable {
			continue // nobody uses it
		}
		var words []string
		if !a.Usable {
			words = append(words, "NOT USABLE: "+terminal.Short(a.Reason, 200))
		}
		for _, w := range a.Windows {
			if UsedUp(w, now) {
				words = append(words, windowName(w)+" used up, resets "+When(w.ResetsAt, now))
			}
		}
		if len(accounts) == 1 && (len(words) == 0 || !a.Usable) {
			return "" // whether there is an agent at all is said elsewhere
		}
		if a.Overage {
			words = append(words, beyond(a))
		}
		fmt.Fprintf(&text, "  account  %s%s: %s\n", a.Name, yes(a.Default, " (default)", ""), cmp.Or(strings.Join(words, "; "), "usable"))
	}
	if text.Len() > 0 {
		text.WriteString("\n")
	}
	return text.String()
}

func yes(is bool, then, otherwise string) string {
	if is {
		return then
	}
	return otherwise
}

// beyond says what happens when the plan of an account is used up.
func beyond(a pluginsdk.Account) string {
	return yes(a.Overage, "Anthropic may bill you when the plan is used up", "when the plan is used up, runs wait for the reset")
}

func overage(a pluginsdk.Account) string {
	if a.Kind == pluginsdk.AccountKey {
		return "-"
	}
	return yes(a.Overage, "allowed", "off")
}

// short says in a few words how much of an account is used.
func short(a pluginsdk.Account, now time.Time) string {
	if a.DailyLimitUSD > 0 {
		return fallbackSpent(a)
	}
	var words []string
	for _, w := range a.Windows {
		words = append(words, windowName(w)+" "+share(w, now))
	}
	return cmp.Or(strings.Join(words, ", "), "-")
}

func fallbackSpent(a pluginsdk.Account) string {
	return fmt.Sprintf("$%.2f of $%.2f today as fallback", a.SpentTodayUSD, a.DailyLimitUSD)
}

// share is how much of a window is used: nothing, once it has opened again.
func share(w pluginsdk.PlanWindow, now time.Time) string {
	if opened(w, now) {
		return "0 %"
	}
	text := fmt.Sprintf("%d %%", int(math.Floor(w.Used*100+1e-9)))
	if UsedUp(w, now) {
		text += " (used up)"
	}
	return text
}

// opened reports whether a window has begun anew since it was seen.
func opened(w pluginsdk.PlanWindow, now time.Time) bool {
	return !w.ResetsAt.IsZero() && !w.ResetsAt.After(now)
}

// UsedUp reports whether a window lets no turn through now.
func UsedUp(w pluginsdk.PlanWindow, now time.Time) bool {
	return w.Status == pluginsdk.PlanRejected && !opened(w, now)
}

// windowName is what people call a window of the agent's.
func windowName(w pluginsdk.PlanWindow) string {
	return terminal.Short(pluginsdk.WindowName(w.Name, w.Model), 50)
}

// barWidth is how many characters a bar has.
const barWidth = 20

// Plan prints how much of the plans is used, and the runs that wait for them.
func Plan(out io.Writer, plan client.Plan, titles map[string]string, now time.Time) error {
	seen := false
	for _, a := range plan.Accounts {
		if len(a.Windows) == 0 {
			continue
		}
		seen = true
		fmt.Fprintf(out, "%s%s\n", a.Name, yes(a.Default, " (default)", ""))
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, w := range a.Windows {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", windowName(w), bar(w, now), share(w, now), windowWords(w, now))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s; fallback key: %s\n", beyond(a), fallback(a, plan.Accounts))
	}
	if !seen {
		fmt.Fprintln(out, "No plan was seen yet. A login shows its limits here after its first turn; an API key has no plan.")
	}
	if len(plan.Parked) == 0 {
		_, err := fmt.Fprintln(out, "\nNothing is parked.")
		return err
	}
	fmt.Fprintf(out, "\nParked (%s); to go on now: harness plan go RUN [--model MODEL | --fallback]\n", parkedWords(plan))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tTHREAD\tGOES ON\tWHY")
	for _, run := range plan.Parked {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", run.ID, cmp.Or(terminal.Short(titles[run.ThreadID], 30), run.ThreadID),
			goesOn(*run.Parked, now), terminal.Short(run.Parked.Reason, 120))
	}
	return table.Flush()
}

// parkedWords say how many runs are parked, and whether all of them are listed.
func parkedWords(plan client.Plan) string {
	switch listed := len(plan.Parked); {
	case plan.ParkedTotal > listed:
		return fmt.Sprintf("%d; the first %d", plan.ParkedTotal, listed)
	case plan.More:
		return fmt.Sprintf("%d or more", listed)
	default:
		return strconv.Itoa(listed)
	}
}

// goesOn says when a parked run goes on.
func goesOn(parked pluginsdk.Parked, now time.Time) string {
	if parked.Plugin != "" && parked.Until.IsZero() {
		return "when raised"
	}
	return When(parked.Until, now)
}

func bar(w pluginsdk.PlanWindow, now time.Time) string {
	full := 0
	if !opened(w, now) {
		full = max(0, min(barWidth, int(math.Round(w.Used*barWidth))))
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// windowWords says when a window opens again, and when it is used up at the pace so far.
func windowWords(w pluginsdk.PlanWindow, now time.Time) string {
	var words []string
	switch {
	case opened(w, now):
		return "has been reset; last used " + Clock(w.SeenAt, now)
	case w.ResetsAt.IsZero():
		words = append(words, "it is not known when it resets")
	default:
		words = append(words, "resets "+When(w.ResetsAt, now))
	}
	if w.Overage {
		words = append(words, "Anthropic bills you for what is used now")
	}
	if !w.FullAt.IsZero() {
		words = append(words, "at this pace used up at "+Clock(w.FullAt, now))
	}
	return strings.Join(words, "; ")
}

func fallback(a pluginsdk.Account, all []pluginsdk.Account) string {
	for _, key := range all {
		if key.Name == a.Fallback && key.DailyLimitUSD > 0 {
			return fmt.Sprintf("%s ($%.2f of $%.2f today)", key.Name, key.SpentTodayUSD, key.DailyLimitUSD)
		}
	}
	if a.Fallback != "" {
		return a.Fallback + " (cannot be used: it has no daily limit)"
	}
	return "none"
}

// Clock is a time of the day here, with its date if that is not today's.
func Clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("Mon 2 Jan 15:04")
}

// When is Clock, with how long it is until then.
func When(at, now time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	return Clock(at, now) + " (" + until(at.Sub(now)) + ")"
}

func until(span time.Duration) string {
	minutes := int(math.Ceil(span.Minutes()))
	days, hours := minutes/(24*60), minutes/60%24
	switch {
	case minutes <= 0:
		return "now"
	case days > 0:
		return fmt.Sprintf("in %d d %d h", days, hours)
	case hours > 0:
		return fmt.Sprintf("in %d h %d min", hours, minutes%60)
	}
	return fmt.Sprintf("in %d min", minutes)
}

// Rights prints what the agent may do in a thread: what Harness meant, beside what the agent's
// program says.
func Rights(out io.Writer, rights pluginsdk.AgentRights) error {
	fmt.Fprintf(out, "Claude CLI %s\n\n", cmp.Or(terminal.Short(rights.Version, 60), "of an unknown version"))
	type mark struct{ meant, said string }
	marks := make(map[string]*mark)
	var order []string
	line := func(rule pluginsdk.AgentRule) *mark {
		key := string(rule.Behavior) + "\t" + terminal.Short(rule.Rule, 100)
		if marks[key] == nil {
			marks[key], order = &mark{"-", "-"}, append(order, key)
		}
		return marks[key]
	}
	for _, rule := range rights.Meant {
		line(rule).meant = "yes"
	}
	for _, rule := range rights.Said {
		line(rule).said = cmp.Or(terminal.Short(rule.Source, 40), "yes")
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\tWHAT\tRULE\tHARNESS\tCLI")
	for _, key := range order {
		of := marks[key]
		differs := rights.Known && (of.meant == "-") != (of.said == "-")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", yes(differs, "≠", " "), key, of.meant, of.said)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, hook := range rights.Hooks {
		fmt.Fprintf(out, "hook %s: %s (%s)\n", terminal.Short(hook.Event, 60), terminal.Short(hook.Command, 200), terminal.Short(hook.Source, 60))
	}
	if !rights.Known {
		fmt.Fprintln(out, "\nThis CLI cannot tell its rules: only those that Harness gives it are shown.")
	}
	if len(rights.Differences) > 0 {
		fmt.Fprintf(out, "\nDifferences: %d\n", len(rights.Differences))
	} else if rights.Known {
		fmt.Fprintln(out, "\nNo differences.")
	}
	for _, difference := range rights.Differences {
		fmt.Fprintf(out, "≠ %s\n", terminal.Short(difference, 300))
	}
	return nil
}

// Changed says what holds for an account that was changed.
func Changed(a pluginsdk.Account) string {
	if a.Kind == pluginsdk.AccountKey {
		return fmt.Sprintf("%s: %s", a.Name, yes(a.DailyLimitUSD > 0, fmt.Sprintf("as a fallback it may cost $%.2f a day", a.DailyLimitUSD), "no account can use this key as its fallback"))
	}
	return fmt.Sprintf("%s: %s; fallback key: %s", a.Name, beyond(a), cmp.Or(a.Fallback, "none"))
}
