package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two writes that block each other: the server ends one of them, and it is
// repeated without its caller hearing of it.
func TestDeadlockIsRepeated(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.Postgres(t))
	a, b := newThread(t, s, "a").ID, newThread(t, s, "b").ID
	var attempts atomic.Int64
	var both sync.WaitGroup
	both.Add(2)
	cross := func(first, other string) error {
		met := false
		return s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error {
			attempts.Add(1)
			if err := tx.Run1(ctx, "UPDATE threads SET name = name || '!' WHERE id = $1", first); err != nil {
				return err
			}
			if !met { // only the first attempts must meet
				met = true
				both.Done()
				both.Wait()
			}
			return tx.Run1(ctx, "UPDATE threads SET name = name || '!' WHERE id = $1", other)
		})
	}
	var group sync.WaitGroup
	group.Go(func() { check(t, cross(a, b)) })
	group.Go(func() { check(t, cross(b, a)) })
	group.Wait()
	if n := attempts.Load(); n < 3 {
		t.Errorf("%d attempts: there was no deadlock to repeat", n)
	}
	for _, id := range []string{a, b} {
		if got := must[pluginsdk.Thread](t)(s.Thread(context.Background(), id)); got.Name != "!!" {
			t.Errorf("thread's name is %q, want both writes in it", got.Name)
		}
	}
}

// The server goes away in the middle of a write: the caller is told that it
// may try again, and later writes find a new connection.
func TestLostConnection(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.Postgres(t))
	err := s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Run1(ctx, "SELECT pg_terminate_backend(pg_backend_pid())"); err != nil {
			return err
		}
		return tx.Run1(ctx, "SELECT 1")
	})
	wantCode(t, store.Wrap("write", err), pluginsdk.CodeUnavailable)
	check(t, s.Audit(context.Background(), "ann", "again", "", ""))
}
