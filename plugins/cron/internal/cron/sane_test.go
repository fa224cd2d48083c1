package cron

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an operator sets and no fire could have is refused when it is set and when it is confirmed, and what may be a mistake
// is said.
func TestWhatAnOperatorSetsIsLookedAt(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.Cron = func(plugin string, _ pluginsdk.CronQuestion) (pluginsdk.OnCronResponse, error) {
		switch plugin {
		case "news":
			return pluginsdk.OnCronResponse{}, nil
		case "time":
			return pluginsdk.OnCronResponse{}, pluginsdk.Errorf(pluginsdk.CodeStale, "the plugin time does not answer OnCron")
		case "down":
			return pluginsdk.OnCronResponse{}, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin down is disabled")
		}
		return pluginsdk.OnCronResponse{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "the plugin %q is not installed", plugin)
	}
	w.hourly(pluginsdk.CronSpec{})
	for change, want := range map[string]string{
		"when = plugin:nosuch":               `error: when: the plugin "nosuch" is not installed`,
		"when = plugin:time words":           "error: when: the plugin time does not answer OnCron",
		"when = plugin:down":                 "asked just now, it gives no answer: the plugin down is disabled",
		"when = plugin:news words":           "is changed",
		"model = nonsense":                   "Mind the model: nonsense is none of",
		"tools = Read;;(":                    `error: tools: "(" is no rule`,
		"tools = Read; Bash(git log":         `error: tools: "Bash(git log" is no rule`,
		"tools = Bash(git log:*); mcp__x__y": "is changed",
	} {
		if got := w.as(pluginsdk.ScopeAdmin, "edit watch | "+change); !strings.Contains(got, want) {
			t.Errorf("%s: %s", change, got)
		}
	}
	w.as(pluginsdk.ScopeAdmin, "edit watch | when =")
	for _, model := range []string{"haiku", "opus[1m]", "claude-opus-4-1-20250805", "us.anthropic.claude-x-v1:0"} {
		if got := w.as(pluginsdk.ScopeAdmin, "edit watch | model = "+model); strings.Contains(got, "Mind") {
			t.Error(got)
		}
	}
	for what, spec := range map[string]pluginsdk.CronSpec{"plugin": {When: "plugin:nosuch"}, "rule": {Tools: []string{"("}}} {
		spec.Name, spec.Schedule, spec.Timezone, spec.Prompt = what, "0 * * * *", "UTC", "x"
		w.save(spec)
		if got := w.as(pluginsdk.ScopeAdmin, "confirm "+what); !strings.HasPrefix(got, "error: ") || confirmed(w.job(what)) {
			t.Error(got)
		}
	}
	w.save(pluginsdk.CronSpec{Name: "mode", Schedule: "0 * * * *", Timezone: "UTC", Prompt: "x", PermissionMode: "bypassPermissions"})
	w.host.Fail("Crons.Save", pluginsdk.Errorf(pluginsdk.CodeInvalid, "permissionMode: it is not one of default, plan"))
	if got := w.as(pluginsdk.ScopeAdmin, "confirm mode"); !strings.Contains(got, "error: mode is not confirmed: permissionMode: it is not one of") || confirmed(w.job("mode")) {
		t.Error(got)
	}
}
