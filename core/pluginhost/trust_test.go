package pluginhost

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A binary that was changed behind the operator's back never runs again, until
// the operator says that the change was meant.
func TestAChangedBinaryIsNotStarted(t *testing.T) {
	var changed atomic.Bool
	config := Config{Verify: func(_ context.Context, row ledger.Plugin) error {
		if changed.Load() && row.SHA256 != "trusted" {
			return errors.New("the binary has changed since it was installed")
		}
		return nil
	}}
	h, r := startOn(t, config, &bus{}, "first")
	i := serving(t, h, r, "first")
	changed.Store(true)
	_, _ = say(t, i, "die")
	r.until(t, "the refusal", r.is("first", pluginsdk.PluginFailed))
	if got := r.row("first").LastError; !strings.Contains(got, "has changed") {
		t.Errorf("last error %q", got)
	}
	_ = r.edit("first", func(p *ledger.Plugin) { p.SHA256 = "trusted" })
	r.until(t, "the return", r.is("first", pluginsdk.PluginServing))
}

// What was shown to the operator before the installation must be what runs.
func TestAnInstalledPluginMustBeWhatItsManifestSaid(t *testing.T) {
	h, r := start(t, "first", "second")
	honest := serving(t, h, r, "first").Info().Manifest
	honest.Tools = []pluginsdk.ToolSpec{{Name: "shown", InputSchema: json.RawMessage(`{}`)}}
	_ = r.edit("second", func(p *ledger.Plugin) { p.Origin, p.Manifest, p.Enabled = pluginsdk.OriginStore, honest, true })
	r.until(t, "the refusal", r.is("second", pluginsdk.PluginFailed))
	if got := r.row("second").LastError; !strings.Contains(got, "commands, name, tools") && !strings.Contains(got, `is the plugin`) {
		t.Errorf("last error %q", got)
	}
	_ = r.edit("first", func(p *ledger.Plugin) {
		p.Origin, p.Manifest, p.SHA256 = pluginsdk.OriginStore, honest, "another"
	})
	r.until(t, "the word on it", func() bool { return strings.Contains(r.row("first").LastError, "they differ in tools") })
	if r.row("first").State != pluginsdk.PluginServing {
		t.Error("the version that served was ended for it")
	}
}

// `make build` must not be an ordeal, and must not go unseen.
func TestTheDaemonsOwnDirectoryIsPinnedAnewWithAnEntry(t *testing.T) {
	h, r := start(t, "first")
	_ = r.edit("first", func(p *ledger.Plugin) { p.SHA256 = "of yesterday" })
	_ = r.edit("first", func(p *ledger.Plugin) { p.Origin = pluginsdk.OriginDirectory })
	if err := h.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.audit) != 1 || !strings.Contains(r.audit[0], "daemon plugin.pin first") || !strings.Contains(r.audit[0], "of yesterday") {
		t.Errorf("audit: %q", r.audit)
	}
	if err := h.discover(t.Context()); err != nil || len(r.audit) != 1 {
		t.Errorf("again: %v, %q", err, r.audit)
	}
}

// The daemon's own secrets are in its environment.
func TestOnlyDeclaredAndGrantedVariablesReachAPlugin(t *testing.T) {
	t.Setenv("PLUGINHOST_TEST_ASKED", "given")
	t.Setenv("PLUGINHOST_TEST_REFUSED", "not granted")
	t.Setenv("PLUGINHOST_TEST_SECRET", "never asked for")
	t.Setenv("HARNESS_SECRETS_KEY", "opens everything")
	h, r := start(t, "first")
	i := serving(t, h, r, "first") // from now on its manifest is known
	_ = r.edit("first", func(p *ledger.Plugin) {
		p.GrantedEnv = []string{"PLUGINHOST_TEST_ASKED", "PLUGINHOST_TEST_SECRET", "HARNESS_SECRETS_KEY"}
	})
	waitFor(t, func() bool {
		reply, _ := say(t, i, "environment")
		return strings.Contains(reply, "PLUGINHOST_TEST_ASKED=given")
	})
	reply, err := say(t, i, "environment")
	if !strings.Contains(reply, "PYTHONDONTWRITEBYTECODE=1\n") {
		t.Error("a plugin in Python changes its own files, and does not start the next time")
	}
	if err != nil || strings.Contains(reply, "REFUSED") || strings.Contains(reply, "SECRET") {
		t.Errorf("%v\n%s", err, reply)
	}
}

// Two plugins that answer to one name would surprise whoever types it.
func TestConflictsOfCommandsAreFound(t *testing.T) {
	h, r := startOn(t, Config{Reserved: []string{"stop", "help"}}, &bus{}, "first", "second")
	_ = serving(t, h, r, "first")
	_ = serving(t, h, r, "second")
	waitFor(t, func() bool {
		return h.Live(r.row("second")).Problem == "commands: /say-first is first's, /stop is the core's"
	})
	if problem := h.Live(r.row("first")).Problem; problem != "" {
		t.Errorf("the first in the order has %q", problem)
	}
	offered := map[string]string{}
	h.EachCommand(func(plugin string, spec pluginsdk.CommandSpec) { offered[spec.Name] = plugin })
	if offered["say-first"] != "first" || offered["say-second"] != "second" {
		t.Errorf("offered: %v", offered)
	}
	rows, _ := r.Plugins(t.Context())
	if found := Conflicts(r.row("second"), rows, []string{"stop"}); len(found) != 2 {
		t.Errorf("by the rows: %v", found)
	}
	for _, c := range []struct {
		plugin, command string
		owns            bool
	}{
		{"first", "say-first", true}, {"second", "say-second", true}, {"second", "say-first", false}, // which it declares, behind the first
		{"first", "say-second", false}, {"first", "stop", false}, {"second", "stop", false}, {"second", "nobody's", false}, {"nobody", "say-first", false},
	} {
		if got := h.OwnsCommand(c.plugin, c.command); got != c.owns {
			t.Errorf("%s owns /%s: %v", c.plugin, c.command, got)
		}
	}
	_ = r.edit("first", enable(false))
	waitFor(t, func() bool { return h.OwnsCommand("second", "say-first") })
}

// What a plugin prints may hold its secrets; neither log may.
func TestSecretsAreTakenOutOfLogsAndErrors(t *testing.T) {
	config := Config{Settings: func(_ context.Context, row ledger.Plugin) (Settings, error) {
		return Settings{Values: row.Settings, Redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}, nil
	}}
	h, r := startOn(t, config, &bus{}, "first")
	i := serving(t, h, r, "first")
	if _, err := say(t, i, "log a canary sings"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		lines, err := h.Logs(t.Context(), "first", 1)
		return err == nil && len(lines) == 1 && lines[0].Level == "warn" && lines[0].Text == "a [secret] sings a [secret] sings=value key=a [secret] sings"
	})
	raw, err := os.ReadFile(filepath.Join(h.config.Logs, "first.log"))
	if err != nil || strings.Contains(string(raw), "canary") {
		t.Errorf("%v\n%s", err, raw)
	}
}
