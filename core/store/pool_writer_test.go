package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

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

// occupy makes n connections of each pool, which lie idle afterwards.
func occupy(t *testing.T, s *store.Store, n int) {
	t.Helper()
	for _, durable := range []bool{true, false} {
		var met, group sync.WaitGroup
		met.Add(n)
		for range n {
			group.Go(func() {
				check(t, s.Write(context.Background(), durable, func(ctx context.Context, tx *store.Tx) error {
					met.Done()
					met.Wait()
					return tx.Run1(ctx, "SELECT 1")
				}))
			})
		}
		group.Wait()
	}
}

// The server was restarted while nothing was written: the pools are full of
// connections that are dead. What an agent does next is stored all the same,
// though nobody would say it twice.
func TestStaleConnectionsLoseNoWrite(t *testing.T) {
	s, sessions := named(t)
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	occupy(t, s, 8)
	sessions.end()
	for i := range 8 {
		add(t, s, thread, text(pluginsdk.RoleUser, fmt.Sprint(i)))
		check(t, s.Audit(ctx, "ann", fmt.Sprint(i), "", ""))
	}
	if n := len(must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: thread}))); n != 8 {
		t.Errorf("%d messages, want 8", n)
	}

	// Also when the connection breaks later, as long as nothing was committed.
	cut := false
	check(t, s.Write(ctx, false, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Run1(ctx, "UPDATE threads SET name = name || '!'"); err != nil {
			return err
		}
		if !cut {
			cut = true
			sessions.end()
		}
		return tx.Run1(ctx, "UPDATE threads SET name = name || '?'")
	}))
	if got := must[pluginsdk.Thread](t)(s.Thread(ctx, thread)); got.Name != "!?" {
		t.Errorf("the thread's name is %q: the write was not made once", got.Name)
	}
}

// What is read at that moment is read as well. (The server's machine is gone
// and says so with a reset, which database/sql does not take for a stale
// connection.)
func TestStaleConnectionsLoseNoRead(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	s := storetest.OpenConfig(t, config)
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	occupy(t, s, 8)
	gate.Break()
	check(t, second(s.Thread(ctx, thread)))
	gate.Break()
	check(t, second(s.Plugins(ctx)))
	gate.Break()
	check(t, s.Audit(ctx, "ann", "written", "", ""))
	gate.Close()
	wantCode(t, second(s.Thread(ctx, thread)), pluginsdk.CodeUnavailable)
	wantCode(t, s.Audit(ctx, "ann", "refused", "", ""), pluginsdk.CodeUnavailable)
	gate.Open()
	check(t, second(s.Thread(ctx, thread)))
}

// A network that went away says nothing to the connections that lie idle: a
// write on one of them would wait for minutes. They go when the lock is back.
func TestConnectionsFromBeforeAnOutageAreNotUsed(t *testing.T) {
	s, sessions := named(t)
	ctx := context.Background()
	name := "installation " + uuid.NewString()
	lease := must[*store.Lease](t)(s.Lock(ctx, name))
	defer lease.Release()
	occupy(t, s, 3)
	before := sessions.list()
	if len(before) < 6 {
		t.Fatalf("%d connections lie idle, want 6", len(before))
	}
	sessions.endOf("harness " + name)
	<-lease.Lost()
	check(t, lease.Regain(ctx))
	sessions.until("the old connections are closed", func() bool {
		return !slices.ContainsFunc(sessions.list(), func(pid int) bool { return slices.Contains(before, pid) })
	})
	check(t, s.Audit(ctx, "ann", "again", "", ""))
}

// A network that swallows everything holds up neither what comes after an outage, nor
// the daemon's end: no connection waits for an answer in order to end, of which the
// server owes one for each statement that it was taught.
func TestConnectionsThatHangEndAtOnce(t *testing.T) {
	config, gate := storetest.BehindGateway(t)
	s := storetest.OpenConfig(t, config)
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	fill := func() {
		occupy(t, s, 5)
		check(t, second(s.Thread(ctx, thread)))
		gate.Swallow()
	}
	soon := func(what string, end func()) {
		t.Helper()
		ended := make(chan struct{})
		go func() { defer close(ended); end() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			gate.Close()
			t.Fatalf("%s waits for a server that is not there", what)
		}
	}
	fill()
	soon("what comes after an outage", s.Renew)
	check(t, second(s.Thread(ctx, thread)))
	check(t, s.Audit(ctx, "ann", "again", "", ""))
	fill()
	soon("the daemon's end", func() { check(t, s.Close()) })
}

// The server goes away in the middle of a write, however often that is tried:
// the caller is told that it may try again, and later writes find a new
// connection.
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

// A server that takes a statement and says nothing more hangs nobody for ever: the
// write is given up, and the next one has another connection. That is also so of a
// server that refused TLS first, and was dialled a second time.
func TestAWriteThatHangsIsGivenUp(t *testing.T) {
	for _, tls := range []string{"disable", "prefer"} {
		t.Run("sslmode="+tls, func(t *testing.T) {
			config, _ := storetest.BehindGateway(t)
			config.URL = strings.Replace(config.URL, "sslmode=disable", "sslmode="+tls, 1)
			s := storetest.OpenConfig(t, config)
			ctx := context.Background()
			check(t, s.Audit(ctx, "ann", "before", "", ""))
			s.LimitTransactions(50 * time.Millisecond)
			err := s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
				return tx.Run1(ctx, "SELECT pg_sleep(10)")
			})
			wantCode(t, err, pluginsdk.CodeUnavailable)
			s.LimitTransactions(time.Minute)
			for range 3 {
				check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error { return tx.Run1(ctx, "SELECT 1") }))
			}
		})
	}
}

// What a statement is refused for is said, also when it is refused before it is run:
// not that its transaction has ended by then.
func TestAStatementThatIsRefusedSaysWhy(t *testing.T) {
	s := storetest.OpenConfig(t, storetest.Postgres(t))
	err := s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error {
		return tx.Run1(ctx, "SELECT absent FROM threads")
	})
	if err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("the error is %v", err)
	}
}
