package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var hunter2 = json.RawMessage(`"hunter2"`)

func seal(t *testing.T, vault *settings.Vault, plugin, name string) []byte {
	t.Helper()
	sealed, err := vault.Seal(plugin, name, hunter2, false)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Fatal("what is sealed can be read")
	}
	return sealed
}

func wantOpened(t *testing.T, vault *settings.Vault, plugin, name string, sealed []byte) {
	t.Helper()
	if value, err := vault.Open(plugin, name, sealed); err != nil || string(value) != string(hunter2) {
		t.Errorf("opened %s, %v", value, err)
	}
}

// The key is made once, for its owner only, and not before there is a secret.
func TestTheKeyIsMadeAtFirstUseAndOpensFromThenOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets.key")
	vault := settings.NewVault("", file)
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a key before it is needed")
	}
	sealed := seal(t, vault, "p", "token")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	before, _ := os.ReadFile(file)
	again := seal(t, vault, "p", "token")
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the key was made anew")
	}
	wantOpened(t, settings.NewVault("", file), "p", "token", sealed)
	wantOpened(t, vault, "p", "token", again)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The daemon and a command may need the first key at the same time; if each had
// its own, one's secrets would be lost.
func TestOfManyWhoMakeTheKeyOneWins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secrets.key")
	sealed := make([][]byte, 20)
	var sealers sync.WaitGroup
	for n := range sealed {
		sealers.Go(func() {
			var err error
			if sealed[n], err = settings.NewVault("", file).Seal("p", "token", hunter2, false); err != nil {
				t.Error(err)
			}
		})
	}
	sealers.Wait()
	for _, one := range sealed {
		wantOpened(t, settings.NewVault("", file), "p", "token", one)
	}
}

// Who may write the database must not get at a secret by moving its row to a
// plugin of his own.
func TestASecretOpensOnlyWhereItBelongs(t *testing.T) {
	vault := settings.NewVault("", filepath.Join(t.TempDir(), "secrets.key"))
	sealed := seal(t, vault, "mail", "token")
	for _, place := range [][2]string{{"spy", "token"}, {"mail", "other"}, {"Mail", "token"}} {
		value, err := vault.Open(place[0], place[1], sealed)
		if pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid || !strings.Contains(err.Error(), "belongs to the setting token of mail") || value != nil {
			t.Errorf("%v: opened %s, %v", place, value, err)
		}
	}
	sealed[len(sealed)-1] ^= 1
	if _, err := vault.Open("mail", "token", sealed); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("damaged: %v", err)
	}
}

func TestAKeyThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secrets.key")
	vault := settings.NewVault("", file)
	sealed := seal(t, vault, "p", "token")
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantRefused := func(name string, vault *settings.Vault, words string) {
		t.Helper()
		_, opening := vault.Open("p", "token", sealed)
		_, sealing := vault.Seal("p", "token", hunter2, true)
		for _, err := range []error{opening, sealing} {
			if err == nil && words == "" {
				continue
			}
			if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && strings.Contains(err.Error(), "AGE-SECRET-KEY-1Q") {
				t.Errorf("%s: the error has the key: %v", name, err)
			}
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		wantRefused(mode.String(), vault, "chmod 600")
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused("the right one", vault, "")
	for content, words := range map[string]string{"": "want one line", "AGE-SECRET-KEY-1QQQQ": "want one line", string(key) + string(key): "want one line"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		wantRefused("content "+content, vault, words)
		if after, _ := os.ReadFile(file); string(after) != content {
			t.Errorf("the file was overwritten: %s", after)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantRefused("missing", vault, "restore "+file+", or give the key in HARNESS_SECRETS_KEY")
	if _, err := os.Stat(file); err == nil {
		t.Error("another key was made although there are secrets")
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	wantRefused("a directory", vault, "want a file")
}

func TestTheEnvironmentsKeyBeatsTheFile(t *testing.T) {
	mine, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "secrets.key")
	vault := settings.NewVault(mine.String(), file)
	sealed := seal(t, vault, "p", "token")
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was made although the key is given")
	}
	wantOpened(t, settings.NewVault(mine.String(), file), "p", "token", sealed)
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	_, err = settings.NewVault(other.String(), file).Open("p", "token", sealed)
	if pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable || !strings.Contains(err.Error(), "another key than that in HARNESS_SECRETS_KEY") {
		t.Errorf("another key: %v", err)
	}
	if err := settings.CheckKey(mine.String()); err != nil {
		t.Error(err)
	}
	if err := settings.CheckKey("AGE-SECRET-KEY-1X"); err == nil || strings.Contains(err.Error(), "1X") {
		t.Errorf("wrong key: %v", err)
	}
}
