package store_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// One plugin that keeps everything must not fill everybody's disk.
func TestStateHasAQuota(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		big := make([]byte, 16<<20)
		for n := range 3 {
			check(t, put(s, "hoarder", fmt.Sprint(n), big))
		}
		if err := put(s, "hoarder", "3", big); pluginsdk.CodeOf(err) != pluginsdk.CodeExhausted {
			t.Errorf("over its quota: %v", err)
		}
		check(t, put(s, "hoarder", "2", big)) // in the place of itself
		check(t, put(s, "other", "0", big))
		check(t, drop(s, "hoarder", "0"))
		check(t, put(s, "hoarder", "3", big))
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
					check(t, put(s, "busy", key, make([]byte, n*m)))
					if m%3 == 0 {
						check(t, drop(s, "busy", key))
					}
				}
			})
		}
		group.Wait()
		check(t, put(s, "busy", "kept", []byte("x"))) // whatever else was deleted last
		if counted, is := used(t, s, "busy"); counted != is || is.keys == 0 {
			t.Errorf("counted %+v, there is %+v", counted, is)
		}
		check(t, put(s, "umlauts", "ää", []byte("ü")))
		if counted, _ := used(t, s, "umlauts"); counted != (stateUsage{1, 6}) {
			t.Errorf("counted %+v", counted)
		}
		register(t, s, "busy", 1)
		check(t, removePlugin(ctx, s, "busy", true))
		if counted, is := used(t, s, "busy"); counted != is || is.keys == 0 {
			t.Errorf("forgotten, with its state kept: counted %+v, there is %+v", counted, is)
		}
		register(t, s, "busy", 1)
		check(t, removePlugin(ctx, s, "busy", false))
		if counted, is := used(t, s, "busy"); counted != is || is.keys != 0 {
			t.Errorf("deleted: counted %+v, there is %+v", counted, is)
		}
	})
}

// Who is at the end of the quota must be able to make room.
func TestStateOverItsQuotaMayShrink(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		check(t, put(s, "hoarder", "k", make([]byte, 100)))
		byHand(t, s, fmt.Sprintf("UPDATE plugin_usages SET state_keys = %d, state_bytes = %d", store.MaxStateKeys, store.MaxStateBytes+1000))
		wantCode(t, put(s, "hoarder", "other", nil), pluginsdk.CodeExhausted)
		wantCode(t, put(s, "hoarder", "k", make([]byte, 101)), pluginsdk.CodeExhausted)
		check(t, put(s, "hoarder", "k", make([]byte, 99)))
		check(t, drop(s, "hoarder", "k"))
		check(t, put(s, "other", "k", nil))
	})
}

// What is there when a program is upgraded counts.
func TestTheMigrationCountsTheStateThatIsThere(t *testing.T) {
	storetest.EachEmpty(t, func(t *testing.T, config store.Config) {
		check(t, store.MigrateTo(t.Context(), config, 3))
		old := config
		old.Schema = store.SchemaAny
		s := must[*store.Store](t)(store.Open(t.Context(), old))
		byHand(t, s, "INSERT INTO plugin_states (id, plugin, key, value, updated_at) VALUES ('1', 'old', 'ä', 'value', '2026-01-01 00:00:00'), ('2', 'old', 'b', '', '2026-01-01 00:00:00')")
		check(t, s.Close())
		s = storetest.OpenConfig(t, config)
		if counted, is := used(t, s, "old"); counted != is || counted != (stateUsage{2, 8}) {
			t.Errorf("counted %+v, there is %+v", counted, is)
		}
	})
}

