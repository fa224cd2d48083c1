package budget

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// told is what programs read of a budget.
func (w *world) told(budget string) told {
	w.Helper()
	answer, err := w.plugin.CallTool(w.Context(), &pluginsdk.CallToolRequest{Name: toolList, Input: json.RawMessage("{}")})
	if err != nil {
		w.Fatal(err)
	}
	var all struct{ Budgets []told }
	if err := json.Unmarshal(answer.Result.Structured, &all); err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(all.Budgets, func(one told) bool { return one.Name == budget })
	if i < 0 {
		w.Fatalf("%s is not told: %+v", budget, all)
	}
	return all.Budgets[i]
}

func (w *world) wantCheck(part string) {
	w.Helper()
	if all := w.checks(); !slices.ContainsFunc(all, func(one string) bool { return strings.Contains(one, part) }) {
		w.Errorf("the checks are %q, want one with %q", all, part)
	}
}

// Who looks why a schedule does not fire has to find that its budget is used up, and by which of them.
func TestABudgetForEachSaysWhoHasSpentIt(t *testing.T) {
	w := newWorld(t, nil)
	for schedule, usd := range map[string]float64{"burn": 0.60, "Morning Digest": 0.07, "tea": 0.02, "low": 0.01} {
		w.spends(1, usd, plugintest.Turn{ThreadID: "talk", Cron: schedule, Plugin: "cron"})
	}
	w.wantSays("set jobs 0.05 day cron=*", "for each cron; spent by burn $0.60, Morning Digest $0.07, tea $0.02; 2 used it up; begins anew")
	w.wantSays("set tea 1 day cron=tea", "$1.00 a day for the cron tea; $0.02 spent, $0.00 set aside")
	jobs := w.told("jobs")
	if !jobs.Each || jobs.UsedUp != 2 || len(jobs.Most) != 3 || jobs.Most[0].Of != "burn" || jobs.Most[0].SpentUSD != 0.60 {
		t.Errorf("jobs is told as %+v", jobs)
	}
	if tea := w.told("tea"); tea.Each || tea.SpentUSD != 0.02 {
		t.Errorf("tea is told as %+v", tea)
	}
	w.wantCheck("budget jobs warning: spent by burn $0.60, Morning Digest $0.07 of $0.05 a day for each cron; begins anew")
	asked := w.calls("Installation.Usage")
	w.checks()
	if n := w.calls("Installation.Usage"); n != asked {
		t.Errorf("on an idle day the check reads the usage %d times", n-asked)
	}
	w.wantSays("set jobs soft", "2 passed it")
	w.wantSays("set none 1 day account=*", "nothing spent")
}

// Of a budget that each has for itself, who is denied reads whose it is.
func TestADenialOfABudgetForEachNamesWhose(t *testing.T) {
	w := newWorld(t, nil)
	w.say("rm daily")
	w.wantSays("set jobs 1 day cron=*", "**jobs**")
	want := "the budget jobs of the schedule digest of {limit} a day is used up"
	if got := w.gate(digest()).Reservations[0].Reason; !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	for scope, want := range map[string]string{"thread=*": "of the thread Rust in the attic of", "plugin=*": "of the plugin web of"} {
		w.wantSays("set jobs 1 day "+scope, "**jobs**")
		request := message("talk")
		request.Thread.Name = "Rust  in\nthe attic"
		if got := w.gate(request).Reservations[0].Reason; !strings.Contains(got, want) {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

// Dollars of a plan are billed to nobody, and are told apart wherever a budget counts them.
func TestNotionalDollarsOfABudgetAreNamed(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		host.SetAccount(pluginsdk.Account{Name: "plan", Kind: pluginsdk.AccountLogin, Usable: true})
		host.SetAccount(pluginsdk.Account{Name: "key", Kind: pluginsdk.AccountKey, Usable: true, Default: true})
	})
	w.spends(1, 1, plugintest.Turn{Account: "key", ThreadID: "talk"})
	w.spends(1, 3, plugintest.Turn{Account: "plan", ThreadID: "t1", Usage: pluginsdk.UsageSum{NotionalUSD: 3}})
	for typed, want := range map[string]string{
		"set a 100 day all":          "$4.00 spent ($3.00 of it notional), $0.00 set aside",
		"set b 100 day account=plan": "$3.00 spent (notional), ",
		"set c 100 day account=key":  "$1.00 spent, ",
		"set d 100 day billed":       "$1.00 spent, ",
		"set e 100 day thread=*":     "spent by t1 $3.00 (notional), talk $1.00; none",
		"set f 5M tokens day all":    "4k tokens spent, ",
	} {
		w.wantSays(typed, want)
	}
	if a := w.told("a"); a.NotionalUSD != 3 || a.SpentUSD != 4 {
		t.Errorf("a is told as %+v", a)
	}
	if e := w.told("e"); len(e.Most) != 2 || e.Most[0].NotionalUSD != 3 {
		t.Errorf("e is told as %+v", e)
	}
}
