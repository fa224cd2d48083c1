package invoker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Tests and demonstrations of plans rest on the demo agent: it fails as the real one does, for
// that account and model alone, until the window opens by the clock that it is given.
func TestTheDemoAgentHasAPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.json")
	write := func(text string) (*Script, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadScript(file)
	}
	script, err := write(`[{"match":"begin","text":"Yes.","plan":{"window":"five_hour","used":0.5,"resetsIn":"2h"}},
		{"match":"use it up","times":1,"planUsedUp":{"window":"seven_day_opus","model":"opus","resetsIn":"-1h","lasts":"1h"}}]`)
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	var told []pluginsdk.PlanWindow
	demo := NewDemo(DemoConfig{Script: script, Now: func() time.Time { return clock }, OnPlan: func(account string, windows []pluginsdk.PlanWindow) {
		for _, w := range windows {
			w.Account = account
			told = append(told, w)
		}
	}})
	ask := func(prompt, account, model string) *pluginsdk.Failure {
		t.Helper()
		result := demo.Invoke(t.Context(), ledger.AgentRequest{Prompt: prompt, Account: account, Model: model}, nil)
		if result.Account == "" || (account != "" && result.Account != account) {
			t.Errorf("the turn is of %q", result.Account)
		}
		return result.Failure
	}
	if failure := ask("begin", "", "opus"); failure != nil || len(told) != 1 || told[0].Used != 0.5 || !told[0].ResetsAt.Equal(clock.Add(2*time.Hour)) || told[0].Account != pluginsdk.EnvironmentAccount {
		t.Errorf("%v, told %+v", failure, told)
	}
	failure := ask("use it up", "work", "claude-opus-4-6")
	if failure == nil || failure.Kind != pluginsdk.FailurePlan || failure.Parked == nil || failure.Parked.Window != "seven_day_opus" || !failure.Parked.Until.Equal(clock.Add(-time.Hour)) {
		t.Fatalf("failure %+v", failure)
	}
	for name, c := range map[string]struct {
		account, model string
		fails          bool
	}{"the same": {"work", "opus", true}, "another model": {"work", "haiku", false}, "another account": {"", "opus", false}} {
		if failure := ask("hello", c.account, c.model); (failure != nil) != c.fails {
			t.Errorf("%s: %v", name, failure)
		}
	}
	clock = clock.Add(time.Hour)
	if failure := ask("hello", "work", "opus"); failure != nil {
		t.Errorf("open again: %v", failure)
	}
	for text, want := range map[string]string{
		`[{"plan":{"used":1}}]`:                                 "no name",
		`[{"planUsedUp":{"window":"w","used":2}}]`:              "want 0 to 1",
		`[{"planUsedUp":{"window":"w","resetsIn":"tomorrow"}}]`: "want a duration",
	} {
		if _, err := write(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
