package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const mailSchema = `{"type":"object","additionalProperties":false,"required":["token"],"properties":{
	"token":{"type":"string","secret":true,"description":"Of the account"},
	"backup":{"type":"string","secret":true},
	"zone":{"type":"string","default":"UTC","description":"Where days begin"},
	"port":{"type":"integer","minimum":1}}}`

// withMail makes an installation with a plugin that has a schema.
func withMail(t *testing.T) (data string) {
	t.Helper()
	data = withPlugins(t)
	database := openStore(t, data)
	defer database.Close()
	info := ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "mail", Manifest: pluginsdk.Manifest{
		Name: "mail", Version: "1", SettingsSchema: json.RawMessage(mailSchema),
	}}, Path: "/opt/mail"}
	if err := database.RegisterPlugin(t.Context(), info); err != nil {
		t.Fatal(err)
	}
	return data
}

func mailSettings(t *testing.T, data string) string {
	t.Helper()
	database := openStore(t, data)
	defer database.Close()
	got, err := daemon.NewSettings(daemon.Config{Data: data}, database).Get(t.Context(), "mail")
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func TestSettingsAreShownWithWhatTheyAreFor(t *testing.T) {
	withMail(t)
	got := harness(t, "", "plugin", "settings", "mail")
	for _, want := range []string{
		"token = (not set)\n    Of the account. It takes a text. Required. Secret.\n",
		"zone = \"UTC\"   (default)\n    Where days begin. It takes a text.\n",
		"port = (not set)\n    It takes a whole number of at least 1.\n",
		"! settings: token: it is required and not set",
	} {
		got.want(t, 0, want, "")
	}
	harness(t, "", "plugin", "settings", "mial").want(t, exitFailed, "", `there is no plugin "mial"; there are: `)
	// What nobody declared may be a secret.
	undeclared := harness(t, "", "plugin", "settings", "activity")
	undeclared.want(t, 0, "token = (set, not shown", "")
	if strings.Contains(undeclared.out, "hunter2") {
		t.Errorf("shown: %s", undeclared.out)
	}
	harness(t, "", "plugin", "settings", "time").want(t, 0, "time has no settings.", "")
}

func TestSettingsAreSetAndTakenBack(t *testing.T) {
	data := withMail(t)
	set := harness(t, "hunter2\n", "plugin", "settings", "set", "mail", "zone=Europe/Berlin", "port=25", "token")
	set.want(t, 0, "The settings of mail are changed; they hold from the daemon's next start on.", "")
	set.want(t, 0, filepath.Join(data, "secrets.key"), "")
	if got := mailSettings(t, data); got != `{"port":25,"token":"hunter2","zone":"Europe/Berlin"}` {
		t.Errorf("the plugin gets %s", got)
	}
	shown := harness(t, "", "plugin", "settings", "mail")
	shown.want(t, 0, "token = (set)\n", "")
	shown.want(t, 0, "zone = \"Europe/Berlin\"   (set)\n    Where days begin. It takes a text. The default is \"UTC\".", "")
	asJSON := harness(t, "", "plugin", "settings", "mail", "--json")
	asJSON.want(t, 0, `"port": 25`, "")
	for _, got := range []result{set, shown, asJSON} {
		if strings.Contains(got.out+got.err, "hunter2") {
			t.Errorf("the secret is shown: %s%s", got.out, got.err)
		}
	}

	harness(t, "", "plugin", "settings", "unset", "mail", "port", "nosuch").want(t, exitFailed, "", "nosuch: there is no such setting of mail; there are backup, port, token, zone")
	harness(t, "", "plugin", "settings", "unset", "mail", "backup").want(t, exitFailed, "", "backup: it is not set")
	if got := mailSettings(t, data); got != `{"port":25,"token":"hunter2","zone":"Europe/Berlin"}` {
		t.Errorf("refused, and the plugin gets %s", got)
	}

	pretendRunning(t, data)
	harness(t, "", "plugin", "settings", "unset", "mail", "port", "zone").want(t, 0, "The settings of mail are changed; it is disabled.", "")
	if got := mailSettings(t, data); got != `{"token":"hunter2","zone":"UTC"}` {
		t.Errorf("the plugin gets %s", got)
	}
	harness(t, "", "plugin", "settings", "unset", "mail", "token").want(t, exitFailed, "", "token: it is required and not set")

	file := filepath.Join(t.TempDir(), "all.json")
	if err := os.WriteFile(file, []byte(`{"port": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "settings", "set", "mail", "--json", file).want(t, 0, "are changed", "")
	harness(t, `{"port": 8, "backup": "hunter3"}`, "plugin", "settings", "set", "mail", "--json", "-").want(t, 0, "are changed", "")
	if got := mailSettings(t, data); got != `{"backup":"hunter3","port":8,"token":"hunter2","zone":"UTC"}` {
		t.Errorf("the plugin gets %s", got)
	}

	database := openStore(t, data)
	defer database.Close()
	entries, err := database.AuditEntries(t.Context(), "", 10)
	if err != nil || len(entries) != 4 {
		t.Fatalf("audit: %+v, %v", entries, err)
	}
	var details []string
	for _, entry := range entries {
		if entry.Who != "operator" || entry.Action != "plugin.settings" || entry.Target != "mail" {
			t.Errorf("audit: %+v", entry)
		}
		details = append(details, entry.Detail)
	}
	if got := strings.Join(details, "|"); got != "set port, token, zone|unset port, zone|set port|set backup, port" {
		t.Errorf("audit: %s", got)
	}
}

// Who set what the plugin refuses sees that it does not hold, what does, and the way back.
func TestRefusedSettingsAreShownAndGoneBackFrom(t *testing.T) {
	data := withMail(t)
	harness(t, "hunter2\n", "plugin", "settings", "set", "mail", "port=25", "token").want(t, 0, "are changed", "")
	harness(t, "", "plugin", "settings", "revert", "mail").want(t, exitFailed, "", "mail has not refused its settings")
	notes := func(note func(database *store.Store, row ledger.Plugin) error) {
		t.Helper()
		database := openStore(t, data)
		defer database.Close()
		row, err := database.Plugin(t.Context(), "mail")
		if err := errors.Join(err, note(database, row)); err != nil {
			t.Fatal(err)
		}
	}
	notes(func(database *store.Store, row ledger.Plugin) error {
		held, err := daemon.NewSettings(daemon.Config{Data: data}, database).Of(t.Context(), row)
		held.Stored.At = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)
		return errors.Join(err, database.SavePluginAccepted(t.Context(), "mail", *held.Stored))
	})
	harness(t, "hunter3\n", "plugin", "settings", "set", "mail", "port=26", "token").want(t, 0, "are changed", "")
	notes(func(database *store.Store, row ledger.Plugin) error {
		seen := ledger.SeenOf(row)
		seen.Refused = ledger.RefusedSettings{Mark: row.SettingsMark(), Words: "no such port", At: time.Now()}
		return database.SavePluginSeen(t.Context(), "mail", seen)
	})
	const words = "it refused them: no such port. In force are those of 2026-11-03 04:05:06 UTC: set others, or go back to these: harness plugin settings revert mail"
	harness(t, "", "plugin", "settings", "mail").want(t, 0, "port = 26   (set)", "")
	for _, args := range []string{"settings mail", "info mail", "list", "list --json"} {
		got := harness(t, "", append([]string{"plugin"}, strings.Fields(args)...)...)
		got.want(t, 0, words, "")
		if strings.Contains(got.out, "hunter") || strings.Contains(got.out, "age-encryption") || strings.Contains(got.out, "row is wrong") {
			t.Errorf("%s: %s", args, got.out)
		}
	}
	if got := mailSettings(t, data); got != `{"port":25,"token":"hunter2","zone":"UTC"}` {
		t.Errorf("while they are refused the plugin gets %s", got)
	}
	harness(t, "", "plugin", "settings", "revert", "mail").want(t, 0, "The settings of mail are changed; they hold from the daemon's next start on.", "")
	harness(t, "", "plugin", "settings", "mail").want(t, 0, "port = 25   (set)", "")
	if got := harness(t, "", "plugin", "list", "--json"); strings.Contains(got.out, "refused") {
		t.Errorf("after that it is still said: %s", got.out)
	}
	if got := mailSettings(t, data); got != `{"port":25,"token":"hunter2","zone":"UTC"}` {
		t.Errorf("after that the plugin gets %s", got)
	}
}

// The command line is in the list of processes and in the shell's history.
func TestASecretIsNotTakenFromTheCommandLine(t *testing.T) {
	data := withMail(t)
	got := harness(t, "", "plugin", "settings", "set", "mail", "token=hunter2")
	got.want(t, exitFailed, "", "token is a secret and was not set: what stands on a command line is in the list of processes")
	if strings.Contains(got.out+got.err, "hunter2") {
		t.Error("and it is repeated")
	}
	if _, err := os.Stat(filepath.Join(data, "secrets.key")); err == nil {
		t.Error("something was sealed")
	}
}

func TestWrongSettingsAreRefusedInWords(t *testing.T) {
	withMail(t)
	for _, c := range []struct {
		in, args, want string
	}{
		{"", "set mail", "want either KEY=VALUE"},
		{"", "set mail port=1 --json x", "want either KEY=VALUE"},
		{"", "set mail port", "port: want a value, port=VALUE"},
		{"", "set mail port=http", `port: "http" is not JSON; it takes a whole number of at least 1`},
		{"", "set mail port=0", "port: 0 is not accepted"},
		{"", "set mail prot=1", "prot: there is no such setting; there are backup, port, token, zone"},
		{"", "set mail token", "token: no value was given"},
		{"hunter2", "set mail token backup", "backup: stdin has been read for another secret"},
		{"hunter2", "set mail --json -", "must be a JSON object"},
		{"", "set mail --json /does/not/exist", "--json: open /does/not/exist"},
		{"", "set mial port=1", `there is no plugin "mial"`},
		{"", "set time zone=UTC", "nobody knows yet which settings time has"},
	} {
		got := harness(t, c.in, append([]string{"plugin", "settings"}, strings.Fields(c.args)...)...)
		got.want(t, exitFailed, "", c.want)
		if strings.Contains(got.out+got.err, "hunter2") {
			t.Errorf("%s: the secret is shown: %s", c.args, got.err)
		}
	}
}

func TestTheKeyComesFromTheEnvironmentButNotFromTheFile(t *testing.T) {
	data := withMail(t)
	t.Setenv("HARNESS_SECRETS_KEY", "AGE-SECRET-KEY-1HUNTER2")
	got := harness(t, "", "plugin", "settings", "mail")
	got.want(t, exitFailed, "", `HARNESS_SECRETS_KEY, from the environment: "..." is not accepted (not an age secret key); it takes a key that begins with AGE-SECRET-KEY-1`)
	const key = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	t.Setenv("HARNESS_SECRETS_KEY", key)
	harness(t, "hunter2", "plugin", "settings", "set", "mail", "token").want(t, 0, "are changed", "")
	if _, err := os.Stat(filepath.Join(data, "secrets.key")); err == nil {
		t.Error("a key's file was made as well")
	}
	if err := os.Unsetenv("HARNESS_SECRETS_KEY"); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "settings", "mail").want(t, 0, "restore "+filepath.Join(data, "secrets.key"), "")
	if err := os.WriteFile(filepath.Join(data, "harness.env"), []byte("HARNESS_SECRETS_KEY="+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	harness(t, "", "plugin", "settings", "mail").want(t, exitFailed, "", "HARNESS_SECRETS_KEY may not be here")
}
