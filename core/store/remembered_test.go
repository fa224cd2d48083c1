package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What operators change by SQL, past the daemon, is seen by the next reading, and so is what the
// daemon writes itself.
func TestTheRegistryIsReadAnewOnceItHasChanged(t *testing.T) {
	config := storetest.SQLite(t)
	s := storetest.OpenConfig(t, config)
	var row ledger.Plugin
	row.Name, row.Path = "one", "/one"
	enabled := func(want bool) {
		t.Helper()
		for range 2 { // the second time from memory
			rows, err := s.Plugins(t.Context())
			if err != nil || len(rows) != 1 || rows[0].Enabled != want {
				t.Errorf("read %+v, %v; want it enabled: %v", rows, err, want)
			}
		}
	}
	if err := s.RegisterPlugin(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	enabled(false)
	if err := s.SetPluginEnabled(t.Context(), "one", true); err != nil {
		t.Fatal(err)
	}
	enabled(true)
	bySQL(t, config, "UPDATE plugins SET enabled = 0")
	enabled(false)
}

// It is seen also where the write-ahead log has the size that it had: SQLite writes it from its
// beginning again. Then its time tells, unless both writes are of one tick of the file system's clock.
func TestAChangeIsSeenInALogOfTheSameSize(t *testing.T) {
	config := storetest.SQLite(t)
	s := storetest.OpenConfig(t, config)
	log := filepath.Join(config.Dir, "harness.db-wal")
	look := func(on bool) os.FileInfo {
		t.Helper()
		for range 2 {
			if lever, err := s.Lever(t.Context(), ledger.LeverPause); err != nil || lever.On != on {
				t.Errorf("read %+v, %v; want it on: %v", lever, err, on)
			}
		}
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	turn := func(on string) {
		bySQL(t, config, "PRAGMA wal_checkpoint(RESTART)")
		bySQL(t, config, `UPDATE levers SET "on" = `+on)
	}
	written := func(at time.Time) {
		if err := os.Chtimes(log, at, at); err != nil {
			t.Fatal(err)
		}
	}
	set := func(on bool) {
		if err := s.SetLever(t.Context(), ledger.LeverPause, on, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	set(true)
	turn("1")
	before := look(true)
	turn("0")
	written(before.ModTime())
	look(false)
	long := time.Now().Add(-time.Hour)
	written(long)
	look(false)
	turn("1")
	if after := look(true); after.Size() != before.Size() {
		t.Errorf("the log had %d bytes, and has %d: the test does not show what it is for", before.Size(), after.Size())
	}
	// A commit is seen only when SQLite has written its index, which may be long after the log:
	// at once that of this process, and after a while that of another one.
	written(long)
	look(true)
	set(false)
	written(long)
	look(false)
	turn("1")
	written(long)
	s.AgeVersion(time.Minute)
	look(true)
}

// The same holds for levers, each of which is remembered by its name.
func TestALeverIsReadAnewOnceItHasChanged(t *testing.T) {
	config := storetest.SQLite(t)
	s := storetest.OpenConfig(t, config)
	stands := func(pause, dev bool) {
		t.Helper()
		for range 2 {
			for name, want := range map[string]bool{ledger.LeverPause: pause, ledger.LeverDev: dev} {
				if lever, err := s.Lever(t.Context(), name); err != nil || lever.On != want {
					t.Errorf("%s: read %+v, %v; want it on: %v", name, lever, err, want)
				}
			}
		}
	}
	stands(false, false)
	if err := s.SetLever(t.Context(), ledger.LeverPause, true, "ann"); err != nil {
		t.Fatal(err)
	}
	stands(true, false)
	bySQL(t, config, "UPDATE levers SET \"on\" = 0")
	stands(false, false)
}

// A token that another process revokes is among those that are revoked at the next reading, and
// only among those since an instant before it.
func TestRevokedTokensAreReadAnewOnceThereIsOne(t *testing.T) {
	config := storetest.SQLite(t)
	s := storetest.OpenConfig(t, config)
	for _, id := range []string{"first", "second"} {
		token := ledger.Token{Token: pluginsdk.Token{ID: id, Name: id, Kind: pluginsdk.TokenAccess, Scope: pluginsdk.ScopeRead}, Hash: id}
		if err := s.AddToken(t.Context(), token, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	revoked := func(since time.Time, want ...string) {
		t.Helper()
		for range 2 {
			if ids, err := s.RevokedTokens(t.Context(), since); err != nil || !slices.Equal(ids, want) {
				t.Errorf("since %s: read %q, %v; want %q", since, ids, err, want)
			}
		}
	}
	revoked(noon)
	bySQL(t, config, "UPDATE tokens SET revoked_at = '2026-11-28 12:20:00+00:00' WHERE id = 'first'")
	revoked(noon, "first")
	revoked(noon.Add(20*time.Minute), "first")
	revoked(noon.Add(21 * time.Minute)) // of the same hour
	revoked(noon.Add(-time.Hour), "first")
	bySQL(t, config, "UPDATE tokens SET revoked_at = '2026-11-28 11:30:00+00:00' WHERE id = 'second'")
	revoked(noon, "first")
	revoked(noon.Add(-time.Hour), "first", "second")
}

// bySQL changes the database past the store.
func bySQL(t *testing.T, config store.Config, statement string) {
	t.Helper()
	database, err := sql.Open("sqlite", "file:"+filepath.Join(config.Dir, "harness.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	if _, err := database.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
