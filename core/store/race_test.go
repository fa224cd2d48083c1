package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// named opens a store whose connections can be told from others', and returns a
// function that waits until one of them waits for a lock.
func named(t *testing.T) (s *store.Store, blocked func()) {
	t.Helper()
	config := storetest.Postgres(t)
	watch := storetest.OpenConfig(t, store.Config{URL: config.URL})
	name := "race " + uuid.NewString()
	config.URL += "&application_name=" + strings.ReplaceAll(name, " ", "%20")
	return storetest.OpenConfig(t, config), func() {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); ; {
			var waiting int
			check(t, watch.Reader().QueryRowContext(context.Background(),
				"SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", name).Scan(&waiting))
			if waiting > 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("nothing waits for a lock")
			}
		}
	}
}

// What a person cancels at the very moment in which it is merged must not reach
// the agent.
func TestAbsorbLeavesWhatIsBeingCancelled(t *testing.T) {
	s, blocked := named(t)
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
	blocked()
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
	s, blocked := named(t)
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
	blocked()
	check(t, late.Commit())
	check(t, <-unclaimed)
	if c := must[ledger.Claim](t)(s.Claim(ctx, thread, "me")); !c.Found {
		t.Error("the thread is at work for nobody")
	}
}
