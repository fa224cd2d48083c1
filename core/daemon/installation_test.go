package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// anInstallation is the room of an installation on each database.
func anInstallation(t *testing.T, test func(t *testing.T, room *installationRoom)) {
	t.Helper()
	storetest.EachEmpty(t, func(t *testing.T, stored store.Config) {
		config := ailing(t)
		config.DatabaseURL = stored.URL
		database, err := OpenStore(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = database.Close() })
		test(t, newInstallationRoom(config, database, nil, func(row ledger.Plugin) ledger.Plugin { return row }, func(context.Context) {}))
	})
}

func mustBackup(t *testing.T, room *installationRoom) pluginsdk.Backup {
	t.Helper()
	made, err := room.Backup(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What an operator fetches has to be the whole of it, and restore.
func TestABackupIsMadeReadInPartsAndDeleted(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		if none, err := room.Backups(t.Context()); err != nil || len(none) != 0 {
			t.Errorf("before any: %v, %v", none, err)
		}
		kept := sha256.Sum256([]byte("a picture"))
		place := filepath.Join(hex.EncodeToString(kept[:1]), hex.EncodeToString(kept[:]))
		if err := os.MkdirAll(filepath.Dir(filepath.Join(room.config.files(), place)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(room.config.files(), place), []byte("a picture"), 0o600); err != nil {
			t.Fatal(err)
		}
		made := mustBackup(t, room)
		var content []byte
		for {
			part, err := room.ReadBackup(t.Context(), made.Name, int64(len(content)), 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				break
			}
			content = append(content, part...)
		}
		if sum := sha256.Sum256(content); int64(len(content)) != made.Size || hex.EncodeToString(sum[:]) != made.SHA256 {
			t.Errorf("%d bytes were read of %+v", len(content), made)
		}
		file := filepath.Join(t.TempDir(), "fetched.backup")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		into := ailing(t)
		if _, err := Restore(t.Context(), into, file, false, nil); err != nil {
			t.Errorf("what was fetched does not restore: %s", err)
		}
		if restored, err := os.ReadFile(filepath.Join(into.files(), place)); err != nil || string(restored) != "a picture" {
			t.Errorf("the bytes of a file are restored as %q, %v", restored, err)
		}
		info, err := os.Stat(filepath.Join(room.backups(), made.Name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
		listed, err := room.Backups(t.Context())
		if err != nil || len(listed) != 1 || listed[0].Name != made.Name || listed[0].Size != made.Size || !listed[0].At.Equal(made.At) {
			t.Errorf("listed %+v, %v", listed, err)
		}
		for range 2 { // an absent one is no error
			if err := room.DeleteBackup(t.Context(), "ben", made.Name); err != nil {
				t.Error(err)
			}
		}
		if left, err := room.Backups(t.Context()); err != nil || len(left) != 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if err := os.WriteFile(filepath.Join(room.config.files(), place), []byte("something else"), 0o600); err != nil {
			t.Fatal(err)
		}
		mustBackup(t, room)
		if noted, err := room.store.AuditPage(t.Context(), pluginsdk.AuditQuery{Limit: 1}); err != nil || !strings.Contains(noted[0].Detail, "1 files are not what was kept") {
			t.Errorf("of a damaged file is said %+v, %v", noted, err)
		}
		entries, err := room.store.AuditPage(t.Context(), pluginsdk.AuditQuery{Action: "backup"})
		if err != nil || len(entries) != 3 || entries[1].Action != "backup.delete" || entries[1].Who != "ben" || entries[2].Action != "backup.make" || entries[2].Target != made.Name {
			t.Errorf("audited: %+v, %v", entries, err)
		}
	})
}

// A name from outside opens nothing but a backup.
func TestNothingButBackupsIsRead(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		if _, err := room.ReadBackup(t.Context(), "harness.backup", 0, 10); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("without a directory: %v", err)
		}
		made := mustBackup(t, room)
		secret := filepath.Join(room.config.Data, "secrets.key")
		for path, make := range map[string]func(string) error{
			secret: func(path string) error { return os.WriteFile(path, []byte("secret"), 0o600) },
			filepath.Join(room.backups(), "link.backup"): func(path string) error { return os.Symlink(secret, path) },
			filepath.Join(room.backups(), "dir.backup"):  func(path string) error { return os.Mkdir(path, 0o700) },
			filepath.Join(room.backups(), ".hidden"):     func(path string) error { return os.WriteFile(path, []byte("secret"), 0o600) },
		} {
			if err := make(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"", ".", "..", "../secrets.key", "..\\secrets.key", secret, "link.backup", "dir.backup", ".hidden", "a\x00b", "x/../" + made.Name, strings.Repeat("é", 150)} {
			if data, err := room.ReadBackup(t.Context(), name, 0, 10); err == nil {
				t.Errorf("%q is read: %q", name, data)
			}
			if err := room.DeleteBackup(t.Context(), "ann", name); err != nil && pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
				t.Errorf("delete %q: %v", name, err)
			}
		}
		listed, err := room.Backups(t.Context())
		if err != nil || len(listed) != 1 {
			t.Errorf("listed %+v, %v", listed, err)
		}
		for _, path := range []string{secret, filepath.Join(room.backups(), "link.backup"), filepath.Join(room.backups(), "dir.backup"), filepath.Join(room.backups(), ".hidden")} {
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("it is gone: %s", err)
			}
		}
	})
}

