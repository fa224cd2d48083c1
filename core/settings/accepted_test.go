package settings_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// accepts does what the host does once the plugin has taken the row's settings.
func (w *world) accepts(started bool) {
	w.Helper()
	held, err := w.Of(w.Context(), w.store.info)
	if err != nil || held.Stored == nil {
		w.Fatalf("there is nothing to accept: %v", err)
	}
	taken := *held.Stored
	taken.At, taken.Started = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC), started
	if before := ledger.ReadAccepted(w.store.info.Accepted); !started && len(before) > 0 {
		taken.Before = before[0]
	}
	raw, err := json.Marshal(taken)
	if err != nil {
		w.Fatal(err)
	}
	if strings.Contains(string(raw), "hunter") {
		w.Errorf("a secret is kept in plain text: %s", raw)
	}
	w.store.info.Accepted = raw
}

// refuses does what the host does once the plugin has refused the row's settings.
func (w *world) refuses(words string) {
	w.store.info.Refused = ledger.RefusedSettings{Mark: w.store.info.SettingsMark(), Words: words, At: time.Now()}
}

const (
	first  = `{"channel":"general","mode":"quiet","port":80,"token":"hunter1hunter1"}`
	second = `{"channel":"general","mode":"quiet","port":81,"token":"hunter2hunter2"}`
)

// refusedWorld is a plugin that has started with the first settings, and has refused the
// second.
func refusedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, courier)
	w.change(`{"port":80,"token":"hunter1hunter1"}`)
	w.accepts(true)
	w.change(`{"port":81,"token":"hunter2hunter2"}`)
	w.gets(second, "") // they are offered
	w.refuses("no such port; ask ann")
	return w
}

// What a plugin has refused must never be what it is started with, whatever is restarted.
func TestWhatWasAcceptedHoldsWhileThePluginRefusesTheRow(t *testing.T) {
	w := refusedWorld(t)
	const words = "settings: it refused them: no such port, ask ann. In force are those of 2026-11-03 04:05:06 UTC: " +
		"set others, or go back to these: harness plugin settings revert p"
	for range 2 {
		secrets := strings.Join(w.gets(first, words), " ")
		if !strings.Contains(secrets, "hunter1") || !strings.Contains(secrets, "hunter2") {
			t.Error("of the refused secrets or the accepted ones are some not kept out of logs")
		}
		w.told(w.Problem(t.Context(), w.store.info), words)
		if got, err := w.Get(t.Context(), "p"); err != nil || string(got) != first {
			t.Errorf("got %s, %v", got, err)
		}
		view, err := w.View(t.Context(), "p")
		if err != nil || !strings.Contains(string(view.Values), `"port":81`) {
			t.Errorf("shown is %s, %v; want what is set", view.Values, err)
		}
		if held, _ := w.Of(t.Context(), w.store.info); held.Stored != nil {
			t.Error("the accepted ones would be stored again, as if they were the row's")
		}
		w.restart()
	}
	w.store.info.Manifest.SettingsSchema = json.RawMessage(strings.Replace(courier, `"size":`, `"new":{"type":"integer","default":7},"size":`, 1))
	if held, err := w.Of(t.Context(), w.store.info); err != nil || !strings.Contains(string(held.Values), `"new":7,"port":80`) {
		t.Errorf("a new version with another schema gets %s, %v", held.Values, err)
	}
	w.change(`{"port":82}`)
	if held, err := w.Of(t.Context(), w.store.info); err != nil || held.Problem != "" || !strings.Contains(string(held.Values), `"port":82`) {
		t.Errorf("after a change the plugin gets %s, %q, %v", held.Values, held.Problem, err)
	}
}

func TestAnEditBySQLIsOfferedAnew(t *testing.T) {
	w := refusedWorld(t)
	w.store.info.Settings = json.RawMessage(`{"port":83}`)
	w.gets(`{"channel":"general","mode":"quiet","port":83,"token":"hunter2hunter2"}`, "")
	w.store.info.Settings = json.RawMessage(`{"port":"x"}`) // wrong: also after a restart the accepted ones hold
	w.restart()
	w.gets(first, "settings: port")
}

// A process that has taken settings while it ran may refuse them when it is started.
func TestTheSettingsBeforeHoldWhereTheNewestAreRefused(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"port":80,"token":"hunter1hunter1"}`)
	w.accepts(true)
	w.change(`{"port":81,"token":"hunter2hunter2"}`)
	w.accepts(false)
	w.gets(second, "")
	w.refuses("not today")
	w.gets(first, "not today")
}

// A version that is replaced may refuse what the one that replaces it has started with.
func TestSettingsWithWhichAProcessHasStartedHold(t *testing.T) {
	w := newWorld(t, courier)
	w.change(`{"port":80,"token":"hunter1hunter1"}`)
	w.accepts(true)
	w.refuses("the old version is late")
	w.gets(first, "the old version is late")
}

func TestAcceptedSettingsThatCannotHold(t *testing.T) {
	t.Run("none are kept", func(t *testing.T) {
		for _, accepted := range []string{"", "null", "{", `{"mark":7}`} {
			w := refusedWorld(t)
			w.store.info.Accepted = json.RawMessage(accepted)
			w.getsNothing("none are kept")
			if err := w.Revert(t.Context(), "ann", "p"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
				t.Errorf("%s: %v", accepted, err)
			}
		}
	})
	t.Run("the schema of an older version does not take them", func(t *testing.T) {
		w := refusedWorld(t)
		w.store.info.Manifest.SettingsSchema = json.RawMessage(strings.Replace(courier, `"port":`, `"gate":`, 1))
		w.getsNothing("harness plugin settings set p")
		if held, err := w.Of(t.Context(), w.store.info); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || held.Values != nil {
			t.Errorf("got %s, %v", held.Values, err)
		}
	})
	t.Run("a plain setting is a secret now", func(t *testing.T) {
		w := refusedWorld(t)
		w.store.info.Manifest.SettingsSchema = json.RawMessage(`{"properties":{"port":{"type":"integer","secret":true}},"required":["port"]}`)
		w.getsNothing("port: it is required and not set")
	})
	t.Run("the key of the secrets is lost", func(t *testing.T) {
		w := refusedWorld(t)
		if err := os.Remove(w.key); err != nil {
			t.Fatal(err)
		}
		w.restart()
		held, err := w.Of(t.Context(), w.store.info)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || held.Values != nil || !strings.Contains(held.Problem, "secrets.key") {
			t.Errorf("got %s, %q, %v: want an error that goes away with the key", held.Values, held.Problem, err)
		}
	})
}

func TestRevertGoesBackToWhatWasAccepted(t *testing.T) {
	w := refusedWorld(t)
	w.store.sealed["undeclared"] = []byte("sealed")
	if err := w.Revert(t.Context(), "ann", "p"); err != nil {
		t.Fatal(err)
	}
	w.gets(first, "")
	if said := w.store.audit[len(w.store.audit)-1]; said != "ann: back to those that it accepted at 2026-11-03T04:05:06Z" || w.store.sealed["undeclared"] == nil {
		t.Errorf("the audit log says %q", said)
	}
	if err := w.Revert(t.Context(), "ann", "p"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
		t.Errorf("again: %v", err)
	}
	if err := w.Revert(t.Context(), "ann", "q"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
		t.Errorf("of another: %v", err)
	}
}

var _ settings.Store = (*oneRow)(nil)
