package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// before opens a database whose schema is of an older version, to be filled.
func before(t *testing.T, config store.Config, version int, fill func(s *store.Store)) {
	t.Helper()
	check(t, store.MigrateTo(context.Background(), config, version))
	config.Schema = store.SchemaAny
	s := must[*store.Store](t)(store.Open(context.Background(), config))
	fill(s)
	check(t, s.Close())
}

// parsed are the rows of a table as a backup has them, column by column.
func parsed(t *testing.T, rows []string) []map[string]any {
	t.Helper()
	out := make([]map[string]any, len(rows))
	for i, row := range rows {
		check(t, json.Unmarshal([]byte(row), &out[i]))
	}
	return out
}

// An upgrade must not lose anybody a row, nor change a word in one.
func TestUpgradeToTheSecondContractKeepsEverything(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		var old map[string][]string
		before(t, config, 5, func(s *store.Store) {
			fillTables(t, s)
			old = dump(t, s)
		})
		s := storetest.OpenConfig(t, config)
		now := dump(t, s)
		renamed := map[string]string{"plugins.ledger": "figures"}
		if len(old) < 13 {
			t.Fatalf("only %d tables were filled", len(old))
		}
		for table, rows := range old {
			is := parsed(t, now[table])
			for i, want := range parsed(t, rows) {
				for column, value := range want {
					name := column
					if other := renamed[table+"."+column]; other != "" {
						name = other
					}
					if len(is) != len(rows) || !reflect.DeepEqual(is[i][name], value) {
						t.Fatalf("%s.%s of row %d (of %d, now %d): %v became %v", table, column, i+1, len(rows), len(is), value, is[i][name])
					}
				}
			}
		}
	})
}

// Where the replies of a thread went before the upgrade they go after it, and
// nobody is sent what nobody was sent.
func TestUpgradeKeepsWhereRepliesGo(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		const at = "'2026-01-02 03:04:05'"
		before(t, config, 5, func(s *store.Store) {
			for _, of := range []struct{ id, source, sourceID, reportTo string }{
				{"P", "web", "primary", ""}, {"W", "web", "x", "web"}, {"C", "cli", "x", "web"}, {"D", "discord", "1", ""},
				{"own", "discord", "2", "discord"}, {"read", "discord", "3", "web"}, {"told", "web", "y", "discord"}, {"odd", "web", "z", "Some Body"},
			} {
				byHand(t, s, fmt.Sprintf("INSERT INTO threads (id, source, source_id, report_to, last_activity, created_at) VALUES ('%s', '%s', '%s', '%s', %s, %s)",
					of.id, of.source, of.sourceID, of.reportTo, at, at))
			}
		})
		s := storetest.OpenConfig(t, config)
		s.SetCarrier(discordCarries)
		got := make(map[string]string)
		for id := range maps.Keys(map[string]int{"P": 0, "W": 0, "C": 0, "D": 0, "own": 0, "read": 0, "told": 0, "odd": 0}) {
			reply(t, s, id, "answer to "+id)
			got[id] = "nobody"
			for _, d := range must[[]pluginsdk.Delivery](t)(s.Deliveries(t.Context(), pluginsdk.DeliveryQuery{})) {
				if m := must[pluginsdk.Message](t)(s.Message(t.Context(), d.MessageID)); m.ThreadID == id {
					got[id] = d.Plugin + ":" + d.Target
				}
			}
		}
		want := map[string]string{
			"P": "nobody", "W": "nobody", "C": "nobody", "D": "discord:1", "own": "discord:2", "read": "nobody", "told": "discord:", "odd": "nobody",
		}
		if !maps.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

// Rows that certainly are a plugin's become so, and count for it; state that is
// there can be told from state that is written later; the keys of tasks hold.
func TestUpgradeSaysWhoseRowsAre(t *testing.T) {
	storetest.EachConfig(t, func(t *testing.T, config store.Config) {
		const at = "'2026-01-02 03:04:05'"
		before(t, config, 5, func(s *store.Store) {
			byHand(t, s, "INSERT INTO plugins (name) VALUES ('activity'), ('web')")
			byHand(t, s, "INSERT INTO threads (id, source, source_id, last_activity, created_at) VALUES ('T', 'web', 'primary', "+at+", "+at+")")
			for _, of := range []struct{ source, role, kind string }{
				{"web", "user", "text"}, {"activity", "system", "status"}, {"pipeline", "system", "status"}, {"activity", "assistant", "thinking"},
			} {
				byHand(t, s, fmt.Sprintf("INSERT INTO messages (thread_id, role, kind, source, content, created_at) VALUES ('T', '%s', '%s', '%s', 'ü', %s)", of.role, of.kind, of.source, at))
			}
			byHand(t, s, "INSERT INTO plugin_states (id, plugin, key, value, updated_at) VALUES ('1', 'activity', 'k', 'v', "+at+")")
			byHand(t, s, "INSERT INTO plugin_usages (plugin, state_keys, state_bytes) VALUES ('activity', 1, 2)")
			byHand(t, s, "INSERT INTO tasks (id, thread_id, key, original_message, prompt, created_at) VALUES ('K', 'T', 'key', 'm', 'p', "+at+")")
		})
		s := storetest.OpenConfig(t, config)
		ctx := t.Context()
		var plugins []string
		for _, m := range must[[]pluginsdk.Message](t)(s.Messages(ctx, pluginsdk.MessageQuery{ThreadID: "T"})) {
			plugins = append(plugins, m.Plugin)
		}
		if want := []string{"web", "activity", "", "activity"}; !reflect.DeepEqual(plugins, want) {
			t.Errorf("plugins %q, want %q", plugins, want)
		}
		if counted, is := storedRows(t, s, "activity"); counted != is || is == 0 {
			t.Errorf("activity: counted %d bytes, there are %d", counted, is)
		}
		if n := must[int64](t)(s.StoredBytes(ctx, "web")); n != 0 {
			t.Errorf("what people wrote counts for web: %d bytes", n)
		}
		first := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "activity", "k"))
		check(t, put(s, "activity", "k", []byte("w")))
		if again := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "activity", "k")); first.Revision != 1 || again.Revision <= first.Revision {
			t.Errorf("revision %d, then %d", first.Revision, again.Revision)
		}
		if task := must[pluginsdk.Task](t)(s.Task(ctx, "K")); task.Key != "key" || task.Plugin != "" {
			t.Errorf("task %+v", task)
		}
	})
}
