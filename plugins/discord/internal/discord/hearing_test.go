package discord

import (
	"errors"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/plugins/discord/internal/fake"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hears reports whether the host was asked for the rules last; nil: it was never asked.
func (w *world) hears(rules []pluginsdk.EventRule) func() bool {
	return func() bool {
		got, listened := w.host.Listening()
		return listened == (rules != nil) && (rules == nil || reflect.DeepEqual(got, rules))
	}
}

// A bot without a token has nobody to tell: it hears nothing. Once it has one it hears what it
// needs, also when the host does not take that at once.
func TestABotWithoutATokenHearsNothing(t *testing.T) {
	w := emptyWorld(t, fake.Config{}, nil)
	settings, err := w.host.SDK().Settings.Get(t.Context(), &pluginsdk.GetSettingsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	w.host.SetSettings([]byte(`{}`))
	w.process = new(Plugin)
	w.serve(w.host.Serve(t, w.process))
	if !w.hears(nothing)() {
		t.Error("without a token it hears something")
	}
	w.host.Fail("Events.Listen", errors.New("away"))
	w.process.pace = 1
	change := func(settings []byte) {
		if _, err := w.plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: settings}); err != nil {
			t.Fatal(err)
		}
	}
	change(settings.Settings)
	w.until("the bot is connected", func() bool { return w.discord.State().Ready == 1 })
	if !w.hears(nothing)() {
		t.Error("it hears something while the host refuses it")
	}
	w.host.Fail("Events.Listen", nil)
	w.until("it hears what it needs", w.hears(concerning))
	change([]byte(`{}`))
	w.until("it hears nothing again", w.hears(nothing))
}

// A bot that has its token from the start hears by its manifest, and asks for nothing.
func TestABotWithATokenHearsByItsManifest(t *testing.T) {
	w := newWorld(t, nil)
	if !w.hears(nil)() {
		t.Error("it asks for what its manifest says")
	}
	manifest := new(Plugin).Manifest()
	if err := (pluginsdk.Manifest{Name: name, Version: version, Hooks: []pluginsdk.Hook{pluginsdk.HookBroadcast}, Events: manifest.Events, EventRules: manifest.EventRules}).Check(); err != nil {
		t.Error(err)
	}
}
