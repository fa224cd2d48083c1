package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// said returns what Doctor says under a name, and whether it says anything.
func said(t *testing.T, config Config, name string) (Check, bool) {
	t.Helper()
	for _, check := range Doctor(t.Context(), config) {
		if check.Name == name {
			return check, true
		}
	}
	return Check{}, false
}

// Without the key plugins with secrets do not start, the next time: who is told before can
// still look for it where it was.
func TestDoctorMissesTheKeyOfTheSecrets(t *testing.T) {
	config := ailing(t)
	if check, ok := said(t, config, "secrets"); ok {
		t.Errorf("without secrets: %+v", check)
	}
	row := ledger.Plugin{Path: filepath.Join(config.Plugins, "time"), PluginInfo: pluginsdk.PluginInfo{Name: "mail"}}
	row.Manifest.Name, row.Manifest.Version, row.Manifest.SettingsSchema = "mail", "1.0.0", json.RawMessage(`{"type":"object","properties":{"token":{"type":"string","secret":true}}}`)
	register(t, config, row)
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	err = NewSettings(config, database).Change(t.Context(), "test", "mail", json.RawMessage(`{"token":"hunter2"}`))
	if err = errors.Join(err, database.Close()); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, check(t, config, "secrets"), true, "the key opens them")
	if err := os.Remove(filepath.Join(config.Data, SecretsKeyFile)); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, check(t, config, "secrets"), false, "restore "+filepath.Join(config.Data, SecretsKeyFile))
}

// A plugin that was changed on the disk does not start again; who is told only then has
// lost it.
func TestDoctorSeesThatAPluginWasChanged(t *testing.T) {
	config := ailing(t)
	sum := sha256.Sum256([]byte("#!/bin/sh\n"))
	row := func(name string, enabled bool, state pluginsdk.PluginState, origin pluginsdk.PluginOrigin) ledger.Plugin {
		path := filepath.Join(config.Plugins, name)
		binary(t, path, 0o700)
		return ledger.Plugin{Path: path, PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: enabled, State: state, Origin: origin, SHA256: hex.EncodeToString(sum[:])}}
	}
	register(t, config, row("time", true, pluginsdk.PluginServing, pluginsdk.OriginDirectory), row("off", false, pluginsdk.PluginDisabled, pluginsdk.OriginDev),
		row("whole", true, pluginsdk.PluginServing, pluginsdk.OriginDirectory))
	holdLock(t, config)
	if check, ok := said(t, config, "files of time"); ok {
		t.Errorf("before: %+v", check)
	}
	for _, name := range []string{"time", "off"} {
		if err := os.WriteFile(filepath.Join(config.Plugins, name), []byte("#!/bin/sh\nrm -rf /\n"), 0o700); err != nil { //nolint:gosec // executable
			t.Fatal(err)
		}
	}
	for name, remedy := range map[string]string{"time": "restart the daemon", "off": "before the plugin is started"} {
		got := check(t, config, "files of "+name)
		wantCheck(t, got, false, "was changed")
		if !got.Optional || !strings.Contains(got.Remedy, remedy) {
			t.Errorf("%+v", got)
		}
	}
	if check, ok := said(t, config, "files of whole"); ok {
		t.Errorf("%+v", check)
	}
}

// A plugin can serve and do nothing that it is for.
func TestDoctorSeesHooksThatFail(t *testing.T) {
	config := ailing(t)
	row := ledger.Plugin{Path: filepath.Join(config.Plugins, "time"), PluginInfo: pluginsdk.PluginInfo{Name: "time", Enabled: true, State: pluginsdk.PluginServing}}
	row.Figures.Hooks = map[pluginsdk.Hook]pluginsdk.CallFigures{
		pluginsdk.HookMessage: {Calls: 12, Errors: 12, Timeouts: 3}, pluginsdk.HookBeforeInvoke: {Calls: 12, Errors: 7},
		pluginsdk.HookAfterInvoke: {Calls: 12, Errors: 1}, pluginsdk.HookCommand: {Calls: 2, Errors: 2},
	}
	got := map[string]Check{}
	for _, check := range checkHooks(row) {
		got[check.Name] = check
	}
	wantCheck(t, got["plugin time: OnMessage"], false, "12 of 12 calls failed (3 took too long)")
	wantCheck(t, got["plugin time: OnBeforeInvoke"], false, "7 of 12 calls failed")
	if len(got) != 2 || got["plugin time: OnMessage"].Optional || !got["plugin time: OnBeforeInvoke"].Optional {
		t.Errorf("%+v", got)
	}
}

