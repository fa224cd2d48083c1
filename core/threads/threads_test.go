package threads

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const plans = "0198c5c0-aaaa-7000-8000-0123456789ab"

// What a deleted thread has left goes, however often the database is away, and whatever an
// earlier daemon has left goes as well.
func TestWhatIsLeftIsRemoved(t *testing.T) {
	store := newShelf()
	store.left["of an earlier daemon"] = true
	store.away = 3
	room, events := open(t, store)
	if err := room.Delete(t.Context(), plans, "ann"); err != nil {
		t.Fatal(err)
	}
	store.until(t, "the removal", func() bool { return len(store.left) == 0 })
	if err := room.Delete(t.Context(), plans, "ann"); err != nil {
		t.Errorf("one that does not exist: %v", err)
	}
	if !slices.Equal(events.kinds, []pluginsdk.EventType{pluginsdk.EventThreadDeleted}) || !slices.Equal(store.audits, []string{"ann deletes " + plans}) {
		t.Errorf("told %q, noted %q", events.kinds, store.audits)
	}
	store.inUse = pluginsdk.Errorf(pluginsdk.CodeStale, "in use")
	if err := room.Delete(t.Context(), "other", "ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("one in use: %v", err)
	}
}

// A thread of which something cannot be removed keeps nothing of the others there.
func TestOneRemovalThatFailsHoldsUpNoOther(t *testing.T) {
	store := newShelf()
	store.left["a"], store.left["b"], store.broken = true, true, "a"
	open(t, store)
	store.until(t, "the removal of the other", func() bool { return !store.left["b"] })
	store.mu.Lock()
	defer store.mu.Unlock()
	if !store.left["a"] {
		t.Error("the one that fails is taken for removed")
	}
}

// The copies of a branch stand where a deleted thread's rows do until it is complete: the
// removal must not take them while they are made, and must when the branch fails.
func TestABranchIsNotRemovedWhileItIsMade(t *testing.T) {
	store := newShelf()
	store.copying = make(chan struct{})
	room, events := open(t, store)
	branch := ledger.Branch{From: plans, Thread: pluginsdk.NewThread{Source: "web", SourceID: "b"}}
	done := make(chan error, 1)
	go func() {
		_, created, err := room.Branch(context.Background(), branch)
		if err == nil && !created {
			err = errors.New("it was there before")
		}
		done <- err
	}()
	<-store.begun
	store.mu.Lock()
	store.left["something else"] = true
	store.mu.Unlock()
	room.background.Wake()
	store.until(t, "a removal beside the branch", func() bool { return !store.left["something else"] })

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := room.Branch(ctx, branch); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
		t.Errorf("a second branch meanwhile: %v", err)
	}
	close(store.copying)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(events.kinds, []pluginsdk.EventType{pluginsdk.EventThreadCreated}) {
		t.Errorf("told %q", events.kinds)
	}

	store.mu.Lock()
	store.copying = make(chan struct{})
	store.mu.Unlock()
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, _, err := room.Branch(ctx, branch)
		done <- err
	}()
	<-store.begun
	cancel()
	if err := <-done; err == nil {
		t.Error("a branch that was given up was made")
	}
	store.until(t, "the removal of half a branch", func() bool { return len(store.left) == 0 })
}
