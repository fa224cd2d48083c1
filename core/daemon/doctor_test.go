package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	starter "github.com/seed-706843ae/harness/context"
	"github.com/seed-706843ae/harness/core/coretest/ports"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// ailing is a configuration for Doctor in a directory of its own, with a plugin
// directory and a free port.
func ailing(t *testing.T) Config {
	t.Helper()
	config := Defaults()
	config.Data, config.Plugins, config.Agent = t.TempDir(), t.TempDir(), "demo"
	binary(t, filepath.Join(config.Plugins, "time"), 0o700)
	free, err := ports.Free()
	if err != nil {
		t.Fatal(err)
	}
	config.Port = free
	return config
}

func binary(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
		t.Fatal(err)
	}
}

// holdLock does what a running daemon does, until release is called or the test
// ends.
func holdLock(t *testing.T, config Config) (release func()) {
	t.Helper()
	database, err := OpenStore(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := database.Lock(context.WithoutCancel(t.Context()), "test")
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		lease.Release()
		if err := database.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release)
	return release
}

// serve answers on the configuration's port.
func serve(t *testing.T, config Config, body string) {
	t.Helper()
	listener, err := net.Listen("tcp", config.address())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(body))
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
}

func check(t *testing.T, config Config, name string) Check {
	t.Helper()
	for _, check := range Doctor(t.Context(), config) {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("nothing was said about %q", name)
	return Check{}
}

func wantCheck(t *testing.T, got Check, ok bool, detail string) {
	t.Helper()
	if got.OK != ok || !strings.Contains(got.Detail, detail) {
		t.Errorf("%s: OK %t, %q; want OK %t, %q", got.Name, got.OK, got.Detail, ok, detail)
	}
	if !got.OK && got.Remedy == "" {
		t.Errorf("%s: a fault without a remedy: %s", got.Name, got.Detail)
	}
}

func TestDoctorFindsNothingWrongBeforeTheFirstStart(t *testing.T) {
	config := ailing(t)
	config.Data = filepath.Join(config.Data, "not", "yet")
	for _, got := range Doctor(t.Context(), config) {
		if !got.OK && !got.Optional {
			t.Errorf("%s: %s", got.Name, got.Detail)
		}
	}
	if _, err := os.Stat(config.Data); err == nil {
		t.Error("looking made the data directory")
	}
}

// Whoever cannot tell the real agent from the demo takes canned words for an
// answer.
func TestDoctorSaysWhoAnswers(t *testing.T) {
	config := ailing(t)
	config.ClaudeBinary = filepath.Join(config.Data, "no-such-claude")
	wantCheck(t, check(t, config, "agent"), true, "demo agent answers, as")
	config.Agent = "auto"
	got := check(t, config, "agent")
	wantCheck(t, got, false, "until then the demo agent answers")
	if !got.Optional {
		t.Error("auto does without the CLI, so its absence is a warning")
	}
	config.Agent = "claude"
	if got := check(t, config, "agent"); got.OK || got.Optional {
		t.Errorf("claude without a CLI: %+v; want a failure", got)
	}
}

func TestDoctorLooksAtTheDataDirectory(t *testing.T) {
	config := ailing(t)
	wantCheck(t, check(t, config, "data directory"), true, "is writable")
	wantCheck(t, check(t, config, "disk space"), true, "free")
	config.Data = filepath.Join(config.Plugins, "time") // a file
	wantCheck(t, check(t, config, "data directory"), false, "is not a directory")
	wantCheck(t, check(t, config, "database"), false, "")
}

func TestDoctorTellsWhoHoldsThePort(t *testing.T) {
	serves := func(name string, on bool) ledger.Plugin {
		return ledger.Plugin{Path: "/nowhere", PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: on, State: pluginsdk.PluginDisabled, GrantedEnv: []string{"HARNESS_HTTP_ADDR"}}}
	}
	const healthy = `{"status":"ok"}`
	t.Run("nobody", func(t *testing.T) {
		wantCheck(t, check(t, ailing(t), "port"), true, "is free")
	})
	t.Run("our daemon", func(t *testing.T) {
		config := ailing(t)
		holdLock(t, config)
		serve(t, config, healthy)
		wantCheck(t, check(t, config, "port"), true, "held by the daemon, which answers")
	})
	t.Run("another installation's daemon", func(t *testing.T) {
		config := ailing(t)
		serve(t, config, healthy)
		wantCheck(t, check(t, config, "port"), false, "another data directory")
	})
	t.Run("another program", func(t *testing.T) {
		config := ailing(t)
		serve(t, config, "<h1>hello</h1>")
		wantCheck(t, check(t, config, "port"), false, "not Harness")
	})
	t.Run("nobody although the daemon runs", func(t *testing.T) {
		config := ailing(t)
		holdLock(t, config)
		wantCheck(t, check(t, config, "port"), false, "nothing listens")
	})
	t.Run("nobody because the operator turned web off", func(t *testing.T) {
		config := ailing(t)
		holdLock(t, config)
		register(t, config, serves("web", false))
		wantCheck(t, check(t, config, "port"), true, "what serves there is disabled (web)")
	})
	t.Run("nobody although another plugin is to take the place of web", func(t *testing.T) {
		config := ailing(t)
		holdLock(t, config)
		register(t, config, serves("web", false), serves("dashboard", true))
		got := check(t, config, "port")
		wantCheck(t, got, false, "nothing listens")
		if !strings.Contains(got.Remedy, "dashboard") {
			t.Errorf("the remedy is %q", got.Remedy)
		}
	})
}

