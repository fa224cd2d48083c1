package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// A budget in tokens is counted in tokens, in an account of its own, and caps no turn.
func TestABudgetInTokens(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set words 2M tokens day all", "**words**: 2M tokens a day; 0 tokens spent, 0 tokens set aside")
	w.wantSays("set words --tokens 3M", "**words**: 3M tokens a day")
	got := w.gate(message("talk")).Reservations
	want := pluginsdk.Reservation{Account: "tokens/day:2026-11-28/all", LimitUSD: 3e6, AmountUSD: leastTokens, Unit: pluginsdk.UnitTokens}
	one := got[len(got)-1]
	if one.Account != want.Account || one.LimitUSD != want.LimitUSD || one.AmountUSD != want.AmountUSD || one.Unit != want.Unit || one.CapAtRest || one.Wait == nil {
		t.Errorf("set aside %+v, want %+v", one, want)
	}
	if !strings.Contains(one.Reason, "harness budget set words 6M tokens") {
		t.Errorf("it says %q", one.Reason)
	}
	for range 10 {
		w.own.take(pluginsdk.Run{State: pluginsdk.RunSucceeded, Result: &pluginsdk.InvokeResult{Model: "opus"}, Usage: pluginsdk.Usage{InputTokens: 1000, OutputTokens: 1000, CacheReadTokens: 40_000, CacheWriteTokens: 8000}})
	}
	if one = w.gate(message("talk")).Reservations[1]; one.AmountUSD != 50_000 {
		t.Errorf("after turns of 50k tokens, %v are set aside", one.AmountUSD)
	}
	w.wantSays("set words 5", "**words**: $5.00 a day")
	w.wantSays("set words 10 tokens", "error: ", "from 1k to 1000G")
	w.wantSays("set both 5 2M tokens", "error: ", "one amount")
}

// A share of a plan's windows holds back what it counts while more of one is used; it sets nothing aside.
func TestAShareOfAPlansWindow(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set background 50% plugin=cron", "**background**: 50 % of each window of the plan for the plugin cron")
	w.wantSays("set background soft", "error: ", "never soft")
	w.wantSays("set background 120%", "error: ", "from 1% to 100%")
	resets := saturday.Add(2 * time.Hour)
	seen := func(used float64) {
		known := *w.own.known.Load()
		known.standard = "home"
		known.accounts = map[string]pluginsdk.Account{"home": {Name: "home", Kind: pluginsdk.AccountLogin, Plan: true, Usable: true, Windows: []pluginsdk.PlanWindow{
			{Account: "home", Name: "five_hour", Used: used, ResetsAt: resets},
			{Account: "home", Name: "seven_day_opus", Model: "opus", Used: 0.99, ResetsAt: resets},
		}}}
		w.own.known.Store(&known)
	}
	job := message("talk")
	job.Message.Plugin, job.Message.Author = "cron", ""
	asked := message("talk") // by a person, on behalf of whom cron's run was caused
	asked.Message.Plugin = "cron"
	seen(0.49)
	if answer := w.gate(job); answer != nil && answer.Deny {
		t.Errorf("below the share it is denied: %s", answer.Reason)
	}
	seen(0.5)
	want := "the budget background lets turns begin while less than 50 % of the plan's five-hour limit is used, and 50 % is. It is free again on Sat 2026-11-28 17:00 UTC, or with a larger share: harness budget set background 70%, and then /retry"
	if answer := w.gate(job); answer == nil || !answer.Deny || answer.Reason != want || answer.Wait != nil {
		t.Errorf("at the share the answer is %+v, want denied with %q", answer, want)
	}
	if answer := w.gate(asked); answer == nil || answer.Wait == nil || answer.Wait.For != "background" || !answer.Wait.Until.Equal(resets) {
		t.Errorf("what a person asked for gets %+v, want it to wait", answer)
	}
	if answer := w.gate(message("talk")); answer != nil && answer.Deny {
		t.Errorf("what the budget does not count is denied: %s", answer.Reason)
	}
	at := w.now
	w.now = resets
	if answer := w.gate(job); answer != nil && answer.Deny {
		t.Errorf("after the reset it is denied: %s", answer.Reason)
	}
	w.now, resets = at, time.Time{}
	seen(0.9)
	if answer := w.gate(job); answer != nil && answer.Deny {
		t.Errorf("of a window that may never begin anew it is denied: %s", answer.Reason)
	}
}

