package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// withPlugins makes an installation's database with two plugins, as a daemon
// that was killed leaves it.
func withPlugins(t *testing.T) (data string) {
	t.Helper()
	data = isolate(t)
	database := openStore(t, data)
	defer database.Close()
	for n, name := range []string{"activity", "time"} {
		info := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: name, Enabled: n == 0, Position: (n + 1) * 10, State: pluginsdk.PluginStopped}, Path: "/opt/" + name}
		if name == "activity" {
			info.Settings = json.RawMessage(`{"token":"hunter2"}`)
		}
		if err := database.RegisterPlugin(t.Context(), info); err != nil {
			t.Fatal(err)
		}
	}
	long := "start: the thing\nbroke " + strings.Repeat("badly ", 40)
	if err := database.SavePluginSeen(t.Context(), "activity", ledger.PluginSeen{State: pluginsdk.PluginServing, LastError: long, LastErrorAt: time.Now().Add(-3 * time.Minute), Restarts: 3}); err != nil {
		t.Fatal(err)
	}
	return data
}

func openStore(t *testing.T, data string) *store.Store {
	t.Helper()
	database, err := daemon.OpenStore(t.Context(), daemon.Config{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// pretendRunning holds the lock that a daemon holds, until the test ends.
func pretendRunning(t *testing.T, data string) {
	t.Helper()
	database := openStore(t, data)
	lease, err := database.Lock(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lease.Release()
		_ = database.Close()
	})
}

func fields(out, name string) []string {
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, name+" ") {
			return strings.Fields(line)
		}
	}
	return nil
}

// Rows of a daemon that was killed still say serving; nothing serves.
func TestPluginListSaysWhatHoldsNow(t *testing.T) {
	data := withPlugins(t)
	got := harness(t, "", "plugin", "list")
	got.want(t, 0, "NAME", "")
	if row := fields(got.out, "activity"); len(row) < 7 || row[1] != "stopped" || row[2] != "yes" || row[3] != "10" || row[5] != "3" {
		t.Errorf("activity: %v", row)
	}
	if row := fields(got.out, "time"); len(row) < 3 || row[1] != "disabled" || row[2] != "no" {
		t.Errorf("time: %v", row)
	}
	if !strings.Contains(got.out, "3 minutes ago: start: the thing") {
		t.Errorf("nobody knows when the last error was:\n%s", got.out)
	}
	harness(t, "", "plugin", "info", "activity").want(t, 0, ", 3 minutes ago): start: the thing", "")
	for line := range strings.SplitSeq(got.out, "\n") {
		if len([]rune(line)) > 160 {
			t.Errorf("a line of %d characters does not fit: %s", len([]rune(line)), line)
		}
	}
	pretendRunning(t, data)
	if row := fields(harness(t, "", "plugin", "list").out, "activity"); len(row) < 2 || row[1] != "serving" {
		t.Errorf("activity with the daemon up: %v", row)
	}
}

func TestPluginListAsJSONIsWholeButForSecrets(t *testing.T) {
	withPlugins(t)
	got := harness(t, "", "plugin", "list", "--json")
	var rows []ledger.Plugin
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil || len(rows) != 2 {
		t.Fatalf("%v\n%s", err, got.out)
	}
	if !strings.HasSuffix(strings.TrimSpace(rows[0].LastError), "badly") || len(rows[0].LastError) < 200 {
		t.Errorf("last error %q was cut", rows[0].LastError)
	}
	if strings.Contains(got.out, "hunter2") {
		t.Error("settings, which can hold secrets, were printed")
	}
}

func TestPluginsAreToggledAndItIsNoted(t *testing.T) {
	data := withPlugins(t)
	harness(t, "", "plugin", "enable", "time").want(t, 0, "time is enabled; from the daemon's next start on.", "")
	harness(t, "", "plugin", "disable", "activity").want(t, 0, "activity is disabled; from the daemon's next start on.", "")

	database := openStore(t, data)
	defer database.Close()
	rows, err := database.Plugins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Enabled != (row.Name == "time") {
			t.Errorf("%s: enabled is %t", row.Name, row.Enabled)
		}
	}
	entries, err := database.AuditEntries(t.Context(), "", 10)
	if err != nil || len(entries) != 2 || entries[0].Action != "plugin.enable" || entries[1].Target != "activity" {
		t.Errorf("audit: %+v, %v", entries, err)
	}
}

func TestAnUnknownPluginListsTheKnownOnes(t *testing.T) {
	withPlugins(t)
	harness(t, "", "plugin", "disable", "tyme").want(t, exitFailed, "", `there is no plugin "tyme"; there are: activity, time`)
}

// Making a database in the wrong place would hide that it is the wrong place.
func TestPluginCommandsDoNotMakeADatabase(t *testing.T) {
	data := isolate(t)
	harness(t, "", "plugin", "list").want(t, exitFailed, "", "there is no database in "+data)
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