// A daemon that was killed leaves its name in the lock's file, and the system
// gives its number to another process. Who believes the name tells an operator
// that a dead daemon serves.
func TestRunningIsAboutTheLock(t *testing.T) {
	for name, config := range map[string]func(t *testing.T) Config{
		"sqlite": ailing,
		"postgres": func(t *testing.T) Config {
			config := ailing(t)
			config.DatabaseURL = storetest.Postgres(t).URL
			return config
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := config(t)
			if Running(config) {
				t.Error("running without a lock's file")
			}
			release := holdLock(t, config)
			for range 2 { // looking takes nothing away
				if !Running(config) {
					t.Error("not running although the lock is held")
				}
			}
			release()
			stale := fmt.Appendf(nil, "pid %d (test)\n", os.Getpid())
			if err := os.WriteFile(filepath.Join(config.Data, "harness.lock"), stale, 0o600); err != nil {
				t.Fatal(err)
			}
			if Running(config) {
				t.Error("running although nobody holds the lock")
			}
			holdLock(t, config) // nor does it keep anything
		})
	}
}

// An upgrade of the CLI can bring a tool that does what Harness does: whoever
// runs doctor after it reads of it, until it is decided what becomes of it.
func TestDoctorNamesNewToolsOfTheAgent(t *testing.T) {
	config := ailing(t)
	config.Agent = "claude"
	file := config.agentSeen().NewTools
	silent := func() {
		t.Helper()
		for _, got := range Doctor(t.Context(), config) {
			if got.Name == "agent's tools" {
				t.Errorf("it says %q", got.Detail)
			}
		}
	}
	silent()
	if err := os.WriteFile(file, []byte(`{"version":"9.0.0","tools":["Bash","Alarm","Bell"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := check(t, config, "agent's tools")
	wantCheck(t, got, false, "9.0.0 has tools that this version of Harness does not know: Alarm, Bell")
	if !got.Optional {
		t.Error("Harness works with a tool that it does not know")
	}
	config.AllowedTools, config.DisallowedTools = []string{"Bell"}, []string{"Alarm"}
	silent()
	config.AllowedTools = nil
	if err := os.WriteFile(file, []byte(`oops`), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, check(t, config, "agent's tools"), false, "agent-tools.json")
}

func TestDoctorLooksAtTheDatabase(t *testing.T) {
	config := ailing(t)
	wantCheck(t, check(t, config, "database"), true, "there is none yet")
	register(t, config)
	wantCheck(t, check(t, config, "database"), true, "schema current, no faults")
	if err := os.WriteFile(filepath.Join(config.Data, "harness.db"), []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCheck(t, check(t, config, "database"), false, "")
}

// register makes the database with these plugins.
func register(t *testing.T, config Config, rows ...ledger.Plugin) {
	t.Helper()
	database, err := OpenStore(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if err := database.RegisterPlugin(t.Context(), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
}

// An index that is behind is nothing wrong, and how far is said; one that lacks something is
// made anew, and no backup is restored for it.
func TestDoctorSaysHowFarTheSearchIndexIs(t *testing.T) {
	database := storetest.Open(t)
	if checks := checkIndex(t.Context(), database); len(checks) != 0 {
		t.Errorf("of nothing: %+v", checks)
	}
	thread, _, err := database.CreateThread(t.Context(), pluginsdk.NewThread{Source: "web", SourceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	said := pluginsdk.NewMessage{Role: pluginsdk.RoleUser, Kind: pluginsdk.MessageText, Content: "said"}
	done, err := database.Append(t.Context(), ledger.Append{ThreadID: thread.ID, Rows: []pluginsdk.NewMessage{said, said}})
	if err != nil {
		t.Fatal(err)
	}
	if checks := checkIndex(t.Context(), database); len(checks) != 1 || !checks[0].OK || !strings.HasPrefix(checks[0].Detail, "2 messages") {
		t.Errorf("behind: %+v", checks)
	}
	if err := database.ResetIndex(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	mark, err := database.IndexMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := database.AddToIndex(t.Context(), mark, done.Messages[1].ID, nil); err != nil {
		t.Fatal(err)
	}
	checks := checkIndex(t.Context(), database)
	if len(checks) != 1 || checks[0].OK || !checks[0].Optional || !strings.Contains(checks[0].Detail, "2 messages that a search does not find") || !strings.Contains(checks[0].Remedy, "db reindex") {
		t.Errorf("lacking: %+v", checks)
	}
	if problems, err := database.Integrity(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("said of the data: %q, %v", problems, err)
	}
}

func TestDoctorLooksAtEachPlugin(t *testing.T) {
	config := ailing(t)
	here := filepath.Join(config.Plugins, "time")
	flat := filepath.Join(config.Plugins, "flat")
	binary(t, flat, 0o600)
	row := func(name, path string, enabled bool, state pluginsdk.PluginState) ledger.Plugin {
		return ledger.Plugin{Path: path, PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: enabled, State: state, LastError: "it broke"}}
	}
	register(t, config,
		row("serving", here, true, pluginsdk.PluginServing), row("off", "/nowhere", false, pluginsdk.PluginDisabled),
		row("gone", "/nowhere", true, pluginsdk.PluginServing), row("flat", flat, true, pluginsdk.PluginServing),
		row("dying", here, true, pluginsdk.PluginBackoff), row("bad", here, true, pluginsdk.PluginQuarantined),
	)
	wantCheck(t, check(t, config, "plugin directory"), true, config.Plugins+": 1")
	wantCheck(t, check(t, config, "plugin dying"), true, "starts with the daemon")
	holdLock(t, config)
	wantCheck(t, check(t, config, "plugin serving"), true, "serving")
	wantCheck(t, check(t, config, "plugin off"), true, "disabled")
	wantCheck(t, check(t, config, "plugin gone"), false, "no such file")
	wantCheck(t, check(t, config, "plugin flat"), false, "is not executable")
	wantCheck(t, check(t, config, "plugin dying"), false, "backoff")
	wantCheck(t, check(t, config, "plugin bad"), false, "quarantined: it broke")
	broken := checkPlugin(ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "edited", Problem: "enabled: perhaps"}}, true)
	wantCheck(t, broken, false, "enabled: perhaps")
}

// Who turns off the plugin that fires schedules must not find out by a digest that does not come.
func TestDoctorSaysThatNobodyFiresSchedules(t *testing.T) {
	row := func(name string, enabled bool) ledger.Plugin {
		return ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: enabled, Granted: []pluginsdk.Capability{pluginsdk.CapCronsWrite}}}
	}
	on := []string{"digest", "tea"}
	if found := checkSchedules([]ledger.Plugin{row("web", true), row("cron", true)}, on); len(found) != 0 {
		t.Errorf("with cron: %+v", found)
	}
	if found := checkSchedules([]ledger.Plugin{row("cron", false), row("ours", true)}, on); len(found) != 0 {
		t.Errorf("with another: %+v", found)
	}
	if found := checkSchedules([]ledger.Plugin{row("cron", false)}, nil); len(found) != 0 {
		t.Errorf("with no job: %+v", found)
	}
	found := checkSchedules([]ledger.Plugin{row("web", true), row("cron", false)}, on)
	if len(found) != 1 || found[0].OK || !found[0].Optional || !strings.Contains(found[0].Detail, "2 (digest, tea)") || !strings.Contains(found[0].Remedy, "harness plugin enable cron") {
		t.Errorf("%+v", found)
	}
	config := ailing(t)
	register(t, config, row("cron", false))
	database, err := OpenExisting(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for name, enabled := range map[string]bool{"tea": true, "off": false} {
		if _, _, err := database.SaveCron(t.Context(), pluginsdk.CronSpec{Name: name, Schedule: "0 9 * * *", Timezone: "UTC", Prompt: "x"}, enabled); err != nil {
			t.Fatal(err)
		}
	}
	database.Close()
	wantCheck(t, check(t, config, "schedules"), false, "1 (tea)")
}

// Who has turned off what bounds the costs must not find out by the bill.
func TestDoctorSaysThatNoBudgetHolds(t *testing.T) {
	purse := func(enabled bool, granted ...pluginsdk.Capability) ledger.Plugin {
		return ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{
			Name: "purse", Enabled: enabled, Granted: granted, Manifest: pluginsdk.Manifest{Hooks: []pluginsdk.Hook{pluginsdk.HookBeforeRun}},
		}}
	}
	other := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "other", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapBudgetsRead}}}
	config := Config{Agent: "auto"}
	for name, c := range map[string]struct {
		rows   []ledger.Plugin
		config Config
		remedy string // empty: nothing is said
	}{
		"before the first start":     {nil, config, ""},
		"the demo agent":             {[]ledger.Plugin{other}, Config{Agent: "demo"}, ""},
		"it is on":                   {[]ledger.Plugin{other, purse(true, pluginsdk.CapBudgetsRead)}, config, ""},
		"it is off":                  {[]ledger.Plugin{other, purse(false, pluginsdk.CapBudgetsRead)}, config, "`harness plugin enable purse`"},
		"it does not know the costs": {[]ledger.Plugin{other, purse(true)}, config, "install a plugin that does"},
	} {
		checks := checkBudgets(c.rows, c.config)
		if c.remedy == "" && len(checks) > 0 || c.remedy != "" && (len(checks) != 1 || checks[0].OK || checks[0].Remedy != c.remedy) {
			t.Errorf("%s: %+v", name, checks)
		}
	}
}

// Settings that are not in force must be seen where people look whether all is well.
func TestDoctorShowsRefusedSettings(t *testing.T) {
	row := ledger.Plugin{Settings: []byte(`{"timezone":"Nowhere"}`), SettingsRevision: 2, Accepted: []byte(`{"mark":"1 x","at":"2026-11-03T04:05:06Z"}`)}
	row.Name, row.Enabled = "time", true
	if checks := checkSettings(row); len(checks) != 0 {
		t.Errorf("nothing is refused: %+v", checks)
	}
	row.Refused = ledger.RefusedSettings{Mark: row.SettingsMark(), Words: "no such zone"}
	checks := checkSettings(row)
	if len(checks) != 1 {
		t.Fatalf("checks %+v", checks)
	}
	wantCheck(t, checks[0], false, "refused: no such zone; in force are those of 2026-11-03 04:05:06 UTC")
	if checks[0].Remedy == "" || len(checkSettings(ledger.Plugin{PluginInfo: row.PluginInfo, Refused: row.Refused})) != 0 {
		t.Errorf("a remedy %q, or other settings are said to be refused", checks[0].Remedy)
	}
}

// A bot that serves and is mute is found here, with what its author says to do.
func TestDoctorShowsWhatPluginsFind(t *testing.T) {
	config := ailing(t)
	row := func(name string, enabled bool, ago time.Duration, checks ...pluginsdk.Check) ledger.Plugin {
		row := ledger.Plugin{Path: filepath.Join(config.Plugins, "time")}
		row.Name, row.Enabled, row.State, row.Checks, row.CheckedAt = name, enabled, pluginsdk.PluginServing, checks, time.Now().Add(-ago)
		return row
	}
	failing := pluginsdk.Check{Name: "connection", State: pluginsdk.CheckFailing, Detail: "401", Remedy: "set another token"}
	register(t, config,
		row("asked", true, 0, failing), row("bot", true, time.Minute, failing, pluginsdk.Check{Name: "account", State: pluginsdk.CheckWarning}, pluginsdk.Check{Name: "disk", State: pluginsdk.CheckOK}),
		row("stale", true, 12*time.Minute, failing), row("fine", true, time.Minute, pluginsdk.Check{Name: "disk", State: pluginsdk.CheckOK}),
		row("silent", true, 12*time.Minute, pluginsdk.Check{Name: "disk", State: pluginsdk.CheckOK}), row("off", false, time.Minute, failing),
	)
	names := func() (names []string) {
		for _, check := range Doctor(t.Context(), config) {
			if strings.HasPrefix(check.Name, "plugin ") && strings.Contains(check.Name, ":") {
				names = append(names, check.Name)
			}
		}
		return names
	}
	if got := names(); got != nil {
		t.Errorf("with the daemon down: %q", got)
	}
	holdLock(t, config)
	if got, want := names(), []string{"plugin asked: connection", "plugin bot: connection", "plugin bot: account", "plugin stale: connection"}; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q, want %q", got, want)
	}
	found := check(t, config, "plugin bot: connection")
	wantCheck(t, found, false, "401")
	if found.Detail != "401 (as of 1 minute ago)" || found.Optional || found.Remedy != "set another token" {
		t.Errorf("%+v", found)
	}
	if warned := check(t, config, "plugin bot: account"); warned.OK || !warned.Optional || warned.Detail != "warning (as of 1 minute ago)" || !strings.Contains(warned.Remedy, "plugin logs bot") {
		t.Errorf("%+v", warned)
	}
	if now := check(t, config, "plugin asked: connection"); now.Detail != "401" {
		t.Errorf("%+v", now)
	}
	wantCheck(t, check(t, config, "plugin stale: connection"), false, "401 (old: it has said nothing since 12 minutes ago)")
	wantCheck(t, check(t, config, "plugin fine"), true, "serving")
	wantCheck(t, check(t, config, "plugin silent"), true, "serving; how it finds its surroundings it said last 12 minutes ago")
}

// A plugin that is full is silent from then on: its operator hears of it before.
func TestDoctorSaysWhoseRoomEnds(t *testing.T) {
	config := ailing(t)
	row := func(name string, origin pluginsdk.PluginOrigin, limit int64) ledger.Plugin {
		row := ledger.Plugin{Path: filepath.Join(config.Plugins, "time")}
		row.Name, row.Origin, row.Limits.StoredBytes = name, origin, limit
		return row
	}
	register(t, config, row("full", pluginsdk.OriginStore, 1000), row("nearly", pluginsdk.OriginStore, 1250), row("half", pluginsdk.OriginStore, 2000),
		row("default", pluginsdk.OriginStore, 0), row("unlimited", pluginsdk.OriginStore, -1), row("activity", pluginsdk.OriginDirectory, 0))
	database, err := OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"full", "nearly", "half", "default", "unlimited", "activity"} {
		if _, err := database.WriteState(t.Context(), ledger.StateWrite{Plugin: name, Key: "k", Value: make([]byte, 1000)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := database.Close(); err != nil {
		t.Fatal(err)
	}
	said := map[string]Check{}
	for _, check := range Doctor(t.Context(), config) {
		if strings.HasPrefix(check.Name, "what ") {
			said[check.Name] = check
		}
	}
	wantCheck(t, said["what full has stored"], false, "refused")
	wantCheck(t, said["what nearly has stored"], false, "1001 B of the 1.2 KiB")
	if len(said) != 2 || !said["what full has stored"].Optional || !strings.Contains(said["what full has stored"].Remedy, "harness plugin limits full --stored N") {
		t.Errorf("%+v", said)
	}
}

// An agent that lacks tools which a plugin declares is worth a word, and no
// reason to call the installation broken.
func TestDoctorSaysWhichToolsTheAgentLacks(t *testing.T) {
	config := ailing(t)
	config.ToolBounds.Tools = 5 // two are the core's own
	row := func(name string, tools int, enabled bool) ledger.Plugin {
		row := ledger.Plugin{Path: filepath.Join(config.Plugins, "time"), PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: enabled}}
		for n := range tools {
			row.Manifest.Tools = append(row.Manifest.Tools, pluginsdk.ToolSpec{Name: fmt.Sprint("t", n), InputSchema: json.RawMessage("{}")})
		}
		return row
	}
	register(t, config, row("greedy", 5, true), row("modest", 1, true), row("off", 9, false))
	got := check(t, config, "tools of greedy")
	wantCheck(t, got, false, "the agent is offered 2 of the 5 tools of greedy, none from t2 on")
	if !got.Optional {
		t.Error("the installation is said not to work")
	}
	for _, check := range Doctor(t.Context(), config) {
		if check.Name == "tools of modest" || check.Name == "tools of off" {
			t.Errorf("%+v", check)
		}
	}
}

// A newer starter of a context file is a note; one's own words without a newer starter, and notes in a form, are none.
func TestDoctorSaysThatThereAreNewerStarters(t *testing.T) {
	database, config := storetest.Open(t), Config{Data: t.TempDir()}
	if err := makeWorkspace(starter.FS, filepath.Join(config.Data, "workspace")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CLAUDE.md", "context/memory.md"} {
		if err := os.WriteFile(filepath.Join(config.Data, "workspace", name), []byte("my own words\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if checks := checkStarters(t.Context(), config, database); len(checks) != 0 {
		t.Errorf("of files of one's own: %+v", checks)
	}
	// CLAUDE.md is known to have been made from the first starter that there was.
	const first = "29dbda511651e50f6323406aa92f173ab0727e5b91d1a05aac1711400d5c5cee"
	err := database.RecordChanges(t.Context(), []ledger.ContextChange{{WorkspaceChange: pluginsdk.WorkspaceChange{Path: "CLAUDE.md", Kind: pluginsdk.ChangeOutside, Version: first, At: time.Now()}, Text: []byte("old")}})
	if err != nil {
		t.Fatal(err)
	}
	if checks := checkStarters(t.Context(), config, database); len(checks) != 1 || !checks[0].OK || !strings.Contains(checks[0].Detail, "newer starters of CLAUDE.md:") {
		t.Errorf("with a newer starter: %+v", checks)
	}
	// A pipe in its place keeps nobody waiting, and of a link nothing is read.
	path := filepath.Join(config.Data, "workspace", "CLAUDE.md")
	for what, replace := range map[string]func() error{
		"a pipe": func() error { return syscall.Mkfifo(path, 0o600) },
		"a link": func() error { return os.Symlink("/dev/zero", path) },
	} {
		if err := errors.Join(os.Remove(path), replace()); err != nil {
			t.Fatal(err)
		}
		if checks := checkStarters(t.Context(), config, database); len(checks) != 0 {
			t.Errorf("of %s: %+v", what, checks)
		}
	}
}
