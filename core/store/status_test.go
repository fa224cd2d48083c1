package store_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Making a database in the wrong place would hide that it is the wrong place.
func TestWhoOnlyLooksMakesNoDatabase(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		for _, policy := range []store.SchemaPolicy{store.SchemaCurrent, store.SchemaAny} {
			config.Schema = policy
			s, err := store.Open(context.Background(), config)
			wantCode(t, err, pluginsdk.CodeNotFound)
			if err == nil {
				check(t, s.Close())
			}
		}
		_, err := store.Migrate(context.Background(), config, "test")
		wantCode(t, err, pluginsdk.CodeNotFound)
		if made := must[[]os.DirEntry](t)(os.ReadDir(config.Dir)); len(made) != 0 {
			t.Errorf("made: %v", made)
		}
	})
}

// Commands of a newer program must not change the schema under a daemon.
func TestOlderSchemaIsLeftAlone(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		check(t, store.MigrateTo(ctx, config, 1))
		config.Schema = store.SchemaCurrent
		s, err := store.Open(ctx, config)
		if err == nil {
			check(t, s.Close())
		}
		wantCode(t, err, pluginsdk.CodeInvalid)
		if err == nil || !strings.Contains(err.Error(), "at version 1") || !strings.Contains(err.Error(), "harness db migrate") {
			t.Errorf("got %v", err)
		}
		config.Schema = store.SchemaAny
		looking := storetest.OpenConfig(t, config)
		status := must[store.Status](t)(looking.Status(ctx))
		if status.Schema != 1 || status.Knows < 2 || status.Pending[0] != "0002_merged_runs" ||
			!strings.HasPrefix(status.Pending[len(status.Pending)-1], fmt.Sprintf("%04d_", status.Knows)) {
			t.Errorf("status %+v", status)
		}
		if status.Bytes <= 0 || !slices.Contains(status.Tables, store.TableStatus{Name: "runs"}) {
			t.Errorf("status %+v", status)
		}

		lease := must[*store.Lease](t)(looking.Lock(ctx, "a daemon"))
		if holder := must[store.Status](t)(looking.Status(ctx)).Holder; !strings.Contains(holder, "a daemon") {
			t.Errorf("held by %q", holder)
		}
		if _, err := store.Migrate(ctx, config, "test"); err == nil || !strings.Contains(err.Error(), "a daemon") {
			t.Errorf("migrated under a daemon: %v", err)
		}
		lease.Release()
		if holder := must[store.Status](t)(looking.Status(ctx)).Holder; holder != "" {
			t.Errorf("held by %q although it was released", holder)
		}

		done := must[store.Migrated](t)(store.Migrate(ctx, config, "test"))
		if done.From != 1 || done.To != status.Knows || !slices.Equal(done.Applied, status.Pending) {
			t.Errorf("migrated %+v", done)
		}
		again := must[store.Migrated](t)(store.Migrate(ctx, config, "test"))
		if again.From != done.To || again.To != done.To || len(again.Applied) != 0 {
			t.Errorf("migrated again: %+v", again)
		}
		config.Schema = store.SchemaCurrent
		storetest.OpenConfig(t, config)
	})
}

// A program that is too old must say so of a database that it only looks at,
// and must not save what it cannot know.
func TestNewerSchemaIsLookedAtOnly(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		ctx := context.Background()
		s := storetest.OpenConfig(t, config)
		check(t, s.Write(ctx, true, func(ctx context.Context, tx *store.Tx) error {
			return tx.Run1(ctx, "INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'future', 'tomorrow')")
		}))
		if status := must[store.Status](t)(s.Status(ctx)); status.Schema != 99 || len(status.Pending) != 0 {
			t.Errorf("status %+v", status)
		}
		_, err := s.Backup(ctx, store.Backup{File: t.TempDir() + "/x"})
		if err == nil || !strings.Contains(err.Error(), "newer than this program") {
			t.Errorf("backup: %v", err)
		}
		config.Schema = store.SchemaCurrent
		_, err = store.Open(ctx, config)
		wantCode(t, err, pluginsdk.CodeInvalid)
	})
}

// The doctor must find what merging can break, and what nobody received.
func TestIntegrityOfMergedRuns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		th := newThread(t, s, "a")
		keep := func(id string, state pluginsdk.RunState, into string) {
			run := filled[ledger.Run](t)
			run.ID, run.ThreadID, run.State, run.MergedInto = id, th.ID, state, into
			run.MessageID = accept(t, s, th.ID, "q").MessageID
			check(t, s.KeepRun(ctx, run))
		}
		keep("answers", pluginsdk.RunSucceeded, "")
		keep("merged", pluginsdk.RunMerged, "answers")
		if problems := must[[]string](t)(s.Integrity(ctx)); len(problems) != 0 {
			t.Errorf("a merged run is a problem: %v", problems)
		}
		keep("lost", pluginsdk.RunMerged, "nothing")
		keep("itself", pluginsdk.RunMerged, "itself")
		keep("both", pluginsdk.RunSucceeded, "answers")
		problems := strings.Join(must[[]string](t)(s.Integrity(ctx)), "\n")
		for _, want := range []string{"2 runs merged into no run", "1 runs that name another one"} {
			if !strings.Contains(problems, want) {
				t.Errorf("%q is missing in %q", want, problems)
			}
		}
		dead := filled[pluginsdk.Delivery](t)
		dead.State = pluginsdk.DeliveryDead
		check(t, s.KeepDelivery(ctx, dead))
		if n := must[int](t)(s.DeadDeliveries(ctx)); n != 1 {
			t.Errorf("%d dead deliveries", n)
		}
	})
}

// The databases of one server are locked apart, although their schemas have one name.
func TestTheHolderIsOfThisDatabaseOfTheServer(t *testing.T) {
	locked, other := storetest.OpenConfig(t, storetest.PreparedPostgres(t)), storetest.OpenConfig(t, storetest.PreparedPostgres(t))
	lease := must[*store.Lease](t)(locked.Lock(t.Context(), "a daemon"))
	defer lease.Release()
	if holder := must[store.Status](t)(locked.Status(t.Context())).Holder; !strings.Contains(holder, "a daemon") {
		t.Errorf("the lock is held by %q", holder)
	}
	if holder := must[store.Status](t)(other.Status(t.Context())).Holder; holder != "" {
		t.Errorf("the lock of another database is held by %q", holder)
	}
}
