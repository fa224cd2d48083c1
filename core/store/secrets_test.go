package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// edit changes a plugin's settings as its caller says.
func edit(t *testing.T, s *store.Store, plugin string, change func(plain string, sealed map[string][]byte) (string, map[string][]byte)) error {
	t.Helper()
	return s.EditPluginSettings(t.Context(), plugin, "ann",
		func(plain json.RawMessage, sealed map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
			newPlain, newSealed := change(string(plain), sealed)
			return json.RawMessage(newPlain), newSealed, "set something", nil
		})
}

func wantSecrets(t *testing.T, s *store.Store, plugin string, want map[string][]byte) {
	t.Helper()
	got, err := s.PluginSecrets(t.Context(), plugin)
	if err != nil || !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("secrets of %s: %q, %v; want %q", plugin, got, err, want)
	}
}

func TestSettingsAndSecretsAreChangedTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "mail", 1)
		register(t, s, "chat", 2)
		if _, _, sealed, err := s.SomeSecret(t.Context()); err != nil || sealed != nil {
			t.Errorf("some secret of none: %q, %v", sealed, err)
		}
		addAccount(t, s, "work") // a second vault's key, made for a plugin, would not open this one
		if owner, name, sealed, err := s.SomeSecret(t.Context()); err != nil || owner != "account:work" || name != "key" || string(sealed) != "sealed work" {
			t.Errorf("some secret: %s %s %q, %v", owner, name, sealed, err)
		}
		first := map[string][]byte{"token": {0, 0xff, 'x'}, "other": []byte("y")}
		check(t, edit(t, s, "mail", func(plain string, sealed map[string][]byte) (string, map[string][]byte) {
			if plain != `{"a":1}` || len(sealed) != 0 {
				t.Errorf("before: %s, %q", plain, sealed)
			}
			return `{"a": 2}`, first
		}))
		wantSecrets(t, s, "mail", first)
		wantSecrets(t, s, "chat", nil)
		second := map[string][]byte{"token": []byte("new")}
		check(t, edit(t, s, "mail", func(plain string, sealed map[string][]byte) (string, map[string][]byte) {
			if plain != `{"a":2}` || !maps.EqualFunc(sealed, first, bytes.Equal) {
				t.Errorf("before: %s, %q", plain, sealed)
			}
			return "", second
		}))
		wantSecrets(t, s, "mail", second)
		row := must[ledger.Plugin](t)(s.Plugin(t.Context(), "mail"))
		if row.Settings != nil || row.SettingsRevision != 2 {
			t.Errorf("row %s, revision %d", row.Settings, row.SettingsRevision)
		}
		plugin, name, sealed, err := s.SomeSecret(t.Context())
		if err != nil || plugin != "mail" || name != "token" || string(sealed) != "new" {
			t.Errorf("some secret: %s %s %q, %v", plugin, name, sealed, err)
		}
		entries, err := s.AuditEntries(t.Context(), "mail", 10)
		if err != nil || len(entries) != 2 || entries[1].Who != "ann" || entries[1].Action != "plugin.settings" ||
			entries[1].Target != "mail" || entries[1].Detail != "set something" {
			t.Errorf("audit %+v, %v", entries, err)
		}
		check(t, removePlugin(t.Context(), s, "mail", false))
		wantSecrets(t, s, "mail", nil)
	})
}

// Half a change would be a token without its account.
func TestAChangeThatFailsChangesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "mail", 1)
		refused := errors.New("does not fit")
		err := s.EditPluginSettings(t.Context(), "mail", "ann",
			func(json.RawMessage, map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
				return nil, nil, "", refused
			})
		if !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		wantCode(t, edit(t, s, "mail", func(string, map[string][]byte) (string, map[string][]byte) {
			return `{"a":3}`, map[string][]byte{"good": []byte("x"), "bad\x00": []byte("x")}
		}), pluginsdk.CodeInvalid)
		wantCode(t, edit(t, s, "mail", func(string, map[string][]byte) (string, map[string][]byte) { return `[]`, nil }), pluginsdk.CodeInvalid)
		wantCode(t, edit(t, s, "none", func(string, map[string][]byte) (string, map[string][]byte) { return `{}`, nil }), pluginsdk.CodeNotFound)
		row := must[ledger.Plugin](t)(s.Plugin(t.Context(), "mail"))
		if string(row.Settings) != `{"a":1}` || row.SettingsRevision != 0 {
			t.Errorf("row %s, revision %d", row.Settings, row.SettingsRevision)
		}
		wantSecrets(t, s, "mail", nil)
		if entries, err := s.AuditEntries(t.Context(), "", 10); err != nil || len(entries) != 0 {
			t.Errorf("audit %+v, %v", entries, err)
		}
	})
}