// Work that waits for a grant, and grants that nobody has looked at, must not be found by
// chance.
func TestDoctorSaysWhichGrantsAreMissingOrUnconfirmed(t *testing.T) {
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "guard", Enabled: true, Manifest: pluginsdk.Manifest{
		Hooks: []pluginsdk.Hook{pluginsdk.HookBeforeRun, pluginsdk.HookMessage, pluginsdk.HookCheck},
	}}}
	checks := checkGrants(row)
	if len(checks) != 1 || checks[0].OK || checks[0].Optional || !strings.Contains(checks[0].Detail, "OnBeforeRun") ||
		!strings.Contains(checks[0].Remedy, "`harness plugin grant guard turns.decide`") {
		t.Errorf("a gate without its grant: %+v", checks)
	}
	row.Granted = []pluginsdk.Capability{pluginsdk.CapTurnsDecide, pluginsdk.CapTurnsRead}
	row.Unconfirmed = row.Granted
	checks = checkGrants(row)
	if len(checks) != 1 || !checks[0].Optional || !strings.Contains(checks[0].Detail, "turns.read (read every message and every answer") ||
		!strings.Contains(checks[0].Remedy, "`harness plugin grant guard turns.decide turns.read` confirms it; `harness plugin revoke guard turns.decide turns.read`") {
		t.Errorf("what an upgrade has granted: %+v", checks)
	}
	row.Unconfirmed = nil
	if checks := checkGrants(row); checks != nil {
		t.Errorf("with its grants: %+v", checks)
	}
}

// A plugin that serves, and answers nobody, is named.
func TestDoctorNamesThePluginThatRunsWaitFor(t *testing.T) {
	row := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "budget"}}
	wait := func(id, plugin string, since time.Time) ledger.Waits {
		return ledger.Waits{RunID: id, Call: pluginsdk.HookCall{Plugin: plugin, Hook: pluginsdk.HookBeforeRun, StartedAt: since}}
	}
	now := time.Now()
	if got := checkWaits(row, []ledger.Waits{wait("r1", "other", now)}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	got := checkWaits(row, []ledger.Waits{wait("r1", "budget", now), wait("r2", "other", now.Add(-time.Hour)), wait("r3", "budget", now.Add(-time.Minute))})
	if len(got) != 1 || got[0].Optional || got[0].Name != "waiting for budget" {
		t.Fatalf("%+v", got)
	}
	wantCheck(t, got[0], false, "runs that wait for its answer: 2, the first (r3) to OnBeforeRun since ")
}

// A database that begins anew where one was is taken for the old one, until somebody looks
// for a conversation.
func TestADatabaseThatIsGoneIsNotReplacedInSilence(t *testing.T) {
	for name, empty := range map[string]bool{"missing": false, "empty": true} {
		t.Run(name, func(t *testing.T) {
			config := ailing(t)
			start := func() error {
				d, err := New(context.WithoutCancel(t.Context()), config)
				if err == nil {
					err = d.Close()
				}
				return err
			}
			if err := start(); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(config.Data, "harness.db")
			for _, side := range []string{"", "-wal", "-shm"} {
				_ = os.Remove(path + side)
			}
			if empty {
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := start()
			if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "DATABASE_URL") {
				t.Fatalf("it starts: %v", err)
			}
			if info, err := os.Stat(path); err == nil && info.Size() > 0 {
				t.Error("it was made all the same")
			}
			wantCheck(t, check(t, config, "database"), false, "has lived in")
			if err := os.Remove(filepath.Join(config.Data, "installation-id")); err != nil {
				t.Fatal(err)
			}
			if err := start(); err != nil {
				t.Errorf("as it says: %v", err)
			}
		})
	}
}

// The remedy for a damaged database is another than for one that belongs to somebody else.
func TestDoctorKnowsADamagedDatabase(t *testing.T) {
	config := ailing(t)
	register(t, config)
	if err := os.WriteFile(filepath.Join(config.Data, "harness.db"), bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := check(t, config, "database"); got.OK || !strings.Contains(got.Remedy, "When the database is damaged") {
		t.Errorf("%+v", got)
	}
}

// Who asks for Claude and has no CLI must not hear of it from their first message.
func TestClaudeWithoutItsCLIIsWarnedOfAtTheStart(t *testing.T) {
	config := ailing(t)
	var log bytes.Buffer
	config.Agent, config.ClaudeBinary, config.Log = "claude", filepath.Join(config.Data, "no-such-claude"), slog.New(slog.NewTextHandler(&log, nil))
	d, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "THE AGENT CANNOT ANSWER") || !strings.Contains(log.String(), "no-such-claude") {
		t.Errorf("log: %s", log.String())
	}
}

// A variable that does nothing is found by who looks for why.
func TestDoctorNamesMisspeltSettings(t *testing.T) {
	config := ailing(t)
	t.Setenv("HARNESS_AGNET", "demo")
	wantCheck(t, check(t, config, "settings"), false, "did you mean HARNESS_AGENT?")
}