// What is typed is what holds: an amount in other words than were meant, or the first of two, would let turns spend
// more than somebody has said.
func TestWhatIsSaidTwiceOrInOtherUnits(t *testing.T) {
	w := newWorld(t, nil)
	for typed, want := range map[string]string{
		"set x 10 20":         `"10" and "20": a budget has one amount`,
		"set x 2M tokens 5":   `"2M tokens" and "5": a budget has one amount`,
		"set x 5 50%":         `"5" and "50%": a budget has one amount`,
		"set x $5 hard soft":  `"hard" and "soft"`,
		"set x $5 day week":   `"day" and "week": a budget has one window`,
		"set x $5 all billed": `"all" and "billed": a budget has one scope`,
		"set x 50% week":      `"week": a share is of each of the plan's own windows`,
		"set x 2M":            `"2M" is no amount in dollars; for tokens say: budget set x 2M tokens`,
		"set x tokens":        "say how many tokens",
		"set x 500k day":      "budget set x 500k tokens",
	} {
		w.wantSays(typed, "error: ", want)
	}
	w.wantSays("set x --window-share 50", "**x**: 50 % of each window of the plan")
	w.wantSays("set y --window-share 50% plugin=cron", "**y**: 50 % of each window of the plan for the plugin cron")
	w.wantSays("set y --tokens 2M", "**y**: 2M tokens", "It was 50 % of each window of the plan for the plugin cron.")
	if said := w.say("set y 3M tokens"); strings.Contains(said, "It was") {
		t.Errorf("a raise says %q", said)
	}
}

// A budget of a task, or of a thread that is gone by now, can be raised as it is shown: its scope is what is stored.
func TestABudgetOfWhatIsGoneCanBeRaised(t *testing.T) {
	w := newWorld(t, nil)
	known := *w.own.known.Load()
	known.ledger.Budgets = append(known.ledger.Budgets, Budget{Name: "old", USD: 5, Window: Week, Scope: Scope{Kind: Task, Of: "thread-of-it"}}, Budget{Name: "gone", USD: 5, Window: Week, Scope: Scope{Kind: Thread, Of: "no-such"}})
	if err := w.own.change(t.Context(), func(ledger) (ledger, error) { return known.ledger, nil }); err != nil {
		t.Fatal(err)
	}
	w.wantSays("set old 10 week task=thread-of-it hard", "**old**: $10.00 a week for the task thread-of-it")
	w.wantSays("set gone 10 week thread=no-such hard", "**gone**: $10.00 a week")
	w.wantSays("set other 10 week thread=no-such", "error: ")
}

// Of a budget that never begins anew people read what has it go on, in its unit.
func TestTheReasonOfABudgetForEver(t *testing.T) {
	b := Budget{Name: "all", Tokens: 2e6, Window: Ever, Scope: Scope{Kind: All}}
	if said := reason(b, turn{waits: true}, time.Time{}, false, 1); !strings.HasSuffix(said, "It does not begin anew. It goes on once somebody raises it: harness budget set all 4M tokens") {
		t.Errorf("who waits is told %q", said)
	}
	if said := reason(b, turn{}, saturday, false, 1); !strings.HasSuffix(said, "or with more tokens: harness budget set all 4M tokens, and then /retry") {
		t.Errorf("who is denied is told %q", said)
	}
}