// Two at a time would take twice the disk for the same rows, and what a daemon that was
// killed has left would stay for ever.
func TestBackupsAreMadeOneAtATime(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		first := mustBackup(t, room)
		left := filepath.Join(room.backups(), "."+first.Name+".123.tmp")
		if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		room.backing <- struct{}{}
		if _, err := room.Backup(t.Context(), "ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			t.Errorf("a second one at a time: %v", err)
		}
		<-room.backing
		second := mustBackup(t, room)
		if _, err := os.Stat(left); err == nil {
			t.Error("what was left half made is still there")
		}
		listed, err := room.Backups(t.Context())
		if err != nil || len(listed) != 2 || listed[0].Name != second.Name {
			t.Errorf("newest first: %+v, %v", listed, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := room.Backup(ctx, "ann"); err == nil {
			t.Error("made for nobody")
		}
		files, err := os.ReadDir(room.backups())
		if err != nil || len(files) != 2 {
			t.Errorf("what was given up has left %v, %v", files, err)
		}
	})
}

// A page that is open in many tabs must not have the whole database read for each of them.
func TestDoctorLooksOnceForManyWhoAsk(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		room.live = func(row ledger.Plugin) ledger.Plugin { row.State = pluginsdk.PluginServing; return row }
		register(t, room.config, ledger.Plugin{Path: filepath.Join(room.config.Plugins, "time"), PluginInfo: pluginsdk.PluginInfo{Name: "time", Enabled: true}})
		began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var mu sync.Mutex
		asked := 0
		room.now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return began.Add(time.Duration(asked) * time.Second)
		}
		room.looking <- struct{}{}
		const many = 5
		var waiting sync.WaitGroup
		answers := make([][]pluginsdk.Check, many)
		for n := range many {
			waiting.Go(func() { answers[n], _ = room.Doctor(t.Context()) })
		}
		for { // until all have asked
			mu.Lock()
			all := asked == many
			mu.Unlock()
			if all {
				break
			}
			runtime.Gosched()
		}
		<-room.looking
		waiting.Wait()
		if asked != many+1 {
			t.Errorf("%d looked", asked-many)
		}
		for _, checks := range answers {
			n := slices.IndexFunc(checks, func(check pluginsdk.Check) bool { return check.Name == "plugin time" })
			if n < 0 || checks[n].State != pluginsdk.CheckOK || checks[n].Detail != "serving" || checks[n].Remedy != "" {
				t.Errorf("%+v", checks)
			}
			n = slices.IndexFunc(checks, func(check pluginsdk.Check) bool { return check.Name == "port" })
			if n < 0 || checks[n].State != pluginsdk.CheckFailing || checks[n].Remedy == "" {
				t.Errorf("nobody listens, and that is not said: %+v", checks)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if checks, err := room.Doctor(ctx); err == nil {
			t.Errorf("what was not looked at is told: %+v", checks)
		}
	})
}

func TestThePauseIsTurnedAndSaysWhoHas(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		was, is, err := room.SetPause(t.Context(), "ann (plugin:web)", true)
		if err != nil || was != (pluginsdk.Pause{}) || !is.Paused || is.Who != "ann (plugin:web)" || is.Since.IsZero() {
			t.Errorf("%+v %+v %v", was, is, err)
		}
		if held, err := room.Pause(t.Context()); err != nil || held != is {
			t.Errorf("it is %+v, %v; want %+v", held, err, is)
		}
		again, same, err := room.SetPause(t.Context(), "ben", true)
		if err != nil || again != is || same != is {
			t.Errorf("%+v %+v %v", again, same, err)
		}
		was, is, err = room.SetPause(t.Context(), "ben", false)
		if err != nil || was != same || is.Paused || is.Who != "ben" {
			t.Errorf("%+v %+v %v", was, is, err)
		}
		checks, err := room.Doctor(t.Context())
		if err != nil || slices.ContainsFunc(checks, func(check pluginsdk.Check) bool { return strings.Contains(check.Name, "paused") }) {
			t.Errorf("%+v, %v", checks, err)
		}
	})
}

// A backup that was made before this is not in the next.
func TestBackupsAreNotInBackups(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		if err := os.MkdirAll(room.config.workspace(), 0o700); err != nil {
			t.Fatal(err)
		}
		big := filepath.Join(room.backups(), "mine.backup")
		if err := os.MkdirAll(room.backups(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(big, bytes.Repeat([]byte("0123456789abcdef"), 1<<16), 0o600); err != nil {
			t.Fatal(err)
		}
		if made := mustBackup(t, room); made.Size > 1<<19 {
			t.Errorf("it has %d bytes", made.Size)
		}
	})
}

// What plugins find is asked for when somebody looks, and not for long.
func TestDoctorAsksThePluginsAnew(t *testing.T) {
	anInstallation(t, func(t *testing.T, room *installationRoom) {
		asked := 0
		room.anew = func(ctx context.Context) {
			if until, bounded := ctx.Deadline(); bounded && time.Until(until) <= checkPatience {
				asked++
			}
		}
		if _, err := room.Doctor(t.Context()); err != nil || asked != 1 {
			t.Errorf("they were asked %d times, %v", asked, err)
		}
	})
}
