package budget

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// spends puts a turn of so many hours ago into the installation; each dollar is a thousand tokens.
func (w *world) spends(hoursAgo int, usd float64, turn plugintest.Turn) {
	turn.At = w.now.Add(-time.Duration(hoursAgo) * time.Hour)
	turn.Usage.CostUSD, turn.Usage.Usage.InputTokens = usd, int64(usd*1000)
	w.host.AddTurn(turn)
}

func (w *world) wantSpent(account string, want float64) {
	w.Helper()
	if got, err := w.own.stands(w.Context(), account); err != nil || math.Abs(got.SpentUSD-want) > 1e-9 {
		w.Errorf("spent of %s: %+v, %v; want %v", account, got, err, want)
	}
}

// Who sets a budget for the month on the 28th has spent some of it already.
func TestANewBudgetCountsWhatWasSpentInItsWindow(t *testing.T) {
	w := newWorld(t, func(host *plugintest.Host) {
		host.SetAccount(pluginsdk.Account{Name: "plan", Kind: pluginsdk.AccountLogin, Usable: true})
		host.SetAccount(pluginsdk.Account{Name: "key", Kind: pluginsdk.AccountKey, Usable: true, Default: true})
	})
	w.spends(1, 1, plugintest.Turn{Account: "key", ThreadID: "talk", Cron: "Morning Digest", Plugin: "cron"})
	w.spends(30, 2, plugintest.Turn{Account: "key", ThreadID: "t1"})
	w.spends(24*40, 4, plugintest.Turn{Account: "key", ThreadID: "t1"})
	w.spends(1, 8, plugintest.Turn{Account: "plan", ThreadID: "t2"})
	for typed, want := range map[string]map[string]float64{
		"set a 100 month all":               {"month:2026-11/all": 11},
		"set b 100 week billed":             {"week:2026-11-23/billed": 3},
		"set c 100 ever thread=t1":          {"ever/thread/t1": 6},
		"set d 100 day thread=*":            {"day:2026-11-28/thread/talk": 1, "day:2026-11-28/thread/t2": 8, "day:2026-11-28/thread/t1": 0},
		"set e 100 day cron=*":              {"day:2026-11-28/cron/morning_digest": 1},
		"set f 5M tokens month plugin=cron": {"tokens/month:2026-11/plugin/cron": 1000},
		"set g 100 month account=plan":      {"month:2026-11/account/plan": 8},
	} {
		w.wantSays(typed, "It holds from the next turn on")
		for account, usd := range want {
			w.wantSpent(account, usd)
		}
	}
	w.wantSays("set a 100 day", "$9.00 spent", "It was $100.00 a month")
}

// What was spent while the plugin was off, or held by nobody, counts once it serves again.
func TestWhatWasSpentWhileThePluginWasOffCounts(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set daily 5 day all", "$0.00 spent")
	w.spends(1, 2.5, plugintest.Turn{ThreadID: "talk"})
	w.wantSpent("day:2026-11-28/all", 0)
	w.serve()
	w.wantSpent("day:2026-11-28/all", 2.5)
	w.serve()
	w.wantSpent("day:2026-11-28/all", 2.5)
}

// A budget of a name that is mistyped would count nothing, and nobody would know.
func TestABudgetOfANameThatNothingHasIsWarnedOf(t *testing.T) {
	w := newWorld(t, nil)
	w.spends(1, 1, plugintest.Turn{ThreadID: "talk", Cron: "Morning Digest", Plugin: "summaries", Account: "key"})
	for typed, warned := range map[string]bool{
		"set a 1 day cron=morning_digest": false, "set b 1 day cron=mornign_digest": true, "set c 1 day cron=*": false,
		"set d 1 day plugin=summaries": false, "set e 1 day plugin=summarys": true, "set f 1 day account=key": false, "set g 1 day account=kee": true,
	} {
		if said := w.say(typed); strings.Contains(said, "Is the name right?") != warned || !strings.Contains(said, "It holds") {
			t.Errorf("%s says %q", typed, said)
		}
	}
}
