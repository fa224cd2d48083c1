package budget

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What people wrote, and what that has caused, waits for its budget; what plugins and schedules start of
// their own accord is denied, since nobody misses it.
func TestWhatWaitsForABudget(t *testing.T) {
	w := newWorld(t, nil)
	change := func(edit func(*pluginsdk.OnBeforeRunRequest)) pluginsdk.OnBeforeRunRequest {
		request := message("talk")
		edit(&request)
		return request
	}
	caused := func(of pluginsdk.OnBehalf) pluginsdk.OnBeforeRunRequest {
		return change(func(r *pluginsdk.OnBeforeRunRequest) {
			r.Message.Author, r.Run.CauseRunID, r.Run.OnBehalfOf = "", "run", of
		})
	}
	for what, c := range map[string]struct {
		request pluginsdk.OnBeforeRunRequest
		waits   bool
	}{
		"a person's message":            {message("talk"), true},
		"a token's message":             {change(func(r *pluginsdk.OnBeforeRunRequest) { r.Message.Author, r.Message.Origin.Token = "", "phone" }), true},
		"a task for a person":           {caused(pluginsdk.OnBehalf{Source: "web", Author: "Ann"}), true},
		"a plugin's message":            {change(func(r *pluginsdk.OnBeforeRunRequest) { r.Message.Author = "" }), false},
		"what a plugin has caused":      {caused(pluginsdk.OnBehalf{Source: "cron"}), false},
		"a turn, even that of a person": {change(func(r *pluginsdk.OnBeforeRunRequest) { r.Run.Kind = pluginsdk.RunTurn }), false},
	} {
		one := w.gate(c.request).Reservations[0]
		if waits := one.Wait != nil; waits != c.waits {
			t.Errorf("%s waits: %t", what, waits)
		}
		if retry := strings.HasSuffix(one.Reason, "and then /retry"); retry == c.waits {
			t.Errorf("%s is told %q", what, one.Reason)
		}
		if want := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC); c.waits && (one.Wait.For != "daily" || !one.Wait.Until.Equal(want)) {
			t.Errorf("%s waits for %+v", what, one.Wait)
		}
	}
	w.wantSays("set all-time $1 ever all", "**all-time**")
	for _, one := range w.gate(message("talk")).Reservations {
		if strings.HasPrefix(one.Account, "ever") && !one.Wait.Until.IsZero() {
			t.Errorf("it waits until %v for a budget that does not begin anew", one.Wait.Until)
		}
	}
}

// Whatever makes room for what waits has it go on: a budget that is raised, removed or confirmed, other
// settings, and a start after the plugin died in between.
func TestWhatMakesRoomHasTheQueueGoOn(t *testing.T) {
	w := newWorld(t, nil)
	before := w.host.Rechecks(name)
	after := func(what string, do func()) {
		t.Helper()
		do()
		if now := w.host.Rechecks(name); now == before {
			t.Errorf("%s has nothing go on", what)
		} else {
			before = now
		}
	}
	after("a raise", func() { w.say("set daily $50") })
	after("a soft budget", func() { w.say("set daily soft") })
	after("a removal", func() { w.say("rm daily") })
	after("a confirmation", func() { w.say("confirm") })
	after("a setting", func() {
		_, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(`{"backgroundShare": 90}`)})
		if err != nil {
			t.Fatal(err)
		}
	})
	after("a start", w.serve)
}
