package files_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/files"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// world is a room with a database, whose disk and clock a test has in its hand.
type world struct {
	t      *testing.T
	dir    string
	store  *store.Store
	config files.Config
	room   *files.Room
	thread string

	mu   sync.Mutex
	now  time.Time
	fail map[string]error // by the step's name
	do   map[string]func()
	tick chan time.Time
}

func each(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { test(t, newWorld(t, s)) })
}

func newWorld(t *testing.T, s *store.Store) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), store: s, now: time.Now(), fail: map[string]error{}, do: map[string]func(){}, tick: make(chan time.Time)}
	made, _, err := s.CreateThread(t.Context(), pluginsdk.NewThread{Source: "web", SourceID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	w.thread = made.ID
	w.config = files.Config{
		Dir: filepath.Join(w.dir, "files"), Threads: filepath.Join(w.dir, "threads"), MaxFile: 1 << 20, Quota: 4 << 20,
		Now:   func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		After: func(time.Duration) <-chan time.Time { return w.tick },
		Fault: w.fault,
	}
	w.open()
	return w
}

// open starts a room anew, as a daemon does after another has died.
func (w *world) open() {
	w.t.Helper()
	if w.room != nil {
		_ = w.room.Stop(w.t.Context()) // its sweeps; what it has in memory is forgotten with it
	}
	w.room = files.New(w.config, w.store)
	if err := w.room.Start(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = w.room.Stop(context.Background()) })
}

func (w *world) failing(step string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail[step] = err
}

// on has something done before a step.
func (w *world) on(step string, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.do[step] = do
}

func (w *world) fault(step string) error {
	w.mu.Lock()
	do := w.do[step]
	w.mu.Unlock()
	if do != nil {
		do()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fail[step]
}

func (w *world) later(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(by)
}

// sweep has the room sweep, and returns when it has.
func (w *world) sweep() {
	w.tick <- time.Time{}
	w.tick <- time.Time{} // taken only when the first one is done
}

func (w *world) begin(name string, size int) string {
	w.t.Helper()
	id, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: name, Size: int64(size), ThreadID: w.thread, Author: "ann"})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) put(name string, data []byte) (pluginsdk.File, error) {
	id, err := w.room.Begin("web", pluginsdk.BeginFileRequest{Name: name, Size: int64(len(data)), ThreadID: w.thread, Author: "ann"})
	if err != nil {
		return pluginsdk.File{}, err
	}
	for offset := 0; offset < len(data); {
		n := min(len(data)-offset, 100_000)
		if _, err := w.room.Write("web", pluginsdk.WriteFileRequest{UploadID: id, Offset: int64(offset), Data: data[offset : offset+n]}); err != nil {
			return pluginsdk.File{}, err
		}
		offset += n
	}
	return w.room.Commit(w.t.Context(), "web", pluginsdk.CommitFileRequest{UploadID: id})
}

func (w *world) must(file pluginsdk.File, err error) pluginsdk.File {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	return file
}

// onDisk are the names of all files below the directory of the bytes.
func (w *world) onDisk() (names []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.config.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, entry.Name())
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

func (w *world) reads(file pluginsdk.File, want []byte) {
	w.t.Helper()
	var got []byte
	for {
		data, err := w.room.Read(w.t.Context(), pluginsdk.ReadFileRequest{ID: file.ID, Offset: int64(len(got)), Limit: 70_000})
		if err != nil {
			w.t.Fatalf("read %s: %s", file.ID, err)
		}
		if len(data) == 0 {
			break
		}
		got = append(got, data...)
	}
	if !bytes.Equal(got, want) {
		w.t.Errorf("%d bytes instead of %d, or others", len(got), len(want))
	}
}

// sound wants every row to have its bytes.
func (w *world) sound() {
	w.t.Helper()
	found, err := files.Inspect(w.t.Context(), w.config.Dir, w.store)
	if err != nil || len(found.Problems) > 0 {
		w.t.Errorf("%v, %q", err, found.Problems)
	}
}

// outbox writes a file as the agent does.
func (w *world) outbox(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.config.Threads, w.thread, "out", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func wantCode(t *testing.T, err error, code pluginsdk.Code) {
	t.Helper()
	if pluginsdk.CodeOf(err) != code {
		t.Errorf("%v (%s); want %s", err, pluginsdk.CodeOf(err), code)
	}
}