// Two operators who change different settings at once must both have their way.
func TestChangesOfSettingsFollowEachOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "mail", 1)
		const operators = 8
		var all sync.WaitGroup
		for n := range operators {
			all.Go(func() {
				check(t, edit(t, s, "mail", func(plain string, sealed map[string][]byte) (string, map[string][]byte) {
					values := map[string]int{}
					check(t, json.Unmarshal([]byte(plain), &values))
					name := fmt.Sprintf("k%d", n)
					values[name], sealed[name] = n, []byte{1}
					encoded, err := json.Marshal(values)
					check(t, err)
					return string(encoded), sealed
				}))
			})
		}
		all.Wait()
		row := must[ledger.Plugin](t)(s.Plugin(t.Context(), "mail"))
		values := map[string]int{}
		check(t, json.Unmarshal(row.Settings, &values))
		sealed := must[map[string][]byte](t)(s.PluginSecrets(t.Context(), "mail"))
		if len(values) != operators+1 || len(sealed) != operators || row.SettingsRevision != operators {
			t.Errorf("row %s, %d secrets, revision %d", row.Settings, len(sealed), row.SettingsRevision)
		}
	})
}

// An edit sees the column as SQL left it, so that it can refuse or replace it.
func TestAnEditSeesWhatSQLLeft(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "mail", 1)
		for statement, want := range map[string]string{
			"UPDATE plugins SET settings = '[1]'": "[1]",
			"UPDATE plugins SET settings = NULL":  "",
		} {
			byHand(t, s, statement)
			refused := errors.New("only looking")
			err := s.EditPluginSettings(t.Context(), "mail", "ann",
				func(plain json.RawMessage, _ map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
					if string(plain) != want {
						t.Errorf("%s: the edit sees %q", statement, plain)
					}
					return nil, nil, "", refused
				})
			if !errors.Is(err, refused) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A backup has the sealed values, and nothing that opens them.
func TestABackupHasTheSealedSecretsAndNotTheirKey(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "mail", 1)
		sealed := map[string][]byte{"token": {0, 1, 0xff, 'x'}}
		check(t, edit(t, s, "mail", func(plain string, _ map[string][]byte) (string, map[string][]byte) { return plain, sealed }))
		dir := t.TempDir()
		workspace := filepath.Join(dir, "workspace")
		check(t, os.MkdirAll(workspace, 0o700))
		check(t, os.WriteFile(filepath.Join(dir, "secrets.key"), []byte("the key"), 0o600))
		file := filepath.Join(dir, "all.backup")
		report, err := s.Backup(t.Context(), store.Backup{File: file, Workspace: workspace})
		check(t, err)
		saved := map[string]int64{}
		for _, table := range report.Tables {
			saved[table.Name] = table.Rows
		}
		if saved["plugin_secrets"] != 1 {
			t.Errorf("saved %v", saved)
		}
		for _, one := range report.Files {
			if strings.Contains(one.Name, "secrets.key") {
				t.Errorf("the key is in the backup: %+v", one)
			}
		}
		restored := storetest.SQLite(t)
		_, err = store.RestoreBackup(t.Context(), restored, store.Restore{File: file, Workspace: filepath.Join(t.TempDir(), "workspace"), Owner: "test"})
		check(t, err)
		again := must[*store.Store](t)(store.Open(t.Context(), restored))
		defer again.Close()
		if got := must[map[string][]byte](t)(again.PluginSecrets(t.Context(), "mail")); !reflect.DeepEqual(got, sealed) {
			t.Errorf("restored %q", got)
		}
	})
}
