package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// sessions are the connections of a store, as the server sees them.
type sessions struct {
	t     *testing.T
	watch *store.Store
	name  string
}

// named opens a store whose connections can be told from others'.
func named(t *testing.T) (*store.Store, sessions) {
	t.Helper()
	config := storetest.Postgres(t)
	watch := storetest.OpenConfig(t, store.Config{URL: config.URL})
	name := "race " + uuid.NewString()
	config.URL += "&application_name=" + strings.ReplaceAll(name, " ", "%20")
	return storetest.OpenConfig(t, config), sessions{t, watch, name}
}

// until waits for something that the server has yet to do.
func (s sessions) until(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("not in time: %s", what)
		}
	}
}

// blocked waits until one of the connections waits for a lock.
func (s sessions) blocked() {
	s.t.Helper()
	s.until("a connection waits for a lock", func() bool {
		var waiting int
		check(s.t, s.watch.Reader().QueryRowContext(context.Background(),
			"SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", s.name).Scan(&waiting))
		return waiting > 0
	})
}

// list returns the connections' process ids.
func (s sessions) list() []int {
	s.t.Helper()
	var pids pq.Int64Array
	check(s.t, s.watch.Reader().QueryRowContext(context.Background(),
		"SELECT COALESCE(array_agg(pid), '{}') FROM pg_stat_activity WHERE application_name = $1", s.name).Scan(&pids))
	var out []int
	for _, pid := range pids {
		out = append(out, int(pid))
	}
	return out
}

// end cuts all connections, as a restart of the server does.
func (s sessions) end() {
	s.t.Helper()
	s.endOf(s.name)
	s.until("the connections are gone", func() bool { return len(s.list()) == 0 })
}

// endOf cuts the connections of a name.
func (s sessions) endOf(name string) {
	s.t.Helper()
	check(s.t, second(s.watch.Reader().ExecContext(context.Background(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", name[:min(len(name), 63)])))
}

// What a person cancels at the very moment in which it is merged must not reach
// the agent.
func TestAbsorbLeavesWhatIsBeingCancelled(t *testing.T) {
	s, sessions := named(t)
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	accept(t, s, thread, "one")
	c := claim(t, s, thread)
	two := accept(t, s, thread, "two")
	accept(t, s, thread, "three")
	person, err := s.Reader().BeginTx(ctx, nil)
	check(t, err)
	check(t, second(person.ExecContext(ctx,
		"UPDATE runs SET state = 'cancelled', finished_at = now() WHERE id = $1 AND state = 'queued'", two.RunID)))
	absorbed := make(chan []pluginsdk.Message, 1)
	go func() {
		absorbed <- absorb(t, s, c)
	}()
	sessions.blocked()
	check(t, person.Commit())
	if got := contents(<-absorbed); len(got) != 1 || got[0] != "three" {
		t.Errorf("merged %q", got)
	}
	if run := must[pluginsdk.Run](t)(s.Run(ctx, c.Run.ID)); len(run.Absorbed) != 1 {
		t.Errorf("on disk: %v", run.Absorbed)
	}
}

// A claim whose connection was cut may still be on its way to its COMMIT when it
// is put back: the thread must not stay at work for nobody.
func TestUnclaimWaitsForALateCommit(t *testing.T) {
	s, sessions := named(t)
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	run := accept(t, s, thread, "one").RunID
	late, err := s.Reader().BeginTx(ctx, nil)
	check(t, err)
	for _, statement := range []string{
		"SELECT epoch FROM threads WHERE id = '" + thread + "' FOR UPDATE",
		"UPDATE runs SET state = 'running', attempt = attempt + 1, owner = 'me' WHERE id = '" + run + "'",
		"UPDATE threads SET epoch = epoch + 1 WHERE id = '" + thread + "'",
	} {
		check(t, second(late.ExecContext(ctx, statement)))
	}
	unclaimed := make(chan error, 1)
	go func() { unclaimed <- s.Unclaim(ctx, thread, "me") }()
	sessions.blocked()
	check(t, late.Commit())
	check(t, <-unclaimed)
	if c := must[ledger.Claim](t)(s.Claim(ctx, thread, "me")); !c.Found {
		t.Error("the thread is at work for nobody")
	}
}
