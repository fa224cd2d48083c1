package threads

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shelf is a Store in memory.
type shelf struct {
	mu       sync.Mutex
	changed  chan struct{} // closed at each change, and made anew
	threads  map[string]pluginsdk.Thread
	left     map[string]bool // removals
	audits   []string
	branches []ledger.Branch
	inUse    error         // of DeleteThread
	away     int           // how many removals fail yet
	broken   string        // the thread whose removal always fails
	copying  chan struct{} // what a branch waits for; nil: nothing
	begun    chan struct{} // takes a value when a branch has begun
}

func newShelf() *shelf {
	return &shelf{
		changed: make(chan struct{}), begun: make(chan struct{}, 10), left: make(map[string]bool),
		threads: map[string]pluginsdk.Thread{
			"0198c5c0-aaaa-7000-8000-0123456789ab": {
				ID: "0198c5c0-aaaa-7000-8000-0123456789ab", Name: "plans", Source: "discord", SourceID: "1", Kind: pluginsdk.ThreadGeneral,
				Status: pluginsdk.ThreadActive, BusyMode: pluginsdk.BusyQueue, Model: "haiku",
			},
		},
	}
}

// touched tells who waits. The caller holds the lock.
func (s *shelf) touched() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits for something to be so.
func (s *shelf) until(t *testing.T, what string, so func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		s.mu.Lock()
		done, changed := so(), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (s *shelf) CreateThread(_ context.Context, n pluginsdk.NewThread) (pluginsdk.Thread, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := pluginsdk.Thread{ID: fmt.Sprintf("thread-%d", len(s.threads)), Name: n.Name, Source: n.Source, SourceID: n.SourceID}
	s.threads[made.ID] = made
	return made, true, nil
}

func (s *shelf) UpdateThread(_ context.Context, id string, patch pluginsdk.ThreadPatch) (pluginsdk.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thread, ok := s.threads[id]
	if !ok {
		return thread, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread %s", id)
	}
	for field, value := range map[*string]*string{
		&thread.Name: patch.Name, &thread.Model: patch.Model, &thread.Effort: patch.Effort, &thread.PermissionMode: patch.PermissionMode,
		&thread.Cwd: patch.Cwd, &thread.Instructions: patch.Instructions, &thread.AskTools: patch.AskTools,
	} {
		if value != nil {
			*field = *value
		}
	}
	if patch.Status != nil {
		thread.Status = *patch.Status
	}
	if patch.BusyMode != nil {
		thread.BusyMode = *patch.BusyMode
	}
	s.threads[id] = thread
	return thread, nil
}

func (s *shelf) DeleteThread(_ context.Context, id, who string) (pluginsdk.Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thread, ok := s.threads[id]
	switch {
	case s.inUse != nil:
		return thread, s.inUse
	case !ok:
		return thread, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no thread %s", id)
	}
	delete(s.threads, id)
	s.left[id] = true
	s.audits = append(s.audits, who+" deletes "+id)
	s.touched()
	return thread, nil
}

func (s *shelf) Removals(context.Context) (ids []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.left)), nil
}

func (s *shelf) RemoveThread(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touched()
	if s.away > 0 {
		s.away--
		return errors.New("the database is away")
	}
	if id == s.broken {
		return errors.New("one of its rows cannot be read")
	}
	delete(s.left, id)
	return nil
}

// BranchThread leaves a half copy behind when its context ends.
func (s *shelf) BranchThread(ctx context.Context, branch ledger.Branch) (pluginsdk.Thread, bool, error) {
	s.mu.Lock()
	s.branches = append(s.branches, branch)
	s.left[branch.ID] = true
	copying := s.copying
	s.touched()
	s.mu.Unlock()
	s.begun <- struct{}{}
	if copying != nil {
		select {
		case <-copying:
		case <-ctx.Done():
			return pluginsdk.Thread{}, false, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.touched()
	if !s.left[branch.ID] {
		return pluginsdk.Thread{}, false, errors.New("the copies were removed while they were made")
	}
	delete(s.left, branch.ID)
	made := pluginsdk.Thread{ID: branch.ID, Name: "plans", Source: branch.Thread.Source, SourceID: branch.Thread.SourceID}
	s.threads[made.ID] = made
	return made, true, nil
}

func (s *shelf) PermitThread(ctx context.Context, id string, patch pluginsdk.ThreadPatch, who, detail string) (pluginsdk.Thread, error) {
	thread, err := s.UpdateThread(ctx, id, patch)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.audits = append(s.audits, who+" permits "+detail)
	}
	return thread, err
}

// told remembers the events.
type told struct {
	mu    sync.Mutex
	kinds []pluginsdk.EventType
}

func (e *told) Publish(kind pluginsdk.EventType, _ string, _ any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kinds = append(e.kinds, kind)
}

// open is a room that has been started. It looks when it is told, and not before long by itself.
func open(t *testing.T, store *shelf) (*Room, *told) {
	t.Helper()
	events := &told{}
	room := New(Config{RetryBase: time.Millisecond, Sweep: time.Hour}, store, events)
	if err := room.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := room.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return room, events
}
