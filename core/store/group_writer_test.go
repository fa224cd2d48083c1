package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// hold occupies the writer until release is called, so that what is handed in
// meanwhile becomes one batch.
func hold(t *testing.T, s *store.Store) (release func()) {
	t.Helper()
	holding, free := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- s.Write(context.Background(), false, func(context.Context, *store.Tx) error {
			close(holding)
			<-free
			return nil
		})
	}()
	<-holding
	return func() {
		t.Helper()
		close(free)
		check(t, <-done)
	}
}

// insert is a closure that audits name, and then does what more says.
func insert(name string, more func() error) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		err := tx.Run1(ctx, "INSERT INTO audit_entries (id, who, action, created_at) VALUES ($1, 'test', 'x', '2026-01-01')", name)
		return errors.Join(err, more())
	}
}

func stored(t *testing.T, s *store.Store) int {
	t.Helper()
	return len(must[[]store.AuditEntry](t)(s.AuditEntries(context.Background(), "", 1000)))
}

// Many writers must not each wait for the disk: they share a COMMIT. And one
// that fails, or panics, must not take the others with it.
func TestGroupCommit(t *testing.T) {
	s := storetest.Open(t)
	boom := errors.New("boom")
	const writes = 60
	before := s.Commits()
	release := hold(t, s)
	errs := make([]error, writes)
	var done sync.WaitGroup
	for i := range writes {
		more := func() error { return nil }
		switch i % 10 {
		case 3:
			more = func() error { return boom }
		case 6:
			more = func() error { panic("boom") }
		}
		done.Go(func() { errs[i] = s.Write(context.Background(), i%2 == 0, insert(fmt.Sprint(i), more)) })
	}
	waiting(s, writes)
	release()
	done.Wait()
	for i, err := range errs {
		switch i % 10 {
		case 3:
			if !errors.Is(err, boom) {
				t.Errorf("write %d: %v, want its own error", i, err)
			}
		case 6:
			wantCode(t, err, pluginsdk.CodeInternal)
		default:
			check(t, err)
		}
	}
	if n, want := stored(t, s), writes*8/10; n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
	// One each for counting, for holding the writer, and for all the rest.
	if commits := s.Commits() - before; commits != 3 {
		t.Errorf("%d commits for %d writes, want 3", commits, writes+2)
	}
}

// waiting returns once n writes wait for the writer.
func waiting(s *store.Store, n int) {
	for s.Pending() < n {
		runtime.Gosched()
	}
}

// A write that is alone in its transaction is rolled back alone, too.
func TestFailedWriteLeavesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		boom := errors.New("boom")
		err := s.Write(context.Background(), true, insert("a", func() error { return boom }))
		if !errors.Is(err, boom) {
			t.Errorf("got %v", err)
		}
		wantCode(t, s.Write(context.Background(), true, insert("b", func() error { panic("boom") })), pluginsdk.CodeInternal)
		check(t, s.Write(context.Background(), true, insert("c", func() error { return nil })))
		if n := stored(t, s); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	})
}

// A transaction that cannot be rolled back must not be the last one: everything
// that people send afterwards would be refused until a restart.
func TestWriterGoesOnAfterAFailedRollback(t *testing.T) {
	config := storetest.SQLite(t)
	s := storetest.OpenConfig(t, config)
	ctx, boom := context.Background(), errors.New("boom")
	fail := func() {
		t.Helper()
		s.BreakRollback()
		if err := s.Write(ctx, true, insert("lost", func() error { return boom })); !errors.Is(err, boom) {
			t.Errorf("got %v, want the write's own error", err)
		}
	}
	fail()
	check(t, s.Write(ctx, true, insert("a", func() error { return nil })))
	check(t, s.Write(ctx, false, insert("b", func() error { return nil })))

	// The file is away at the very moment: refused, and taken when it is back.
	fail()
	elsewhere := config.Dir + " elsewhere"
	check(t, os.Rename(config.Dir, elsewhere))
	wantCode(t, store.Wrap("write", s.Write(ctx, true, insert("c", func() error { return nil }))), pluginsdk.CodeUnavailable)
	check(t, os.Rename(elsewhere, config.Dir))
	check(t, s.Write(ctx, true, insert("c", func() error { return nil })))
	if n := stored(t, s); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// Who gives up before its turn has written nothing; who gives up later has
// written all of it, and is told so.
func TestGivingUp(t *testing.T) {
	s := storetest.Open(t)
	release := hold(t, s)
	early, cancel := context.WithCancel(context.Background())
	cancel()
	queued, cancelQueued := context.WithCancel(context.Background())
	gaveUp := make(chan error, 1)
	go func() { gaveUp <- s.Write(queued, true, insert("waiting", func() error { return nil })) }()
	waiting(s, 1)
	cancelQueued()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("gave up while waiting: %v", err)
	}
	if err := s.Write(early, true, insert("early", func() error { return nil })); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up before: %v", err)
	}
	release()
	late, cancelLate := context.WithCancel(context.Background())
	check(t, s.Write(late, true, insert("late", func() error { cancelLate(); return nil })))
	if n := stored(t, s); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// The dashboard must not stand still while something is written.
func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	s := storetest.Open(t)
	thread := newThread(t, s, "general")
	release := hold(t, s)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { check(t, second(s.Thread(context.Background(), thread.ID))) })
	}
	group.Wait()
	release()
}

// Readers see whole writes and are never refused, whatever is written.
func TestConcurrentReadersAndWriters(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		thread := newThread(t, s, "general").ID
		var writers, readers sync.WaitGroup
		stop := make(chan struct{})
		for w := range 4 {
			writers.Go(func() {
				for i := range 20 {
					rows := []pluginsdk.NewMessage{text(pluginsdk.RoleUser, "a"), text(pluginsdk.RoleUser, "b")}
					check(t, second(s.Append(ctx, ledger.Append{ThreadID: thread, Plugin: "x", Key: fmt.Sprintf("%d %d", w, i), Rows: rows})))
				}
			})
		}
		for range 3 {
			readers.Go(func() {
				for last := 0; ; {
					messages, err := s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread, Limit: 1000})
					check(t, err)
					if len(messages)%2 != 0 || len(messages) < last {
						t.Errorf("half an append is seen: %d messages after %d", len(messages), last)
					}
					last = len(messages)
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		writers.Wait()
		close(stop)
		readers.Wait()
	})
}

// Close finishes what was handed in and refuses what comes after.
func TestCloseFinishesWrites(t *testing.T) {
	config := storetest.SQLite(t)
	s, err := store.Open(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, s)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	release()
	check(t, <-closed)
	wantCode(t, s.Audit(context.Background(), "a", "b", "", ""), pluginsdk.CodeUnavailable)
	_, err = s.Primary(context.Background())
	if err == nil {
		t.Error("a closed store can be read")
	}
}

// An operator's command is another process. It must get in, whatever plugins have the
// daemon write.
func TestAnotherProcessGetsInWhileTheWriterIsBusy(t *testing.T) {
	config := storetest.SQLite(t)
	daemon, operator := storetest.OpenConfig(t, config), storetest.OpenConfig(t, config)
	ctx, enough := context.WithCancel(context.Background())
	var flood sync.WaitGroup
	for range 2 {
		flood.Go(func() {
			for ctx.Err() == nil {
				check(t, daemon.Write(context.Background(), false, func(context.Context, *store.Tx) error {
					<-time.After(5 * time.Millisecond) // what a large transaction takes
					return nil
				}))
			}
		})
	}
	for range 2 {
		check(t, operator.Audit(ctx, "operator", "plugin.disable", "hoarder", ""))
	}
	enough()
	flood.Wait()
}
