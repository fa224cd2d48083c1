package hostapi

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// set is the settings of plugins; it notes who is asked for what.
type set struct{ asked []string }

func (s *set) Get(_ context.Context, plugin string) (json.RawMessage, error) {
	s.asked = append(s.asked, "get "+plugin)
	return json.RawMessage(`{"token":"of ` + plugin + `"}`), nil
}

func (s *set) View(_ context.Context, plugin string) (pluginsdk.SettingsView, error) {
	s.asked = append(s.asked, "view "+plugin)
	return pluginsdk.SettingsView{SecretsSet: []string{"token"}}, nil
}

func (s *set) Change(_ context.Context, who, plugin string, patch json.RawMessage) error {
	s.asked = append(s.asked, who+" changes "+plugin+" "+string(patch))
	return nil
}

func (s *set) Problem(_ context.Context, row pluginsdk.PluginInfo) string {
	return "settings: something of " + row.Name
}

// A plugin gets its own settings without any grant, and nobody else's at all.
func TestSettingsAreThePluginsOwn(t *testing.T) {
	f := newFixture()
	got, err := f.Settings.Get(t.Context())
	if err != nil || string(got) != `{"token":"of p"}` {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = f.api.For("q").Settings.Get(t.Context())
	if err != nil || string(got) != `{"token":"of q"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// Settings are shown to administrators; who reads the registry sees none.
func TestSettingsAreShownToAdministratorsOnly(t *testing.T) {
	f := newFixture(pluginsdk.CapPluginsRead)
	rows, err := f.Plugins.List(t.Context())
	if err != nil || len(rows) != 2 || rows[0].Settings != nil || rows[0].Problem != "settings: something of other" {
		t.Errorf("rows %+v, %v", rows, err)
	}

	f = newFixture(pluginsdk.CapPluginsAdmin)
	view, err := f.Plugins.Settings(t.Context(), "other")
	if err != nil || !slices.Equal(view.SecretsSet, []string{"token"}) {
		t.Errorf("Settings: %+v, %v", view, err)
	}
	if err := f.Plugins.SetSettings(t.Context(), "other", json.RawMessage(`{"a":1}`)); err != nil {
		t.Error(err)
	}
	if got := strings.Join(f.set.asked, ", "); got != `view other, plugin:p changes other {"a":1}` {
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
