package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// withoutBot takes the token of the environment away until the end of the test.
func withoutBot(t *testing.T) {
	t.Helper()
	t.Setenv("DISCORD_TOKEN", "") // restores it afterwards
	if err := os.Unsetenv("DISCORD_TOKEN"); err != nil {
		t.Fatal(err)
	}
}

// Whoever has no bot must not be told so at each start: the plugin serves, and waits to be
// given a token.
func TestDiscordWithoutATokenIsQuiet(t *testing.T) {
	withoutBot(t)
	in := leanInstallation(t, "")
	in.link(filepath.Join(pluginDir, "discord"), "discord")
	stop := in.start()
	rows := in.database()
	in.until("the plugin's serving", func() bool { return plugin(t, rows, "discord").State == pluginsdk.PluginServing })
	row := plugin(t, rows, "discord")
	if !row.Enabled || row.LastError != "" || len(row.Granted) == 0 {
		t.Errorf("the row is %+v", row)
	}
	stop()
	for line := range strings.Lines(in.log.String()) {
		if strings.Contains(line, "discord") && (strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR")) {
			t.Errorf("it says: %s", line)
		}
	}
}
