package hostapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// operator is the settings of plugins; it notes who is asked for what.
type operator struct{ asked []string }

func (s *operator) Get(_ context.Context, plugin string) (json.RawMessage, error) {
	s.asked = append(s.asked, "get "+plugin)
	return json.RawMessage(`{"token":"of ` + plugin + `"}`), nil
}

func (s *operator) View(_ context.Context, plugin string) (pluginsdk.SettingsView, error) {
	s.asked = append(s.asked, "view "+plugin)
	return pluginsdk.SettingsView{SecretsSet: []string{"token"}}, nil
}

func (s *operator) ChangeFor(_ context.Context, asker, plugin string, patch json.RawMessage) error {
	s.asked = append(s.asked, asker+" changes "+plugin+" "+string(patch))
	return nil
}

func (s *operator) Problem(_ context.Context, row ledger.Plugin) string {
	return "settings: something of " + row.Name
}

// A plugin gets its own settings without any grant, and nobody else's at all.
func TestSettingsAreThePluginsOwn(t *testing.T) {
	f := newFixture()
	for _, plugin := range []string{"p", "q"} {
		got, err := f.api.For(plugin).Settings.Get(t.Context(), &pluginsdk.GetSettingsRequest{})
		if err != nil || string(got.Settings) != `{"token":"of `+plugin+`"}` {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// Settings are shown to administrators; who reads the registry sees none.
func TestSettingsAreShownToAdministratorsOnly(t *testing.T) {
	f, ctx := newFixture(), t.Context()
	listed, err := f.Plugins.List(ctx, &pluginsdk.ListPluginsRequest{})
	if err != nil || len(listed.Plugins) != 2 || listed.Plugins[0].Problem != "settings: something of other" {
		t.Errorf("rows %+v, %v", listed, err)
	}
	if text, err := json.Marshal(listed); err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "/where") {
		t.Errorf("the registry shows %s, %v", text, err)
	}
	shown, err := f.Plugins.Settings(ctx, &pluginsdk.GetPluginSettingsRequest{Name: "other"})
	if err != nil || !slices.Equal(shown.Settings.SecretsSet, []string{"token"}) {
		t.Errorf("Settings: %+v, %v", shown, err)
	}
	if _, err := f.Plugins.ChangeSettings(ctx, &pluginsdk.ChangePluginSettingsRequest{Name: "other", Patch: json.RawMessage(`{"a":1}`)}); err != nil {
		t.Error(err)
	}
	if got := strings.Join(f.set.asked, ", "); got != `view other, p changes other {"a":1}` {
		t.Errorf("asked %s", got)
	}
}

func TestARowSaysOnceWhatIsWrongWithItsSettings(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", ""}, {"position: x", "", "position: x"}, {"", "settings: y", "settings: y"},
		{"position: x", "settings: y", "position: x; settings: y"},
		{"settings: must be a JSON object", "settings: y", "settings: must be a JSON object"},
	} {
		if got := problems(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q: %q", c[0], c[1], got)
		}
	}
}
