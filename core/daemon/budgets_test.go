package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// budgeted is an installation with the plugin of the budgets.
func budgeted(t *testing.T, database string) *installation {
	t.Helper()
	in := newInstallation(t, database)
	in.link(filepath.Join(pluginDir, "metrics"), "metrics")
	return in
}

// said types a command, and returns what is answered.
func (in *installation) said(w *watcher, thread, command string) string {
	in.t.Helper()
	accepted, _ := in.say(w, thread, command)
	answer := ""
	for _, row := range in.messages(thread) { // others may speak in the thread meanwhile
		if row.RunID == accepted.RunID && row.Role != pluginsdk.RoleUser && row.Kind == pluginsdk.MessageText {
			answer = row.Content
		}
	}
	return answer
}

// wantSaid checks the answer of a command.
func (in *installation) wantSaid(w *watcher, thread, command string, parts ...string) {
	in.t.Helper()
	said := in.said(w, thread, command)
	for _, part := range parts {
		if !strings.Contains(said, part) {
			in.t.Errorf("%s says %q, want %q in it", command, said, part)
		}
	}
}

// callCost is what each API call of dearTurns costs, in USD, at the price of a Sonnet.
const callCost = 0.075

// dearTurns has each turn make four API calls, two of which are a sub-agent's.
func dearTurns(api *fakeapi.Server) {
	usage := fakeapi.Usage{InputTokens: 24_700, OutputTokens: 60}
	uses := func(tool, input string) fakeapi.Reply {
		return fakeapi.Reply{Tools: []fakeapi.ToolUse{{Name: tool, Input: json.RawMessage(input)}}, Usage: usage}
	}
	api.Handle(func(r fakeapi.Request) fakeapi.Reply {
		switch begun := len(r.ToolResults()) > 0; {
		case len(r.Tools) == 0:
			return fakeapi.Reply{Text: "x"}
		case !begun && strings.Contains(r.Prompt(), "dig"):
			return uses("Bash", `{"command":"echo dug"}`)
		case !begun:
			return uses("Agent", `{"description":"d","prompt":"dig","subagent_type":"general-purpose"}`)
		}
		return fakeapi.Reply{Text: "done", Usage: usage}
	})
}

// Eight threads that work at once spend no more than there is, and one API call for each that was
// under way, sub-agents' too; among them a model of which nobody knows the price. Who comes next is told
// what is used up and what to do, waits, and goes on once a person has raised it.
func TestEightThreadsSpendOneBudget(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		const threads, budget = 8, 1.0
		in := budgeted(t, database(t))
		api := in.claude()
		dearTurns(api)
		in.config.AllowedTools = []string{"Bash", "Agent"}
		in.start()
		watch := in.watch()
		control := in.thread("control")
		in.wantSaid(watch, control, "/budget", "**daily**: $25.00 a day for what is billed; $0.00 spent")
		in.wantSaid(watch, control, "/budget set all $1 day", "**all**: $1.00 a day; $0.00 spent, $0.00 set aside", "/retry")

		var runs []string
		for i := range threads {
			thread := in.thread(fmt.Sprint("thread ", i))
			if i%4 == 0 {
				if status := in.call(http.MethodPatch, "/api/threads/"+thread, map[string]string{"model": "claude-unheard-1"}, nil); status != http.StatusOK {
					t.Fatalf("the model of a thread: %d", status)
				}
			}
			runs = append(runs, in.chat(thread, "work").RunID)
		}
		in.until("the runs to end, or to wait", func() bool {
			for _, id := range runs { // what others hold may be there again
				if run := in.run(id); !run.State.Final() && (run.Parked == nil || time.Until(run.NextAttemptAt) < time.Minute) {
					return false
				}
			}
			return true
		})
		var waiting []string
		ended := make(map[string]int)
		for _, run := range runs {
			state := in.run(run)
			switch {
			case state.State == pluginsdk.RunSucceeded:
				ended["done"]++
			case strings.Contains(state.Error, "the turn was ended at its cap of $") && strings.Contains(state.Error, "the budget all of $1.0"):
				ended["at the cap"]++
			case state.Parked != nil && (strings.Contains(state.Parked.Reason, "the budget all of $1.0") && strings.Contains(state.Parked.Reason, "is used up") ||
				strings.Contains(state.Parked.Reason, "turns at work hold what is left of the budget all")):
				ended["waits"]++
				waiting = append(waiting, run)
			default:
				t.Errorf("a run is %s: %s", state.State, state.Error)
			}
		}
		spent := float64(len(api.Requests(fakeapi.Main))) * callCost
		if most := budget + threads*callCost; spent > most+1e-9 {
			t.Errorf("$%.2f were spent, which is more than $%.2f: %v", spent, most, ended)
		}
		if spent < budget/2 {
			t.Errorf("$%.2f were spent, of which there were $%.2f: %v", spent, budget, ended)
		}
		if !strings.Contains(in.log.String(), "THE PRICE OF THIS MODEL IS NOT KNOWN") {
			t.Error("nobody is told that a model has no price")
		}

		in.wantSaid(watch, control, "/budget set all $0.30", "**all**: $0.30 a day; $")
		ninth := in.thread("the ninth")
		before := len(api.Requests(fakeapi.Main))
		waits := in.chat(ninth, "work").RunID
		in.wantWaits(ninth, waits, "The message waits: the budget all of $0.3", " a day is used up: $", "It is free again on ", "harness budget set all 0.6. It then continues by itself.")
		if after := len(api.Requests(fakeapi.Main)); after != before {
			t.Errorf("the ninth made %d calls", after-before)
		}
		in.wantSaid(watch, control, "/budget set all $20", "**all**: $20.00 a day; $")
		for _, id := range append(waiting, waits) {
			if run := in.ended(id); run.State != pluginsdk.RunSucceeded {
				t.Errorf("after the budget was raised, one that waited is %s: %s", run.State, run.Error)
			}
		}
		var audited []string
		entries, err := in.database().AuditEntries(t.Context(), "metrics", 100)
		for _, entry := range entries {
			if entry.Action == "command.budget" {
				who, _, _ := strings.Cut(entry.Who, ", token ")
				audited = append(audited, who+": "+entry.Detail)
			}
		}
		want := []string{
			"plugin:web (owner: made the budget all: $1.00 a day", "plugin:web (owner: changed the budget all to $0.30 a day, from $1.00 a day",
			"plugin:web (owner: changed the budget all to $20.00 a day, from $0.30 a day",
		}
		if err != nil || !slices.Equal(audited, want) {
			t.Errorf("the audit log has %q, %v", audited, err)
		}
	})
}

