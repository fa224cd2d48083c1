package store_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two daemons on one database would answer everything twice.
func TestOneDaemonADatabase(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		first, other := storetest.OpenConfig(t, config), storetest.OpenConfig(t, config)
		lease, err := first.Lock(ctx, "boot 1")
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.Lock(ctx, "boot 2")
		wantCode(t, err, pluginsdk.CodeConflict)
		if !strings.Contains(fmt.Sprint(err), "boot 1") {
			t.Errorf("%q does not name the holder", err)
		}
		if first.Dialect() == "sqlite3" && !strings.Contains(fmt.Sprint(err), fmt.Sprintf("pid %d", os.Getpid())) {
			t.Errorf("%q does not name the holder's process", err)
		}
		check(t, other.Audit(ctx, "ann", "looks without a lock", "", ""))
		lease.Release()
		lease.Release()
		select {
		case <-lease.Lost():
			t.Error("a lock that was released counts as lost")
		default:
		}
		lease, err = other.Lock(ctx, "boot 2")
		check(t, err)
		lease.Release()
	})
}

// Between the loss of the lock and the moment in which that is noticed, another
// daemon may have begun: what it works on must not be taken for work of the
// dead, or people are answered twice.
func TestRecoverIsOfTheHolderOfTheLock(t *testing.T) {
	s, sessions := named(t)
	other := sessions.watch
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	other.SetCarrier(discordCarries)
	accept(t, s, thread, "hello")
	name := "installation " + uuid.NewString()
	lease := must[*store.Lease](t)(s.Lock(ctx, name))
	defer lease.Release()
	sessions.endOf("harness " + name)
	var taken *store.Lease
	sessions.until("another daemon has the lock", func() (done bool) {
		var err error
		taken, err = other.Lock(ctx, "quick")
		return err == nil
	})
	answered := must[ledger.Claim](t)(other.Claim(ctx, thread, "boot 2"))
	check(t, second(other.Finish(ctx, answered.Fence, ledger.Finish{
		RunID: answered.Run.ID, State: pluginsdk.RunSucceeded, Deliver: true,
		Rows: []ledger.Row{{Key: "reply", Message: text(pluginsdk.RoleAssistant, "hi")}},
	})))
	accept(t, s, thread, "again")
	current := must[ledger.Claim](t)(other.Claim(ctx, thread, "boot 2"))
	id := only[pluginsdk.Delivery](t)(other.Deliveries(ctx, pluginsdk.DeliveryQuery{})).ID
	check(t, second(other.BeginDelivery(ctx, id)))

	wantCode(t, second(s.Recover(ctx, "boot 1")), pluginsdk.CodeUnavailable)
	wantCode(t, second(s.RecoverDeliveries(ctx)), pluginsdk.CodeUnavailable)
	if run := must[ledger.Run](t)(s.KeptRun(ctx, current.Run.ID)); run.State != pluginsdk.RunRunning || run.Owner != "boot 2" {
		t.Errorf("the other daemon's run is %s, of %q", run.State, run.Owner)
	}
	if d := only[pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{})); d.State != pluginsdk.DeliverySending {
		t.Errorf("the other daemon's delivery is %s", d.State)
	}

	taken.Release()
	<-lease.Lost()
	check(t, lease.Regain(ctx))
	if threads := must[[]ledger.Queue](t)(s.Recover(ctx, "boot 1")); len(threads) != 1 {
		t.Errorf("threads with work: %v", threads)
	}
	check(t, second(s.RecoverDeliveries(ctx)))
}

