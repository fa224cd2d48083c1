package daemon_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/accounts"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/fakeapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// book are the accounts as the command line has them, beside the daemon.
type book struct {
	*testing.T
	*accounts.Room
}

func (in *installation) accounts() book {
	return book{in.t, daemon.NewAccounts(in.config, in.database())}
}

func (b book) add(name string, kind pluginsdk.AccountKind, key string) {
	b.Helper()
	if _, err := b.Add(b.Context(), "operator", pluginsdk.AddAccountRequest{Name: name, Kind: kind, Key: key}); err != nil {
		b.Fatal(err)
	}
}

// logIn leaves in an account's home what the CLI's login leaves there.
func (b book) logIn(name, token string) (home string) {
	b.Helper()
	home, err := b.HomeOf(b.Context(), name)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".credentials.json"), fmt.Appendf(nil,
			`{"claudeAiOauth":{"accessToken":%q,"refreshToken":"sk-ant-ort01-x","expiresAt":%d,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}`,
			token, time.Now().Add(24*time.Hour).UnixMilli()), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
	return home
}

// Work must not be paid from private money: what the API is asked with is the account that was
// chosen, and nothing of another one's, whatever lies in the daemon's environment and home.
func TestTheAPIGetsTheAccountThatWasChosen(t *testing.T) {
	if !apart(t) {
		return
	}
	withRealAgent(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		api := in.claude()
		own := filepath.Join(os.Getenv("HOME"), ".claude") // somebody is logged in to the environment, too
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, ".credentials.json"), []byte(`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-environment","expiresAt":99999999999999,"scopes":["user:inference"]}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		in.start()
		of := in.accounts()
		of.add("work", pluginsdk.AccountLogin, "")
		of.add("spare", pluginsdk.AccountKey, "sk-spare")
		home := of.logIn("work", "sk-ant-oat01-work")
		watch := in.watch()
		for n, c := range []struct{ account, key, bearer string }{
			{pluginsdk.EnvironmentAccount, "sk-test", ""},
			{"work", "", "Bearer sk-ant-oat01-work"},
			{"spare", "sk-spare", ""},
			{"work", "", "Bearer sk-ant-oat01-work"},
			{pluginsdk.EnvironmentAccount, "sk-test", ""},
		} {
			if status := in.call(http.MethodPatch, "/api/accounts/"+c.account, map[string]bool{"default": true}, nil); status != http.StatusOK {
				t.Fatalf("PATCH /api/accounts/%s: %d", c.account, status)
			}
			if !in.asks(watch, api, n, c.key, c.bearer) {
				t.Errorf("turn %d: the API was not asked with what the account %s has", n, c.account)
			}
		}
		transcripts := false
		err := filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
			transcripts = transcripts || strings.HasSuffix(path, ".jsonl")
			return err
		})
		if err != nil || !transcripts {
			t.Errorf("the transcripts of a login are not in its home: %v", err)
		}
	})
}

// asks has a new thread ask the agent, and reports whether the API was asked with this key or
// bearer.
func (in *installation) asks(watch *watcher, api *fakeapi.Server, n int, key, bearer string) bool {
	in.t.Helper()
	words := fmt.Sprintf("say:%d-%d", n, len(api.Requests(fakeapi.Main)))
	in.say(watch, in.thread(words), words)
	asked := api.Requests(fakeapi.Main, fakeapi.Saying(words))
	if len(asked) == 0 {
		in.t.Fatalf("the API was not asked %s", words)
	}
	last := asked[len(asked)-1].Header
	return last.Get("X-Api-Key") == key && last.Get("Authorization") == bearer
}

// Budgets for what is billed must not count the first turn of a subscription: no window of its plan
// was seen yet.
func TestTheLoginOfTheEnvironmentIsAPlanBeforeAWindowWasSeen(t *testing.T) {
	config := daemon.Defaults()
	config.Data = t.TempDir()
	database, err := daemon.OpenStore(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		key, agent string
		want       bool
	}{{"", "auto", true}, {"sk-test", "auto", false}, {"", "demo", false}} {
		t.Setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-test")
		t.Setenv("ANTHROPIC_API_KEY", c.key)
		config.Agent = c.agent
		all, err := daemon.NewAccounts(config, database).List(t.Context())
		if err != nil || len(all) != 1 || all[0].Plan != c.want {
			t.Errorf("%+v: %+v, %v", c, all, err)
		}
	}
}

// A backup is copied, kept for years and given away; a login in it would be somebody else's
// login. After a restore nobody must believe that it is there.
func TestABackupHasNoLogin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		in := leanInstallation(t, database(t))
		in.start()
		of := in.accounts()
		of.add("work", pluginsdk.AccountLogin, "")
		of.add("spare", pluginsdk.AccountKey, "sk-ant-canary-key")
		of.logIn("work", "sk-ant-canary-login")
		file := filepath.Join(t.TempDir(), "all.backup")
		if _, err := daemon.Backup(t.Context(), in.config, daemon.BackupRequest{File: file}); err != nil {
			t.Fatal(err)
		}
		entries := 0
		for name, content := range unpacked(t, file) {
			entries++
			if strings.Contains(content, "canary") || strings.Contains(name, "credentials") {
				t.Errorf("%s has a secret of an account", name)
			}
		}
		if entries < 10 {
			t.Errorf("only %d entries were looked at", entries)
		}
		again := leanInstallation(t, database(t))
		if _, err := daemon.Restore(t.Context(), again.config, file, false, nil); err != nil {
			t.Fatal(err)
		}
		all, err := again.accounts().List(t.Context())
		if err != nil || len(all) != 3 {
			t.Fatalf("%+v, %v", all, err)
		}
		for i, remedy := range map[int]string{1: daemon.SecretsKeyFile, 2: "harness account login work"} {
			if all[i].Usable || !strings.Contains(all[i].Reason, remedy) {
				t.Errorf("after the restore: %+v", all[i])
			}
		}
		for _, one := range daemon.Doctor(t.Context(), again.config) {
			if one.Name == "account work" && (one.OK || !strings.Contains(one.Detail, "harness account login work")) {
				t.Errorf("doctor: %+v", one)
			}
		}
		if _, err := os.Stat(filepath.Join(again.config.Data, "accounts")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the restore has made homes: %v", err)
		}
	})
}

// unpacked are the entries of a backup by their names.
func unpacked(t *testing.T, file string) map[string]string {
	t.Helper()
	opened, err := os.Open(file) //nolint:gosec // written by the test
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	unzipped, err := gzip.NewReader(opened)
	if err != nil {
		t.Fatal(err)
	}
	entries := make(map[string]string)
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		entries[header.Name] = string(content)
	}
}

// Whoever has added an account and set nothing else must not be answered by the demo agent.
func TestAnAccountIsEnoughForTheRealAgent(t *testing.T) {
	for _, credential := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"} {
		t.Setenv(credential, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	in := leanInstallation(t, "")
	binary := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho 9.9.9\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	in.config.Agent, in.config.ClaudeBinary = "claude", binary
	in.start()()
	if !slices.ContainsFunc(daemon.Doctor(t.Context(), in.config), func(c daemon.Check) bool { return c.Name == "agent" && !c.OK }) {
		t.Fatal("doctor does not say that the agent has no credentials")
	}
	in.accounts().add("spare", pluginsdk.AccountKey, "sk-spare")
	for _, one := range daemon.Doctor(t.Context(), in.config) {
		if one.Name == "agent" && (!one.OK || !strings.Contains(one.Detail, "the account spare")) {
			t.Errorf("doctor: %+v", one)
		}
	}
	in.config.Agent = "auto"
	d, err := daemon.New(t.Context(), in.config)
	if err != nil {
		t.Fatal(err)
	}
	if name := d.AgentName(); name != "claude" {
		t.Errorf("it answers %s", name)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// Who has lost secrets.key for good has lost the keys that it opens, and must be able to set them
// again; what a plugin has sealed is not to be lost on the way.
func TestKeysAreSetAgainAfterTheSecretsKeyIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, database func(*testing.T) string) {
		t.Parallel()
		in := leanInstallation(t, database(t))
		rows, file := in.database(), filepath.Join(in.config.Data, "secrets.key")
		const key = "sk-ant-api03-hunter2"
		refused := func(what string, err error, words string) {
			t.Helper()
			if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %q", what, err, words)
			}
		}
		add := func(name string) error {
			_, err := daemon.NewAccounts(in.config, rows).Add(t.Context(), "ann", pluginsdk.AddAccountRequest{Name: name, Kind: pluginsdk.AccountKey, Key: key})
			return err
		}
		set := func(name, key string) error {
			_, err := daemon.NewAccounts(in.config, rows).Update(t.Context(), "ann", pluginsdk.UpdateAccountRequest{Name: name, Patch: pluginsdk.AccountPatch{Key: &key}})
			return err
		}
		resolve := func(name string) (key string, err error) {
			found, err := daemon.NewAccounts(in.config, rows).Resolve(name)
			return strings.Join(found.Env, " "), err
		}
		lose := func() {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"other", "spare"} {
			if err := add(name); err != nil {
				t.Fatal(err)
			}
		}
		lose()
		_, err := resolve("spare")
		refused("a key that cannot be opened", err, "harness account set spare --key")
		refused("one more key", add("new"), "harness account set other --key")
		if _, err := os.Stat(file); err == nil {
			t.Error("another secrets.key was made by who adds a key")
		}
		if err := set("spare", key+"-2"); err != nil {
			t.Fatal(err)
		}
		entries, err := rows.AuditEntries(t.Context(), "spare", 0)
		if err != nil || len(entries) != 2 || entries[1].Detail != "set key; what is stored as the key of other cannot be opened and is lost" {
			t.Errorf("%+v, %v", entries, err)
		}
		if got, err := resolve("spare"); err != nil || got != "ANTHROPIC_API_KEY="+key+"-2" {
			t.Errorf("%s, %v", got, err)
		}
		_, err = resolve("other")
		refused("the key that is lost", err, "harness account set other --key")
		if err := set("other", key); err != nil {
			t.Error(err)
		}
		// A plugin's secret that cannot be opened has its own way out, which is named.
		if err := rows.RegisterPlugin(t.Context(), ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "mail", SHA256: "x"}, Path: "/mail"}); err != nil {
			t.Fatal(err)
		}
		if err := rows.EditPluginSettings(t.Context(), "mail", "ann", func(column json.RawMessage, _ map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
			sealed, err := settings.NewVault("", file).Seal("mail", "token", json.RawMessage(`"x"`), true)
			return column, map[string][]byte{"token": sealed}, "set token", err
		}); err != nil {
			t.Fatal(err)
		}
		lose()
		refused("with a plugin's secret", set("spare", key), "harness plugin settings unset mail token")
	})
}
