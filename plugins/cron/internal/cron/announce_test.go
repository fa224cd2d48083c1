package cron

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// pressed types the command of a button of the last row in a thread, as a person with a right.
func (w *world) pressed(thread, label string, scope pluginsdk.TokenScope) string {
	w.Helper()
	rows := w.host.Messages(thread)
	return w.presses(rows[len(rows)-1], label, scope)
}

func (w *world) presses(row pluginsdk.Message, label string, scope pluginsdk.TokenScope) string {
	w.Helper()
	actions := row.Actions()
	i := slices.IndexFunc(actions, func(a pluginsdk.RowAction) bool { return a.Label == label })
	if i < 0 {
		w.Fatalf("the row has no button %s: %+v", label, row)
	}
	command, ok := strings.CutPrefix(actions[i].Command, "/"+name+" ")
	if !ok || !strings.Contains(row.Content, actions[i].Command) {
		w.Errorf("the button types %q, and the words are %q", actions[i].Command, row.Content)
	}
	return w.as(scope, command)
}

// A schedule that the agent makes is turned off by one press, and a press on one that is gone does nothing to another.
func TestTheAgentsSchedulesAreTurnedOffByOnePress(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	w.call(toolCreate, "talk", "", object{"name": "stand", "schedule": "0 9 * * *", "timezone": "UTC", "prompt": "Stand."})
	if reply := w.pressed("talk", "Turn off", pluginsdk.ScopeWork); reply != "stand is off." || w.job("stand").Enabled {
		t.Fatal(reply)
	}
	first := w.host.Messages("talk")[0]
	w.call(toolUpdate, "talk", "", object{"name": "stand", "prompt": "Sit."})
	w.call(toolToggle, "talk", "", object{"name": "stand", "enabled": true})
	if rows := w.host.Messages("talk"); len(rows) != 3 {
		t.Fatalf("people are told %+v", rows)
	}
	for range 2 { // in the same words
		if reply := w.pressed("talk", "Turn off", pluginsdk.ScopeWork); reply != "stand is off." {
			t.Error(reply)
		}
	}
	w.call(toolCreate, "talk", "", object{"name": "stand-up", "schedule": "0 9 * * *", "timezone": "UTC", "prompt": "Stand up."})
	w.call(toolDelete, "talk", "", object{"name": "stand"})
	if rows := w.host.Messages("talk"); len(rows[len(rows)-1].Actions()) != 0 {
		t.Errorf("a schedule that is gone has buttons: %+v", rows[len(rows)-1])
	}
	if reply := w.presses(first, "Turn off", pluginsdk.ScopeWork); !strings.HasPrefix(reply, `error: no schedule has the name "stand"`) || !w.job("stand-up").Enabled {
		t.Errorf("pressed too late: %s", reply)
	}
	long := strings.Repeat("long ", 60) + "name"
	w.call(toolCreate, "talk", "", object{"name": long, "schedule": "0 9 * * *", "timezone": "UTC", "prompt": "x"})
	if rows := w.host.Messages("talk"); len(rows[len(rows)-1].Actions()) != 0 || !strings.Contains(rows[len(rows)-1].Content, `/cron off "`+long+`"`) {
		t.Errorf("of a long name people are told %+v", rows[len(rows)-1])
	}
}

// What waits for an operator says so, and one press confirms what was announced, not what it has become since.
func TestAnAnnouncedScheduleIsConfirmedAsItIsThere(t *testing.T) {
	w := newWorld(t, hour(), nil)
	w.host.AddThread(pluginsdk.Thread{ID: "talk", Kind: pluginsdk.ThreadGeneral, Source: "web"})
	path := filepath.Join(t.TempDir(), "watched")
	w.call(toolCreate, "talk", "", object{"name": "watch", "trigger": "file:" + path, "timezone": "UTC", "prompt": "Look."})
	first := w.host.Messages("talk")[0]
	if !strings.Contains(first.Content, "It does not fire: ") {
		t.Errorf("people are told %s", first.Content)
	}
	if reply := w.presses(first, "Show", pluginsdk.ScopeWork); !strings.Contains(reply, "> Look.") {
		t.Errorf("shown: %s", reply)
	}
	if reply := w.presses(first, "Confirm", pluginsdk.ScopeWork); !strings.Contains(reply, "only who may administer") {
		t.Errorf("somebody confirms: %s", reply)
	}
	w.call(toolUpdate, "talk", "", object{"name": "watch", "prompt": "Delete everything."})
	if reply := w.presses(first, "Confirm", pluginsdk.ScopeAdmin); !strings.HasPrefix(reply, "error: \"watch\" was changed since") || confirmed(w.job("watch")) {
		t.Errorf("what was changed since: %s", reply)
	}
	if reply := w.pressed("talk", "Confirm", pluginsdk.ScopeAdmin); !strings.Contains(reply, "watch is confirmed") || !confirmed(w.job("watch")) {
		t.Errorf("confirmed: %s", reply)
	}
}

// Who is told that a schedule has failed can end that by one press, or have it tried again.
func TestAFailureHasButtons(t *testing.T) {
	w := newWorld(t, hour(), nil)
	job := w.hourly(pluginsdk.CronSpec{Missed: pluginsdk.MissedRun})
	for range usualPauseAfter {
		w.pass()
		for _, run := range w.running() {
			w.host.FinishRun(run.ID, pluginsdk.InvokeResult{Failure: &pluginsdk.Failure{Kind: pluginsdk.FailureOther, Message: "no luck"}})
		}
		w.look()
	}
	w.look()
	job = w.job(job.Spec.Name)
	rows := w.host.Messages(w.submitThread())
	var told []pluginsdk.Message
	for _, row := range rows {
		if row.Kind == pluginsdk.MessageNotification {
			told = append(told, row)
		}
	}
	if len(told) != 2 || job.Enabled {
		t.Fatalf("told %+v, and it is %+v", told, job)
	}
	if reply := w.presses(told[1], "Turn on", pluginsdk.ScopeWork); !strings.HasPrefix(reply, "watch is on.") {
		t.Errorf("turned on: %s", reply)
	}
	if reply := w.presses(told[0], "Turn off", pluginsdk.ScopeWork); reply != "watch is off." {
		t.Errorf("turned off: %s", reply)
	}
}
