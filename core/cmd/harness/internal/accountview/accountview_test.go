package accountview

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// now is in the place's own time, as people are shown times.
var now = time.Date(2026, 11, 23, 15, 10, 0, 0, time.Local)

func at(hours, minutes int) time.Time {
	return now.Add(time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
}

func some() []pluginsdk.Account {
	return []pluginsdk.Account{
		{Name: "environment", Kind: pluginsdk.AccountEnvironment, Reason: "no credentials"},
		{Name: "home", Kind: pluginsdk.AccountLogin, Reason: "log in: harness account login home", Overage: true},
		{Name: "spare", Kind: pluginsdk.AccountKey, Usable: true, DailyLimitUSD: 5, SpentTodayUSD: 1.2},
		{Name: "work", Kind: pluginsdk.AccountLogin, Usable: true, Default: true, Plan: true, Fallback: "spare", Windows: []pluginsdk.PlanWindow{
			{Name: "five_hour", Used: 0.62, Status: pluginsdk.PlanAllowed, ResetsAt: at(2, 10), FullAt: at(1, 30), SeenAt: now},
			{Name: "seven_day", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: at(52, 0), SeenAt: now, Overage: true},
			{Name: "seven_day_opus", Used: 1, Status: pluginsdk.PlanRejected, ResetsAt: at(-1, 0), SeenAt: at(-2, 0)},
			{Name: "monthly", Used: 0.759999, Status: pluginsdk.PlanWarning, SeenAt: now},
		}},
	}
}

func wantText(t *testing.T, got, want string) {
	t.Helper()
	lines := func(text string) (lines []string) {
		for line := range strings.Lines(strings.TrimSpace(text)) {
			lines = append(lines, strings.TrimRight(line, " \n"))
		}
		return lines
	}
	if strings.Join(lines(got), "\n") != strings.Join(lines(want), "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAccounts(t *testing.T) {
	var out bytes.Buffer
	if err := Accounts(&out, some(), now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"not usable: log in: harness account login home", "$1.20 of $5.00 today as fallback", "five-hour limit 62 %, weekly limit 100 % (used up), weekly limit for Opus 0 %, monthly limit 75 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Whoever plans a night reads when a window opens, and when it is used up.
func TestPlan(t *testing.T) {
	var out bytes.Buffer
	plan := client.Plan{Accounts: some(), More: true, Parked: []client.Run{
		{ID: "run-1", ThreadID: "thread-1", Parked: &pluginsdk.Parked{Reason: "The plan is\x1b[31m used up.", Until: at(2, 10)}},
		{ID: "run-2", ThreadID: "thread-2", Parked: &pluginsdk.Parked{Reason: "The plan is used up.", Until: at(0, 1)}},
	}}
	if err := Plan(&out, plan, map[string]string{"thread-1": "Holidays"}, now); err != nil {
		t.Fatal(err)
	}
	wantText(t, out.String(), `
work (default)
  five-hour limit        ████████████░░░░░░░░  62 %             resets 17:20 (in 2 h 10 min); at this pace used up at 16:40
  weekly limit           ████████████████████  100 % (used up)  resets Wed 25 Nov 19:10 (in 2 d 4 h); Anthropic bills you for what is used now
  weekly limit for Opus  ░░░░░░░░░░░░░░░░░░░░  0 %              has been reset; last used 13:10
  monthly limit          ███████████████░░░░░  75 %             it is not known when it resets
  when the plan is used up, runs wait for the reset; fallback key: spare ($1.20 of $5.00 today)

Parked (2 or more); to go on now: harness plan go RUN [--model MODEL | --fallback]
RUN    THREAD    GOES ON                WHY
run-1  Holidays  17:20 (in 2 h 10 min)  The plan is[31m used up.
run-2  thread-2  15:11 (in 1 min)       The plan is used up.
`)
}

func TestBriefSaysWhatIsInTheWay(t *testing.T) {
	wantText(t, Brief(some(), now), `
  account  home: NOT USABLE: log in: harness account login home; Anthropic may bill you when the plan is used up
  account  spare: usable
  account  work (default): weekly limit used up, resets Wed 25 Nov 19:10 (in 2 d 4 h)
`)
	if text := Brief([]pluginsdk.Account{{Name: "environment", Default: true}}, now); text != "" {
		t.Errorf("who has one account is told %q", text)
	}
}

// Rights that differ are what an operator looks for; they must not look like the others.
func TestRights(t *testing.T) {
	var out bytes.Buffer
	rights := pluginsdk.AgentRights{
		Version: "2.1.330", Known: true,
		Meant:       []pluginsdk.AgentRule{{Behavior: pluginsdk.RuleAllow, Rule: "Read"}, {Behavior: pluginsdk.RuleDeny, Rule: "Read(./secret)"}},
		Said:        []pluginsdk.AgentRule{{Behavior: pluginsdk.RuleAllow, Rule: "Read", Source: "cliArg"}, {Behavior: pluginsdk.RuleAllow, Rule: "Bash", Source: "user"}},
		Hooks:       []pluginsdk.AgentHook{{Event: "PreToolUse", Command: "guard.sh", Source: "user"}},
		Differences: []string{"The CLI does not hold deny Read(./secret)."},
	}
	if err := Rights(&out, rights); err != nil {
		t.Fatal(err)
	}
	wantText(t, out.String(), `
Claude CLI 2.1.330

   WHAT   RULE            HARNESS  CLI
   allow  Read            yes      cliArg
≠  deny   Read(./secret)  yes      -
≠  allow  Bash            -        user
hook PreToolUse: guard.sh (user)

Differences: 1
≠ The CLI does not hold deny Read(./secret).
`)
	out.Reset()
	rights.Known, rights.Said, rights.Differences = false, nil, nil
	if err := Rights(&out, rights); err != nil || strings.Contains(out.String(), "≠") || !strings.Contains(out.String(), "cannot tell") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Dollars that nobody is billed, or that may be wrong, must not be taken for a bill.
func TestUsage(t *testing.T) {
	var out bytes.Buffer
	usage := pluginsdk.UsageResponse{
		Total: pluginsdk.UsageSum{Turns: 6, Failed: 1, CostUSD: 3.5, NotionalUSD: 2, Unsure: 2, Usage: pluginsdk.Usage{InputTokens: 1, CacheReadTokens: 2, CacheWriteTokens: 3, OutputTokens: 4}},
		Sums: []pluginsdk.UsageSum{
			{Of: "work", Turns: 4, CostUSD: 2, NotionalUSD: 2},
			{Of: "spare", Turns: 2, Failed: 1, CostUSD: 1.5, Unsure: 2},
		},
	}
	if err := Usage(&out, "", false, usage); err != nil {
		t.Fatal(err)
	}
	wantText(t, out.String(), `
OF     TURNS  FAILED  IN  OUT  COST
work   4      0       0   0    $2.00 notional
spare  2      1       0   0    ≈ $1.50
all    6      1       6   4    ≈ $3.50, $2.00 of it notional

≈ The cost of 2 turns may be wrong: they were cut off before their end, or recorded by an earlier version of Harness.

Notional: what turns on a plan would have cost with an API key. Nobody is billed for them.
`)
}

// A person knows a thread by its name. What the cache had of a prompt, and the time, are there on request.
func TestUsageByThreadHasNames(t *testing.T) {
	var out bytes.Buffer
	usage := pluginsdk.UsageResponse{
		Total: pluginsdk.UsageSum{Turns: 3, CostUSD: 1, Unsure: 1, Duration: 90 * time.Second, Usage: pluginsdk.Usage{InputTokens: 1, CacheReadTokens: 2, CacheWriteTokens: 3, OutputTokens: 4}},
		Sums: []pluginsdk.UsageSum{
			{Of: "T1", Name: "Plans\a", Turns: 2, CostUSD: 1, Unsure: 1, Duration: 90 * time.Second, Usage: pluginsdk.Usage{InputTokens: 1, CacheReadTokens: 2, CacheWriteTokens: 3, OutputTokens: 4}},
			{Of: "T2", Turns: 1},
		},
		Unpriced: []pluginsdk.UsageSum{{Of: "claude-unheard-1\a", Unsure: 1}},
	}
	if err := Usage(&out, "thread", true, usage); err != nil {
		t.Fatal(err)
	}
	wantText(t, out.String(), `
THREAD  NAME   TURNS  FAILED  IN  OUT  CACHE READ  CACHE WRITE  TIME   COST
T1      Plans  2      0       6   4    2           3            1m30s  ≈ $1.00
T2      -      1      0       0   0    0           0            0s     $0.00
all     -      3      0       6   4    2           3            1m30s  ≈ $1.00

≈ The cost of 1 turn may be wrong: it is of a model whose price is not known (claude-unheard-1).
`)
}

func TestBarsAreAsLongAsTheirPart(t *testing.T) {
	for _, c := range []struct {
		part, most float64
		want       string
	}{
		{0, 0, ""}, {0, 5, ""}, {5, 5, "████"}, {2.5, 5, "██"}, {0.001, 5, "▏"}, {4.9, 5, "███▉"},
	} {
		if got := usageBarOf(c.part, c.most, 4); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.part, c.most, got, c.want)
		}
	}
}

func TestPaceSaysWhatATimeComesTo(t *testing.T) {
	var out bytes.Buffer
	day := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	sum := pluginsdk.UsageSum{CostUSD: 1, NotionalUSD: 1}
	Pace(&out, "Today", sum, day, day.Add(6*time.Hour), day.AddDate(0, 0, 1))
	Pace(&out, "Today", sum, day, day.Add(time.Minute), day.AddDate(0, 0, 1))
	if want := "\nToday (UTC) so far: $1.00 notional; $4.00 at this pace.\n\nToday (UTC) so far: $1.00 notional.\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
