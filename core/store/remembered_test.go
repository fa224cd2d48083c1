package store_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store/storetest"
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
	byHand, err := sql.Open("sqlite", "file:"+filepath.Join(config.Dir, "harness.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer byHand.Close()
	if _, err := byHand.ExecContext(t.Context(), "UPDATE plugins SET enabled = 0"); err != nil {
		t.Fatal(err)
	}
	enabled(false)
}