// What is spent of each budget can be scraped, in its unit, and is read with what the check reads anyway.
func TestFiguresOfBudgets(t *testing.T) {
	w := newWorld(t, nil)
	w.wantSays("set daily 40", "**daily**")
	w.wantSays("set words 2M tokens week", "**words**")
	w.wantSays("set background 50% plugin=cron", "**background**")
	w.wantSays("set each 5 day thread=*", "**each**")
	known := *w.own.known.Load()
	known.accounts = map[string]pluginsdk.Account{"home": {Name: "home", Plan: true, Windows: []pluginsdk.PlanWindow{
		{Account: "home", Name: "five_hour", Used: 0.25, ResetsAt: saturday.Add(time.Hour)}, {Account: "home", Name: "seven_day", Used: 0.9, ResetsAt: saturday},
	}}}
	w.own.known.Store(&known)
	told := func() (lines []string) {
		answer, err := w.plugin.OnCheck(t.Context(), &pluginsdk.OnCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if kept, refused := pluginsdk.KeepFigures("metrics", answer.Figures); len(kept) != len(answer.Figures) || len(refused) > 0 {
			t.Errorf("the figures are not all shown: %v", refused)
		}
		for _, figure := range answer.Figures {
			for _, sample := range figure.Samples {
				lines = append(lines, fmt.Sprintf("%s %s/%s/%s %v", strings.TrimPrefix(figure.Name, "harness_metrics_"), sample.Labels["budget"], sample.Labels["window"], sample.Labels["account"], sample.Value))
			}
		}
		return lines
	}
	want := []string{
		"budget_limit_ratio background/five_hour/home 0.5", "budget_limit_tokens words/week/ 2e+06", "budget_limit_usd daily/day/ 40",
		"budget_spent_tokens words/week/ 0", "budget_spent_usd daily/day/ 0", "budget_used_ratio background/five_hour/home 0.25",
	}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("told are %q, want %q", got, want)
	}
	before := w.calls("Budgets.Account")
	if got := told(); !slices.Equal(got, want) || w.calls("Budgets.Account") != before {
		t.Errorf("on an idle day %q are told, with %d more questions", got, w.calls("Budgets.Account")-before)
	}
}

// Amounts of tokens are written in one way, which can be typed again; all that people type is taken.
func TestAmountsOfTokens(t *testing.T) {
	for count, want := range map[float64]string{0: "0 tokens", 940: "940 tokens", 1000: "1k tokens", 250_000: "250k tokens", 12_449: "12.4k tokens", 999_949: "999.9k tokens", 999_960: "1M tokens", 1_000_000: "1M tokens", 1_256_000: "1.26M tokens", 2e9: "2000M tokens"} {
		if got := tokens(count); got != want {
			t.Errorf("%v is said as %q, want %q", count, got, want)
		}
		again, err := tokenCount(typed(count))
		if count >= 1000 && (err != nil || again != count) {
			t.Errorf("%v is typed as %s, and read as %v, %v", count, typed(count), again, err)
		}
	}
	for _, words := range []string{"1M tokens", "1000000 tokens", "1000k tokens", "1m tokens", "--tokens 1M", "--tokens 1000000"} {
		if c, err := parseChange("words " + words); err != nil || c.tokens != 1_000_000 {
			t.Errorf("%s is read as %v, %v", words, c.tokens, err)
		}
	}
}

// Who mistypes a word reads which one it is, and what could stand there.
func TestAWordThatIsNotUnderstood(t *testing.T) {
	w := newWorld(t, nil)
	for typed, word := range map[string]string{"set x 5 fortnight": `"fortnight"`, "set x NaN": `"NaN"`, "set x 5 tokns": `"tokns"`, "set x 5 day sofd": `"sofd"`} {
		w.wantSays(typed, word+" is not understood", "a window (day, week, month, ever)", "the unit tokens", "soft or hard", setUsage)
	}
	w.wantSays("set x", setUsage)
	w.wantSays("set x 5 crom=tea", `"crom=tea" is not something that a budget counts`)
	for _, part := range []string{"[tokens]", "50%", "2M", "*", "soft: ", "hard: "} {
		if !strings.Contains(commands()[0].Usage, part) {
			t.Errorf("help does not mention %s", part)
		}
	}
}
