package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A thread's own directory is there for each turn, wherever the data directory is now, and
// nobody can put another in its place.
func TestAThreadsOwnDirectory(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := ledger.ThreadDirectory(w.config.Threads, w.thread)
		for _, cwd := range []string{own, ledger.ThreadDirectory("/moved/threads", w.thread)} {
			for range 2 { // made, and again when it is missing
				dir, apart, err := w.room.Directory(t.Context(), pluginsdk.Thread{ID: w.thread, Cwd: cwd})
				if stat, statErr := os.Stat(own); err != nil || dir != own || !apart || statErr != nil || !stat.IsDir() {
					t.Fatalf("%s: %q, apart %v, %v, %v", cwd, dir, apart, err, statErr)
				}
				if err := os.Remove(own); err != nil {
					t.Fatal(err)
				}
			}
		}
		memory := t.TempDir()
		if err := os.Symlink(memory, own); err != nil {
			t.Fatal(err)
		}
		_, _, err := w.room.Directory(t.Context(), pluginsdk.Thread{ID: w.thread, Cwd: own})
		wantCode(t, err, pluginsdk.CodeInternal)

		for _, cwd := range []string{"", "/srv/garden"} {
			if dir, apart, err := w.room.Directory(t.Context(), pluginsdk.Thread{ID: w.thread, Cwd: cwd}); dir != cwd || apart || err != nil {
				t.Errorf("of another in %q: %q, apart %v, %v", cwd, dir, apart, err)
			}
		}
	})
}

// What a thread apart has others do is not shown more than itself is, wherever a plugin has
// that done.
func TestTasksOfAThreadApartAreApart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		top, _, err := w.store.CreateThread(ctx, pluginsdk.NewThread{Source: "chat", SourceID: "room"})
		if err != nil {
			t.Fatal(err)
		}
		task := func(parent string) pluginsdk.Thread {
			made, _, err := w.store.CreateThread(ctx, pluginsdk.NewThread{Source: "task", SourceID: parent, Kind: pluginsdk.ThreadTask, ParentThreadID: parent, Cwd: "/worktree"})
			if err != nil {
				t.Fatal(err)
			}
			return made
		}
		worker := task(task(top.ID).ID)
		for _, want := range []bool{false, true} {
			if dir, apart, err := w.room.Directory(ctx, worker); dir != "/worktree" || apart != want || err != nil {
				t.Errorf("%q, apart %v, %v; want %v", dir, apart, err, want)
			}
			own := ledger.ThreadDirectory(w.config.Threads, top.ID)
			if _, err := w.store.UpdateThread(ctx, top.ID, pluginsdk.ThreadPatch{Cwd: &own}); err != nil {
				t.Fatal(err)
			}
			if worker, err = w.store.Thread(ctx, worker.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a deleted thread has had for itself goes with it.
func TestTheOwnDirectoryOfADeletedThreadGoes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		made, _, err := w.store.CreateThread(t.Context(), pluginsdk.NewThread{Source: "chat", SourceID: "room"})
		if err != nil {
			t.Fatal(err)
		}
		made.Cwd = ledger.ThreadDirectory(w.config.Threads, made.ID)
		dir, _, err := w.room.Directory(t.Context(), made)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "note.md"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := w.store.DeleteThread(t.Context(), made.ID, "test"); err != nil {
			t.Fatal(err)
		}
		w.sweep()
		if _, err := os.Lstat(filepath.Dir(dir)); !os.IsNotExist(err) {
			t.Errorf("its directory is there: %v", err)
		}
	})
}
