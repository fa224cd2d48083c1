package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// One plugin that keeps everything must not fill everybody's disk.
func TestStateHasAQuota(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		big := make([]byte, 16<<20)
		for n := range 3 {
			check(t, s.PutState(ctx, "hoarder", fmt.Sprint(n), big))
		}
		if err := s.PutState(ctx, "hoarder", "3", big); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
			t.Errorf("over its quota: %v", err)
		}
		check(t, s.PutState(ctx, "hoarder", "2", big)) // in the place of itself
		check(t, s.PutState(ctx, "other", "0", big))
		check(t, s.DeleteState(ctx, "hoarder", "0"))
		check(t, s.PutState(ctx, "hoarder", "3", big))
	})
}

type stateUsage struct{ keys, bytes int64 }

// used is what is counted of a plugin's state, and what it is.
func used(t *testing.T, s *store.Store, plugin string) (counted, is stateUsage) {
	t.Helper()
	size := "LENGTH(CAST(key AS BLOB)) + LENGTH(value)"
	if s.Dialect() == "postgres" {
		size = "OCTET_LENGTH(key) + OCTET_LENGTH(value)"
	}
	check(t, s.Reader().QueryRowContext(t.Context(), "SELECT COALESCE(MAX(state_keys), 0), COALESCE(MAX(state_bytes), 0) FROM plugin_usages WHERE plugin = $1", plugin).
		Scan(&counted.keys, &counted.bytes))
	check(t, s.Reader().QueryRowContext(t.Context(), "SELECT COUNT(*), COALESCE(SUM("+size+"), 0) FROM plugin_states WHERE plugin = $1", plugin).
		Scan(&is.keys, &is.bytes))
	return counted, is
}

// The quota is in bytes, and its count must not drift from what is there: a plugin
// would be refused what it may keep, or keep what it may not.
func TestTheCountOfStateIsWhatIsThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				for m := range 10 {
					key := fmt.Sprint("schlüssel ", (n+m)%6)
					check(t, s.PutState(ctx, "busy", key, make([]byte, n*m)))
					if m%3 == 0 {
						check(t, s.DeleteState(ctx, "busy", key))
					}
				}
			})
		}
		group.Wait()
		check(t, s.PutState(ctx, "busy", "kept", []byte("x"))) // whatever else was deleted last
		if counted, is := used(t, s, "busy"); counted != is || is.keys == 0 {
			t.Errorf("counted %+v, there is %+v", counted, is)
		}
		check(t, s.PutState(ctx, "umlauts", "ää", []byte("ü")))
		if counted, _ := used(t, s, "umlauts"); counted != (stateUsage{1, 6}) {
			t.Errorf("counted %+v", counted)
		}
		register(t, s, "busy", 1)
		check(t, s.ForgetPlugin(ctx, "busy"))
		if counted, is := used(t, s, "busy"); counted != is || is.keys == 0 {
			t.Errorf("forgotten, with its state kept: counted %+v, there is %+v", counted, is)
		}
		register(t, s, "busy", 1)
		check(t, s.DeletePlugin(ctx, "busy"))
		if counted, is := used(t, s, "busy"); counted != is || is.keys != 0 {
			t.Errorf("deleted: counted %+v, there is %+v", counted, is)
		}
	})
}

// Who is at the end of the quota must be able to make room.
func TestStateOverItsQuotaMayShrink(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		check(t, s.PutState(ctx, "hoarder", "k", make([]byte, 100)))
		byHand(t, s, fmt.Sprintf("UPDATE plugin_usages SET state_keys = %d, state_bytes = %d", store.MaxStateKeys, store.MaxStateBytes+1000))
		wantCode(t, s.PutState(ctx, "hoarder", "other", nil), pluginsdk.CodeExhausted)
		wantCode(t, s.PutState(ctx, "hoarder", "k", make([]byte, 101)), pluginsdk.CodeExhausted)
		check(t, s.PutState(ctx, "hoarder", "k", make([]byte, 99)))
		check(t, s.DeleteState(ctx, "hoarder", "k"))
		check(t, s.PutState(ctx, "other", "k", nil))
	})
}

// What is there when a program is upgraded counts.
func TestTheMigrationCountsTheStateThatIsThere(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		s, err := store.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		check(t, s.PutState(t.Context(), "old", "ä", []byte("value")))
		check(t, s.PutState(t.Context(), "old", "b", nil))
		byHand(t, s, "DROP TABLE plugin_usages")
		for _, column := range []string{"generation", "settled", "serving", "rejected"} { // of a later migration
			byHand(t, s, "ALTER TABLE plugins DROP COLUMN "+column)
		}
		byHand(t, s, "DELETE FROM schema_migrations WHERE version > 3")
		check(t, s.Close())
		s = storetest.OpenConfig(t, config)
		if counted, is := used(t, s, "old"); counted != is || counted != (stateUsage{2, 8}) {
			t.Errorf("counted %+v, there is %+v", counted, is)
		}
	})
}
