package scratch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/plugins/internal/scratch"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/plugintest"
)

// A place is found again after a restart, and made again when somebody has written into it.
func TestAPlaceIsFoundAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := plugintest.NewHost().SDK().State
	place := func() string {
		t.Helper()
		dir, err := (&scratch.Place{Key: "desk", Prefix: "x-", Check: scratch.Empty}).Dir(t.Context(), state)
		if err != nil || scratch.Empty(dir) != nil {
			t.Fatal(dir, err)
		}
		return dir
	}
	first := place()
	if again := place(); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if err := os.WriteFile(filepath.Join(first, "CLAUDE.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if other := place(); other == first {
		t.Errorf("%s has a file, and is used", first)
	}
}

// What is in a task's directory goes with it, read-only or not; an id that is no name has none.
func TestATasksDirectoryIsForgotten(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	state := plugintest.NewHost().SDK().State
	place := &scratch.Place{Key: "works", Prefix: "x-"}
	if err := place.Forget(t.Context(), state, "T1"); err != nil {
		t.Error(err)
	}
	dir, err := place.Of(t.Context(), state, "T1")
	if err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(filepath.Join(locked, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(locked, 0o500); err != nil { //nolint:gosec // it is a directory
		t.Fatal(err)
	}
	if err := place.Forget(t.Context(), state, "T1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	for _, id := range []string{"", "..", "a/b", ".x"} {
		if dir, err := place.Of(t.Context(), state, id); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%q: %s, %v", id, dir, err)
		}
		if err := place.Forget(t.Context(), state, id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}