// wantWaits checks that a run waits for a budget, and that its thread is told why, once.
func (in *installation) wantWaits(thread, run string, parts ...string) {
	in.t.Helper()
	in.until("the run to wait", func() bool { return in.run(run).Parked != nil })
	told := ""
	for _, row := range in.messages(thread) {
		if row.RunID != run || row.Kind != pluginsdk.MessageNotification {
			continue
		}
		if told != "" {
			in.t.Errorf("the thread is told twice: %q", row.Content)
		}
		told = row.Content
	}
	for _, part := range parts {
		if !strings.Contains(told, part) {
			in.t.Errorf("the thread reads %q, want %q in it", told, part)
		}
	}
}

// A budget stops what spends from it, and nothing else: what people write elsewhere runs.
func TestABudgetOfOneThread(t *testing.T) {
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := budgeted(t, database(t))
		in.demo(`[{"match":"work","costUsd":0.3,"text":"done"}]`)
		stop := in.start()
		watch := in.watch()
		one, other := in.thread("one"), in.thread("other")
		in.wantSaid(watch, other, "/budget set one $0.50 ever thread="+one, "**one**: $0.50 in all for the thread "+one)
		first, _ := in.say(watch, one, "work")
		if run := in.run(first.RunID); run.State != pluginsdk.RunSucceeded {
			t.Fatalf("the first is %s: %s", run.State, run.Error)
		}
		in.wantSaid(watch, other, "/budget", "$0.30 spent, $0.00 set aside")
		second, _ := in.say(watch, one, "work") // 0.20 are left, and it comes to 0.30 in one call
		if run := in.run(second.RunID); run.State != pluginsdk.RunFailed || !strings.Contains(run.Error, "the turn was ended at its cap of $0.20: it has come to $0.30; the budget one of $0.50 in all is used up") {
			t.Errorf("the second is %s: %s", run.State, run.Error)
		}
		third := in.chat(one, "work").RunID
		in.wantWaits(one, third, "The message waits: the budget one of $0.50 in all is used up: $0.60 are spent", "It does not begin anew. It goes on once somebody raises it: harness budget set one 1.", "/stop")
		elsewhere, _ := in.say(watch, other, "work")
		if run := in.run(elsewhere.RunID); run.State != pluginsdk.RunSucceeded {
			t.Errorf("elsewhere a run is %s: %s", run.State, run.Error)
		}

		// It waits over a restart, and while more is still too little; nobody is told again.
		stop()
		in.start()
		watch = in.watch()
		in.wantSaid(watch, other, "/budget set one $0.61", "$0.60 spent")
		in.wantWaits(one, third, "The message waits")
		fourth := in.chat(one, "work").RunID
		if status := in.call(http.MethodPost, "/api/threads/"+one+"/stop", map[string]string{}, nil); status != http.StatusOK {
			t.Errorf("to stop the thread: %d", status)
		}
		if run := in.ended(third); run.State != pluginsdk.RunCancelled {
			t.Errorf("stopped, the third is %s: %s", run.State, run.Error)
		}
		in.wantWaits(one, fourth, "The message waits")
		in.wantSaid(watch, one, "/budget set one soft", "$0.60 spent") // also in the thread that waits
		if run := in.ended(fourth); run.State != pluginsdk.RunSucceeded {
			t.Errorf("after the budget was made soft, the fourth is %s: %s", run.State, run.Error)
		}

		// When nobody keeps budgets any more, nothing waits for one.
		in.wantSaid(watch, one, "/budget set one $0.50 hard", "spent")
		fifth := in.chat(one, "work").RunID
		in.wantWaits(one, fifth, "The message waits")
		in.sql(`UPDATE plugins SET enabled = FALSE WHERE name = 'metrics'`)
		if run := in.ended(fifth); run.State != pluginsdk.RunSucceeded {
			t.Errorf("after the plugin was turned off, the fifth is %s: %s", run.State, run.Error)
		}
	})
}
