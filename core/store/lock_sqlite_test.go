package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What is accepted into a file that nobody can open any more is lost at the next start: the
// daemon must notice, and may go on when its file is there again.
func TestADatabaseThatIsTakenAwayIsNoticed(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", []byte("another"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"its log is deleted":     func(path string) error { return os.Remove(path + "-wal") },
		"its directory is moved": func(path string) error { return os.Rename(filepath.Dir(path), filepath.Dir(path)+".away") },
	} {
		t.Run(name, func(t *testing.T) {
			config, lease := lockedSQLite(t)
			path, kept := filepath.Join(config.Dir, "harness.db"), filepath.Join(t.TempDir(), "kept")
			check(t, os.Link(path, kept))
			check(t, os.Link(path+"-wal", kept+"-wal"))
			check(t, lease.Regain(t.Context())) // it has been looked at once
			check(t, take(path))
			wantLost(t, lease)
			check(t, os.MkdirAll(config.Dir, 0o700))
			check(t, os.Rename(kept, path))
			check(t, os.Rename(kept+"-wal", path+"-wal"))
			check(t, lease.Regain(t.Context()))
			select {
			case <-lease.Lost():
				t.Error("it is back, and counts as lost")
			default:
			}
		})
	}
}

// A database that somebody has cut is no longer what the daemon has written, although it is the
// same file.
func TestADatabaseThatIsCutIsNoticed(t *testing.T) {
	config, lease := lockedSQLite(t)
	path := filepath.Join(config.Dir, "harness.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check(t, os.Truncate(path, int64(len(whole)/2)))
	wantLost(t, lease)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(whole, 0)
	check(t, errors.Join(err, file.Close()))
	check(t, lease.Regain(t.Context()))
}

// lockedSQLite is a database that a daemon has open.
func lockedSQLite(t *testing.T) (store.Config, *store.Lease) {
	t.Helper()
	config := storetest.SQLite(t)
	s, lease, err := store.OpenLocked(t.Context(), config, "boot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		lease.Release()
		_ = s.Close()
	})
	return config, lease
}

// wantLost waits until the daemon has noticed that its database is not there as it was.
func wantLost(t *testing.T, lease *store.Lease) {
	t.Helper()
	select {
	case <-lease.Lost():
	case <-time.After(10 * time.Second):
		t.Fatal("nobody notices")
	}
	wantCode(t, lease.Regain(t.Context()), pluginsdk.CodeUnavailable)
}