// In the same moments, nothing is begun: no message is carried that the other daemon
// may be carrying, and no run is claimed that nobody would put back.
func TestWorkIsBegunByTheHolderOfTheLock(t *testing.T) {
	s, sessions := named(t)
	other := sessions.watch
	ctx := context.Background()
	thread := newThread(t, s, "general").ID
	reply(t, s, thread, "hi")
	reply(t, s, thread, "again")
	branch, empty := newThread(t, s, "branch"), newThread(t, s, "empty") // what another daemon makes stands where these do
	add(t, s, branch.ID, text(pluginsdk.RoleUser, "copied"))
	check(t, second(s.DeleteThread(ctx, branch.ID, "ann")))
	check(t, second(s.DeleteThread(ctx, empty.ID, "ann")))
	name := "installation " + uuid.NewString()
	lease := must[*store.Lease](t)(s.Lock(ctx, name))
	defer lease.Release()
	begun := next(t, s, "discord", "general").ID
	begin(t, s, begun)
	begin(t, s, begun) // its COMMIT had no known outcome
	all := must[[]pluginsdk.Delivery](t)(s.Deliveries(ctx, pluginsdk.DeliveryQuery{}))
	sessions.endOf("harness " + name)
	var taken *store.Lease
	sessions.until("another daemon has the lock", func() (done bool) {
		var err error
		taken, err = other.Lock(ctx, "quick")
		return err == nil
	})
	for _, d := range all {
		wantCode(t, second(s.BeginDelivery(ctx, d.ID)), pluginsdk.CodeUnavailable)
	}
	if d := delivery(t, s, all[1].ID); d.State != pluginsdk.DeliveryPending || d.Attempt != 0 {
		t.Errorf("the delivery that was not begun: %+v", d)
	}
	for _, id := range []string{branch.ID, empty.ID} {
		wantCode(t, s.RemoveThread(ctx, id), pluginsdk.CodeUnavailable)
	}
	if left := rowsOf(t, s, branch.ID) + "; " + rowsOf(t, s, empty.ID); left != "messages 1, removals 1; removals 1" {
		t.Errorf("left of what the other daemon has to remove: %s", left)
	}
	waiting := accept(t, s, thread, "and now?").RunID
	wantCode(t, second(s.Claim(ctx, thread, "boot 1")), pluginsdk.CodeUnavailable)
	idle := acceptance(newThread(t, s, "idle").ID, "key", "hello")
	idle.Claimer = "boot 1"
	wantCode(t, second(s.Accept(ctx, idle)), pluginsdk.CodeUnavailable)
	wantCode(t, second(s.Run(ctx, idle.RunID)), pluginsdk.CodeNotFound)
	if c := claim(t, other, thread); c.Run.ID != waiting {
		t.Errorf("the other daemon claims %s, want %s", c.Run.ID, waiting)
	}

	taken.Release()
	<-lease.Lost()
	check(t, lease.Regain(ctx))
	check(t, s.RemoveThread(ctx, branch.ID))
	begin(t, s, all[1].ID)
	if accepted := must[ledger.Accepted](t)(s.Accept(ctx, idle)); !accepted.Claim.Found {
		t.Errorf("not claimed: %+v", accepted)
	}
}

// A daemon whose connection is cut has lost its claim and must know. It gets
// it back when nobody else was there, and is told when somebody was.
func TestLockIsLostWithItsConnection(t *testing.T) {
	config := storetest.Postgres(t)
	s, other := storetest.OpenConfig(t, config), storetest.OpenConfig(t, store.Config{URL: config.URL})
	ctx := context.Background()
	// As long as the daemon's own, and longer than what the server keeps of it.
	name := "pid 12345, installation " + uuid.NewString() + " cut"
	lease := must[*store.Lease](t)(s.Lock(ctx, name))
	defer lease.Release()
	cut := func() {
		t.Helper()
		check(t, second(s.Reader().ExecContext(ctx,
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", ("harness " + name)[:63])))
		<-lease.Lost()
	}
	cut()
	check(t, lease.Regain(ctx))
	_, err := other.Lock(ctx, "late")
	wantCode(t, err, pluginsdk.CodeConflict)

	// The server has not noticed yet that the old connection is dead.
	cut()
	ghost := must[*store.Lease](t)(other.Lock(ctx, name))
	defer ghost.Release()
	wantCode(t, lease.Regain(ctx), pluginsdk.CodeUnavailable)
	<-ghost.Lost()
	check(t, lease.Regain(ctx))

	cut()
	taken := must[*store.Lease](t)(other.Lock(ctx, "quick"))
	defer taken.Release()
	err = lease.Regain(ctx)
	wantCode(t, err, pluginsdk.CodeConflict)
	if !strings.Contains(fmt.Sprint(err), "quick") {
		t.Errorf("%q does not name the holder", err)
	}
}
