package cron

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// audited is what the audit log is to say of a command of somebody with a scope.
func (w *world) audited(scope pluginsdk.TokenScope, body string) string {
	w.Helper()
	answer, err := w.plugin.OnCommand(w.Context(), &pluginsdk.OnCommandRequest{Name: name, Body: body, Origin: pluginsdk.FromPerson, Message: pluginsdk.Message{Scope: scope, Author: "Ann"}})
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(answer.Audit, "|")
}

// What an operator lets a schedule do unasked is in the audit log, with what it was. What anybody with the scope work changes is not.
func TestWhatAnOperatorLetsAScheduleDoIsAudited(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.hourly(pluginsdk.CronSpec{})
	for _, row := range []struct {
		scope      pluginsdk.TokenScope
		body, want string
	}{
		{pluginsdk.ScopeAdmin, "edit watch | report = never", ""},
		{pluginsdk.ScopeWork, "edit watch | prompt = Look well.", ""},
		{pluginsdk.ScopeAdmin, "edit watch | model = opus | tools = Bash(ls *); Read", `changed the schedule watch: model from "" to "opus", tools from "" to "Bash(ls *); Read"`},
		{pluginsdk.ScopeAdmin, "edit watch | model = opus", "set the schedule watch to what it was already"},
		{pluginsdk.ScopeAdmin, "edit watch | cost_cap = 2 | prompt = Look twice.", `changed the schedule watch: cost_cap from "" to "2.00", prompt from "Look well." to "Look twice."`},
		{pluginsdk.ScopeAdmin, "edit watch | trigger = file:/tmp/x", `changed the schedule watch: trigger from "" to "file:/tmp/x"`},
		{pluginsdk.ScopeAdmin, "confirm watch", ""},
		{pluginsdk.ScopeWork, "edit watch | prompt = Look away.", ""},
		{pluginsdk.ScopeWork, "confirm watch", "error: confirm: only who may administer Harness says that (on its machine: harness cron ...)"},
		{pluginsdk.ScopeAdmin, "confirm watch", `confirmed the schedule watch, with trigger "file:/tmp/x", model "opus", tools "Bash(ls *); Read", cost_cap "2.00", and the prompt "Look away."`},
		{pluginsdk.ScopeAdmin, "edit watch | when = true", `changed the schedule watch: when from "" to "true"`},
		{pluginsdk.ScopeAdmin, "off watch", ""},
		{pluginsdk.ScopeAdmin, "rm watch", ""},
	} {
		if got := w.audited(row.scope, row.body); got != row.want {
			t.Errorf("%s: %q, want %q", row.body, got, row.want)
		}
	}
}
