package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A task's turn has the tools that the task allows, and is paid for by the task: a cap
// holds only if turns say whose they are.
func TestATurnOfATaskIsTheTasks(t *testing.T) {
	b := newBench()
	b.claim.TaskID, b.claim.AllowedTools = "K", []string{"Bash(make:*)"}
	if _, err := b.line.Handle(t.Context(), t.Context(), b.claim); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0].AllowedTools; !slices.Equal(got, b.claim.AllowedTools) {
		t.Errorf("the agent was allowed %q", got)
	}
	if got := b.store.results[0].AgentRun.TaskID; got != "K" {
		t.Errorf("paid for by %q", got)
	}
}

// What a plugin causes counts to that plugin, whether it asks for a turn or submits a message of its
// own accord; what it brings from people does not, and what a task costs is the task's.
func TestATurnCountsToThePluginThatCausedIt(t *testing.T) {
	for name, c := range map[string]struct {
		message pluginsdk.Message
		task    string
		want    string
	}{
		"a scheduled prompt":           {pluginsdk.Message{Plugin: "cron"}, "", "cron"},
		"what a plugin's tool submits": {pluginsdk.Message{Plugin: "chatty", Origin: pluginsdk.Origin{RunID: "R"}}, "", "chatty"},
		"a person on Discord":          {pluginsdk.Message{Plugin: "discord", Author: "Ann"}, "", ""},
		"a person with a token":        {pluginsdk.Message{Plugin: "web", Origin: pluginsdk.Origin{Token: "T"}}, "", ""},
		"a person without a name":      {pluginsdk.Message{Plugin: "web", Scope: pluginsdk.ScopeChat}, "", ""},
		"the core":                     {pluginsdk.Message{}, "", ""},
		"a task's iteration":           {pluginsdk.Message{Plugin: "delegation"}, "K", ""},
	} {
		b := newBench()
		b.claim.TaskID = c.task
		said := &b.claim.Message
		said.Plugin, said.Author, said.Scope, said.Origin = c.message.Plugin, c.message.Author, c.message.Scope, c.message.Origin
		if _, err := b.line.Handle(t.Context(), t.Context(), b.claim); err != nil {
			t.Fatal(err)
		}
		if got := b.store.results[0].AgentRun.Plugin; got != c.want {
			t.Errorf("%s counts to %q, want %q", name, got, c.want)
		}
	}
}

// A task that may cost a dollar must not cost ten because it has one long iteration; and
// at its end nothing is left, which is not the same as no cap. It is the same for what a
// person writes in its thread, and for a reviewer's turn.
func TestATurnOfATaskMayCostWhatItsTaskHasLeft(t *testing.T) {
	for name, row := range map[string]struct {
		spent, gates, attempts, want float64
		broke                        bool
	}{
		"what is left":           {spent: 0.75, want: 0.25},
		"the gate's is lower":    {spent: 0.25, gates: 0.5, want: 0.5},
		"the task's is lower":    {spent: 0.75, gates: 0.5, want: 0.25},
		"an attempt before":      {spent: 0.5, gates: 0.75, attempts: 0.5, want: 0.25}, // which the task has paid for already
		"nothing is left":        {spent: 1, broke: true},
		"less than nothing":      {spent: 3, broke: true},
		"nothing, with a gate's": {spent: 1, gates: 5, broke: true},
	} {
		messages, turns := newBench("a"), turnBench(pluginsdk.StartTurnRequest{Prompt: "review", TaskID: "K"}, "a")
		messages.claim.TaskID = "K"
		for kind, b := range map[string]*bench{"message": messages, "turn": turns} {
			b.store.caps = map[string]ledger.TaskCap{"K": {TaskID: "above K", CostUSD: row.spent, CapUSD: 1}}
			b.claim.Run.CostUSD = row.attempts
			b.plugins[0].gate = func() (*pluginsdk.OnBeforeRunResponse, error) {
				return &pluginsdk.OnBeforeRunResponse{CostCapUSD: row.gates}, nil
			}
			err := b.handle()
			if row.broke {
				var failure *pluginsdk.Failure
				if len(b.agent.requests) != 0 || !errors.As(err, &failure) || failure.Kind != pluginsdk.FailureBudget || !strings.Contains(failure.Message, "above K") {
					t.Errorf("%s, %s: asked %d times, %v", name, kind, len(b.agent.requests), err)
				}
				continue
			}
			if err != nil || len(b.agent.requests) != 1 || b.agent.requests[0].CostCapUSD != row.want {
				t.Errorf("%s, %s: asked %+v, %v", name, kind, b.agent.requests, err)
			}
		}
	}
	b := newBench()
	b.claim.TaskID, b.store.fail = "K", map[string]error{"TaskCap": pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the database is away")}
	if err := b.handle(); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || len(b.agent.requests) != 0 {
		t.Errorf("a cap that cannot be read is none: %v", err)
	}
}