// Two processes of a plugin that change one key at a time must not undo each
// other's change, and a key that was deleted must not look as it did before.
func TestStateIsComparedBeforeItIsSet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		write := func(w ledger.StateWrite, revision ...int64) (int64, error) {
			w.Plugin, w.Key = "p", "k"
			if len(revision) > 0 {
				w.If = &pluginsdk.StateCondition{Revision: revision[0]}
			}
			return s.WriteState(t.Context(), w)
		}
		set := func(value string) ledger.StateWrite { return ledger.StateWrite{Value: []byte(value)} }
		remove := ledger.StateWrite{Delete: true}
		conflict := func(w ledger.StateWrite, revision int64) {
			t.Helper()
			wantCode(t, second(write(w, revision)), pluginsdk.CodeConflict)
		}
		conflict(set("x"), 1)
		conflict(remove, 1)
		check(t, second(write(remove, 0)))
		first := must[int64](t)(write(set("1"), 0))
		conflict(set("x"), 0)
		conflict(remove, 0)
		next := must[int64](t)(write(set("2"), first))
		conflict(set("x"), first)
		conflict(remove, first)
		anyway := must[int64](t)(write(set("3")))
		check(t, second(write(remove, anyway)))
		check(t, second(write(remove)))
		anew := must[int64](t)(write(set("4"), 0))
		conflict(set("x"), first)
		if first < 1 || next <= first || anyway <= next || anew <= anyway {
			t.Errorf("revisions %d, %d, %d, %d after it was deleted", first, next, anyway, anew)
		}
		entry := must[pluginsdk.StateEntry](t)(s.GetState(t.Context(), "p", "k"))
		if entry.Key != "k" || string(entry.Value) != "4" || entry.Revision != anew {
			t.Errorf("entry %+v", entry)
		}
		register(t, s, "p", 1)
		check(t, removePlugin(t.Context(), s, "p", false))
		if again := must[int64](t)(write(set("5"), 0)); again <= anew {
			t.Errorf("revision %d after %d", again, anew)
		}
	})
}

// A counter that several goroutines raise with what they read ends at their number.
func TestStateIsComparedAmongMany(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		check(t, put(s, "p", "n", []byte{0}))
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for {
					entry, err := s.GetState(ctx, "p", "n")
					check(t, err)
					_, err = s.WriteState(ctx, ledger.StateWrite{
						Plugin: "p", Key: "n", Value: []byte{entry.Value[0] + 1}, If: &pluginsdk.StateCondition{Revision: entry.Revision},
					})
					if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
						check(t, err)
						return
					}
				}
			})
		}
		group.Wait()
		if entry := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "p", "n")); entry.Value[0] != 8 {
			t.Errorf("counted %d", entry.Value[0])
		}
	})
}

// A plugin reads back all that it keeps, in pages that fit into a call, in an order
// that does not depend on the database.
func TestStateIsListedPageByPage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		for _, key := range []string{"a/ü", "A/1", "a/2", "a/10", "a%", "b/1", "a/"} {
			check(t, put(s, "p", key, []byte(key)))
			check(t, put(s, "other", key, nil))
		}
		list := func(q pluginsdk.ListStateRequest) (pages [][]string) {
			t.Helper()
			for more := true; more; {
				page := must[pluginsdk.ListStateResponse](t)(s.ListState(ctx, "p", q))
				var keys []string
				for _, entry := range page.Entries {
					if keys, q.After = append(keys, entry.Key), entry.Key; entry.Revision == 0 || (len(entry.Value) == 0) != q.KeysOnly {
						t.Errorf("entry %q of revision %d has %d bytes", entry.Key, entry.Revision, len(entry.Value))
					}
				}
				pages, more = append(pages, keys), page.More
			}
			return pages
		}
		for name, test := range map[string]struct {
			query pluginsdk.ListStateRequest
			want  [][]string
		}{
			"all":      {pluginsdk.ListStateRequest{}, [][]string{{"A/1", "a%", "a/", "a/10", "a/2", "a/ü", "b/1"}}},
			"prefix":   {pluginsdk.ListStateRequest{Prefix: "a/", Limit: 3}, [][]string{{"a/", "a/10", "a/2"}, {"a/ü"}}},
			"keys":     {pluginsdk.ListStateRequest{Prefix: "a", KeysOnly: true, Limit: 5}, [][]string{{"a%", "a/", "a/10", "a/2", "a/ü"}}},
			"wildcard": {pluginsdk.ListStateRequest{Prefix: "a%"}, [][]string{{"a%"}}},
			"ü":        {pluginsdk.ListStateRequest{Prefix: "a/ü"}, [][]string{{"a/ü"}}},
			"after":    {pluginsdk.ListStateRequest{After: "a/2"}, [][]string{{"a/ü", "b/1"}}},
			"nothing":  {pluginsdk.ListStateRequest{Prefix: "c"}, [][]string{nil}},
		} {
			if got := list(test.query); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		for n := range 9 {
			check(t, put(s, "p", fmt.Sprint("big ", n), make([]byte, 3<<20)))
		}
		check(t, put(s, "p", "big 90", make([]byte, 20<<20)))
		want := [][]string{{"big 0", "big 1"}, {"big 2", "big 3"}, {"big 4", "big 5"}, {"big 6", "big 7"}, {"big 8"}, {"big 90"}}
		if got := list(pluginsdk.ListStateRequest{Prefix: "big"}); !reflect.DeepEqual(got, want) {
			t.Errorf("big ones: %q", got)
		}
	})
}
