package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shelf is a Store in memory.
type shelf struct {
	mu      sync.Mutex
	changed chan struct{} // closed when something is stored, and made anew
	changes []pluginsdk.WorkspaceChange
	texts   map[string]string
	away    bool
}

func newShelf() *shelf { return &shelf{changed: make(chan struct{}), texts: make(map[string]string)} }

func (s *shelf) WorkspaceHeads(context.Context) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heads := make(map[string]string)
	for _, change := range s.changes {
		if change.Kind == pluginsdk.ChangeRefused {
			continue
		}
		heads[change.Path] = change.Version
		if change.Version == "" {
			delete(heads, change.Path)
		}
	}
	return heads, nil
}

func (s *shelf) RecordChanges(_ context.Context, changes []ledger.ContextChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return errors.New("the database is away")
	}
	for _, change := range changes {
		change.ID = int64(len(s.changes) + 1)
		s.changes = append(s.changes, change.WorkspaceChange)
		if change.Text != nil {
			s.texts[change.Version] = string(change.Text)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

func (s *shelf) WorkspaceHistory(context.Context, pluginsdk.WorkspaceHistoryRequest) ([]pluginsdk.WorkspaceChange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := slices.Clone(s.changes)
	slices.Reverse(found)
	return found, nil
}

func (s *shelf) WorkspaceText(_ context.Context, path, version string) (pluginsdk.WorkspaceChange, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range s.changes {
		if change.Path == path && change.Version == version {
			return change, s.texts[version], nil
		}
	}
	return pluginsdk.WorkspaceChange{}, "", pluginsdk.Errorf(pluginsdk.CodeNotFound, "none")
}

// clock is set by the test, and so are the times of files.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

type fixture struct {
	*testing.T
	*Room
	store *shelf
	dir   string
	clock *clock
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	f := fixture{T: t, store: newShelf(), dir: t.TempDir(), clock: &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	f.Room = New(Config{Dir: f.dir, Now: f.clock.Now}, f.store)
	return f
}

// pass lets time go by.
func (f fixture) pass() time.Time {
	f.clock.mu.Lock()
	defer f.clock.mu.Unlock()
	f.clock.now = f.clock.now.Add(time.Second)
	return f.clock.now
}

// put writes a file past the room, now, and at once: a look meanwhile sees it wholly or not.
func (f fixture) put(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(path+".put", []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
	f.setTime(name+".put", f.pass())
	if err := os.Rename(path+".put", path); err != nil {
		f.Fatal(err)
	}
}

func (f fixture) setTime(name string, at time.Time) {
	f.Helper()
	if err := os.Chtimes(filepath.Join(f.dir, name), at, at); err != nil {
		f.Fatal(err)
	}
}

// onDisk is what a file says; empty: it is not there.
func (f fixture) onDisk(name string) string {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.Fatal(err)
	}
	return string(text)
}

func (f fixture) see() {
	f.Helper()
	if _, err := f.List(f.Context()); err != nil {
		f.Fatal(err)
	}
}

func (f fixture) version(name string) string {
	f.Helper()
	file, _, err := f.Read(f.Context(), name, "")
	if err != nil {
		f.Fatal(err)
	}
	return file.Version
}

// history is who has changed what, oldest first: PATH KIND RUN AUTHOR.
func (f fixture) history() (lines []string) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, change := range f.store.changes {
		lines = append(lines, change.Path+" "+string(change.Kind)+" "+change.RunID+" "+change.Author)
	}
	return lines
}

func (f fixture) write(name, text, version string) error {
	_, err := f.Write(f.Context(), pluginsdk.WriteWorkspaceRequest{Path: name, Text: text, Version: version}, ledger.By{Plugin: "web", Author: "ann"})
	return err
}

func (f fixture) code(what string, err error, want pluginsdk.Code) {
	f.Helper()
	if pluginsdk.CodeOf(err) != want {
		f.Errorf("%s: %v, want %q", what, err, want)
	}
}
