package clock

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type settingsOf string

func (s settingsOf) Get(context.Context, *pluginsdk.GetSettingsRequest) (*pluginsdk.GetSettingsResponse, error) {
	return &pluginsdk.GetSettingsResponse{Settings: json.RawMessage(s)}, nil
}

// instant is a Friday in Phoenix and a Saturday in Tokyo.
var instant = time.Date(2025, 11, 21, 23, 5, 9, 0, time.UTC)

func start(t *testing.T, settings string) (*Plugin, error) {
	t.Helper()
	plugin := &Plugin{Now: func() time.Time { return instant }}
	return plugin, plugin.Start(t.Context(), pluginsdk.Host{Settings: settingsOf(settings)})
}

func line(t *testing.T, plugin *Plugin) string {
	t.Helper()
	got, err := plugin.OnBeforeInvoke(t.Context(), &pluginsdk.OnBeforeInvokeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Prefix
}

func TestLineGoesInFrontOfThePrompt(t *testing.T) {
	t.Setenv("TZ", "America/Phoenix")
	cases := []struct{ name, settings, want string }{
		{"by default the system's", `{}`,
			"Current time: Friday, 2025-11-21 16:05:09 (America/Phoenix, UTC-07:00)"},
		{"another zone", `{"timezone":"Asia/Tokyo"}`,
			"Current time: Saturday, 2025-11-22 08:05:09 (Asia/Tokyo, UTC+09:00)"},
		{"UTC", `{"timezone":"UTC"}`,
			"Current time: Friday, 2025-11-21 23:05:09 (UTC, UTC+00:00)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plugin, err := start(t, c.settings)
			if err != nil {
				t.Fatal(err)
			}
			if got := line(t, plugin); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Somebody who has set their machine's clock has said where they are.
func TestTheSystemSaysWhichZoneHoldsByDefault(t *testing.T) {
	link := filepath.Join(t.TempDir(), "localtime")
	if err := os.Symlink("../usr/share/zoneinfo/Europe/Berlin", link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tz, file, want string }{
		{"", link, "Europe/Berlin"}, {"Asia/Tokyo", link, "Asia/Tokyo"}, {":Asia/Tokyo", link, "Asia/Tokyo"},
		{"", link + ".none", "Local"}, {"MST7", link, "Local"}, {"Mars/Olympus", link, "Local"},
	} {
		if got := systemZone(c.tz, c.file).String(); got != c.want {
			t.Errorf("TZ=%q and %s: %s; want %s", c.tz, c.file, got, c.want)
		}
	}
	if got := timeLine(instant.In(time.Local)); strings.Contains(got, "Local") {
		t.Errorf("%s: that name says nothing to the agent", got)
	}
}

func TestUnknownZoneIsNamedAtStart(t *testing.T) {
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd"} {
		_, err := start(t, `{"timezone":"`+zone+`"}`)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), zone) {
			t.Errorf("Start with %q: %v", zone, err)
		}
	}
}

func TestWrongChangeKeepsTheLastGoodZone(t *testing.T) {
	plugin, err := start(t, `{"timezone":"UTC"}`)
	if err != nil {
		t.Fatal(err)
	}
	change := func(raw string) error {
		_, err := plugin.OnSettingsChange(t.Context(), &pluginsdk.OnSettingsChangeRequest{Settings: json.RawMessage(raw)})
		return err
	}
	if err := change(`{"timezone":"Mars/Olympus"}`); err == nil {
		t.Error("an unknown zone is taken")
	}
	if got := line(t, plugin); !strings.Contains(got, "(UTC,") {
		t.Errorf("after a wrong change: %q", got)
	}
	if err := change(`{"timezone":"Asia/Tokyo"}`); err != nil {
		t.Fatal(err)
	}
	if got := line(t, plugin); !strings.Contains(got, "(Asia/Tokyo,") {
		t.Errorf("after a good change: %q", got)
	}
}

func TestManifest(t *testing.T) {
	manifest := new(Plugin).Manifest()
	if manifest.Name != "time" || len(manifest.Capabilities) != 0 || !json.Valid(manifest.SettingsSchema) {
		t.Errorf("manifest = %+v", manifest)
	}
	var plugin any = new(Plugin)
	if _, ok := plugin.(pluginsdk.BeforeInvokeHook); !ok {
		t.Error("OnBeforeInvoke is not answered")
	}
	if _, ok := plugin.(pluginsdk.SettingsChangeHook); !ok {
		t.Error("OnSettingsChange is not answered")
	}
}
