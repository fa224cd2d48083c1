package store_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// byHand does what an operator does with the database's own command.
func byHand(t *testing.T, s *store.Store, statement string) {
	t.Helper()
	check(t, s.Write(context.Background(), true, func(ctx context.Context, tx *store.Tx) error { return tx.Run1(ctx, statement) }))
}

func register(t *testing.T, s *store.Store, name string, position int) {
	t.Helper()
	check(t, s.RegisterPlugin(context.Background(), ledger.Plugin{
		PluginInfo: pluginsdk.PluginInfo{
			Name: name, SHA256: "old", Enabled: true, Position: position, Granted: []pluginsdk.Capability{pluginsdk.CapState},
		},
		Path: "/old/" + name, Settings: json.RawMessage(`{"a":1}`),
	}))
}

// An upgrade of the binary must not undo what the operator has decided.
func TestRegisterKeepsTheOperatorsWord(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "web", 5)
		check(t, s.SetPluginEnabled(ctx, "web", false))
		byHand(t, s, `UPDATE plugins SET position = 7 WHERE name = 'web'`)
		byHand(t, s, `UPDATE plugins SET settings = '{"b": 2}' WHERE name = 'web'`)
		check(t, s.SetPluginGrants(ctx, "web", []pluginsdk.Capability{pluginsdk.CapThreadsRead}, []string{"TZ"}))
		byHand(t, s, `UPDATE plugins SET on_failure = '{"OnMessage": "closed"}' WHERE name = 'web'`)
		check(t, s.SavePluginManifest(ctx, "web", pluginsdk.Manifest{Name: "web", Version: "2"}))
		at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		check(t, s.SavePluginSeen(ctx, "web", ledger.PluginSeen{
			State: pluginsdk.PluginBackoff, LastError: "it ended", LastErrorAt: at, Restarts: 3, Serving: "old", Rejected: "older",
		}))
		check(t, s.AddPluginFailures(ctx, "web", 2))
		check(t, s.SavePluginChecks(ctx, "web", []pluginsdk.Check{{Name: "disk", State: pluginsdk.CheckWarning}}))
		check(t, s.AddPluginFailures(ctx, "web", 3))
		check(t, s.RegisterPlugin(ctx, ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "web", SHA256: "new", Enabled: true, Position: 1}, Path: "/new/web"}))
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "web"))
		want := ledger.Plugin{
			PluginInfo: pluginsdk.PluginInfo{
				Name: "web", SHA256: "new", Version: "2", Manifest: pluginsdk.Manifest{Name: "web", Version: "2"},
				Position: 7, Granted: []pluginsdk.Capability{pluginsdk.CapThreadsRead}, GrantedEnv: []string{"TZ"},
				OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed},
				State:     pluginsdk.PluginBackoff, LastError: "it ended", LastErrorAt: at, Restarts: 3, Failures: 5,
				Checks: []pluginsdk.Check{{Name: "disk", State: pluginsdk.CheckWarning}}, CheckedAt: got.CheckedAt, UpdatedAt: got.UpdatedAt,
			},
			Path: "/new/web", Settings: json.RawMessage(`{"b":2}`), Serving: "old", Rejected: "older", Generation: 1,
		}
		if got.CheckedAt.IsZero() {
			t.Error("nobody knows how old a check is")
		}
		same(t, want, got)
	})
}

// What a plugin has accepted and refused survives what else is done to its row, and goes
// with the row.
func TestAcceptedAndRefusedSettings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "web", 5)
		accepted := ledger.AcceptedSettings{
			Mark: "1 x", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Plain: json.RawMessage(`{"a":"\u0000"}`), Secrets: map[string][]byte{"token": {1, 2}},
			Before: &ledger.AcceptedSettings{Mark: "0 x", Started: true},
		}
		check(t, s.SavePluginAccepted(ctx, "web", accepted))
		row := must[ledger.Plugin](t)(s.Plugin(ctx, "web"))
		seen := ledger.PluginSeen{State: pluginsdk.PluginServing, Refused: ledger.RefusedSettings{
			Mark: row.SettingsMark(), Words: "no\x00 zone", At: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		}}
		check(t, s.SavePluginSeen(ctx, "web", seen))
		check(t, s.SetPluginEnabled(ctx, "web", true))
		check(t, s.EditPlugin(ctx, "web", "ann", "plugin.x", func(row *ledger.Plugin) (string, error) { row.Quarantine = ""; return "", nil }))
		row = must[ledger.Plugin](t)(s.Plugin(ctx, "web"))
		if !row.RefusesSettings() || ledger.SeenOf(row) != seen || row.WhenAccepted() != "2026-01-02 03:04:05 UTC" {
			t.Errorf("refused %+v, accepted %s", row.Refused, row.Accepted)
		}
		if all := ledger.ReadAccepted(row.Accepted); len(all) != 2 || !reflect.DeepEqual(*all[0], accepted) {
			t.Errorf("accepted %s", row.Accepted)
		}
		byHand(t, s, `UPDATE plugins SET settings = '{"b": 2}' WHERE name = 'web'`)
		if must[ledger.Plugin](t)(s.Plugin(ctx, "web")).RefusesSettings() {
			t.Error("what was edited by SQL counts as refused")
		}
		for _, damaged := range []string{`7`, `[]`, `"x"`, `{"mark":7}`} {
			byHand(t, s, `UPDATE plugins SET accepted_settings = '`+damaged+`', refused_settings = '`+damaged+`' WHERE name = 'web'`)
			if row := must[ledger.Plugin](t)(s.Plugin(ctx, "web")); row.Problem != "" || row.RefusesSettings() || row.WhenAccepted() != "" {
				t.Errorf("%s: problem %q, refused %+v", damaged, row.Problem, row.Refused)
			}
		}
		check(t, s.SavePluginSeen(ctx, "web", ledger.PluginSeen{}))
		check(t, s.RemovePlugin(ctx, ledger.PluginRemoval{Name: "web", KeepState: true, Detail: func(ledger.Plugin) (string, error) { return "", nil }}))
		register(t, s, "web", 5)
		if row := must[ledger.Plugin](t)(s.Plugin(ctx, "web")); row.Accepted != nil || row.Refused != (ledger.RefusedSettings{}) {
			t.Errorf("another plugin has %s, %+v", row.Accepted, row.Refused)
		}
	})
}

func TestPluginsAreInTheOperatorsOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for name, position := range map[string]int{"web": 2, "time": 1, "cron": 2, "activity": 1, "last": -1} {
			register(t, s, name, position)
		}
		var names []string
		for _, p := range must[[]ledger.Plugin](t)(s.Plugins(context.Background())) {
			names = append(names, p.Name)
		}
		if want := []string{"last", "activity", "time", "cron", "web"}; !reflect.DeepEqual(names, want) {
			t.Errorf("got %v, want %v", names, want)
		}
	})
}

// What the documentation tells operators to type works on both databases.
func TestPluginsAreSwitchedByHand(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		byHand(t, s, "INSERT INTO plugins (name) VALUES ('web')")
		type row struct {
			value string
			want  bool
		}
		rows := []row{{"true", true}, {"false", false}, {"'1'", true}, {"'FALSE'", false}, {"'yes'", true}, {"'off'", false}}
		if s.Dialect() == "sqlite3" {
			rows = append(rows, row{"1", true}, row{"0", false})
		}
		for _, test := range rows {
			byHand(t, s, "UPDATE plugins SET enabled = "+test.value+" WHERE name = 'web'")
			if p := must[ledger.Plugin](t)(s.Plugin(context.Background(), "web")); p.Enabled != test.want || p.Problem != "" {
				t.Errorf("enabled = %s: read as %v, problem %q", test.value, p.Enabled, p.Problem)
			}
		}
		check(t, s.SetPluginEnabled(context.Background(), "web", true))
		if p := must[ledger.Plugin](t)(s.Plugin(context.Background(), "web")); !p.Enabled || p.State != pluginsdk.PluginDisabled {
			t.Errorf("got %+v", p)
		}
	})
}

// One mistyped row must not stop the others, and must say what is wrong.
func TestBrokenPluginRow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "good", 2)
		tests := map[string]string{
			"settings = '[1]'":                     "settings",
			"granted = '{\"a\":1}'":                "granted",
			"on_failure = '{\"OnMessage\":\"x\"}'": "OnMessage",
		}
		if s.Dialect() == "sqlite3" { // Postgres refuses these itself
			tests["enabled = 'maybe'"] = "enabled"
			tests["settings = '{'"] = "settings"
			tests["granted = 'threads.read'"] = "granted"
			tests["position = 'first'"] = "position"
			tests["manifest = 'none'"] = "manifest"
		}
		for set, names := range tests {
			register(t, s, "bad", 1)
			byHand(t, s, "UPDATE plugins SET "+set+" WHERE name = 'bad'")
			found := 0
			for _, p := range must[[]ledger.Plugin](t)(s.Plugins(ctx)) {
				found++
				if p.Name == "bad" && !strings.Contains(p.Problem, names) {
					t.Errorf("SET %s: problem %q does not name %s", set, p.Problem, names)
				}
				if p.Name == "good" && (p.Problem != "" || len(p.Granted) != 1) {
					t.Errorf("SET %s: the other row is %+v", set, p)
				}
			}
			if found != 2 {
				t.Errorf("SET %s: %d rows, want 2", set, found)
			}
			check(t, s.SetPluginEnabled(ctx, "bad", true))
			check(t, removePlugin(ctx, s, "bad", false))
		}
	})
}

func TestUnknownPlugin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		wantCode(t, s.SetPluginEnabled(ctx, "nope", true), pluginsdk.CodeNotFound)
		wantCode(t, second(s.Plugin(ctx, "nope")), pluginsdk.CodeNotFound)
		wantCode(t, removePlugin(ctx, s, "nope", false), pluginsdk.CodeNotFound)
	})
}

// A plugin's own store keeps its bytes, and only its own.
func TestState(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		wantCode(t, second(s.GetState(ctx, "a", "k")), pluginsdk.CodeNotFound)
		binary := []byte{0, 1, 255, '\\', 'x'}
		check(t, put(s, "a", "k", []byte("first")))
		check(t, put(s, "a", "k", binary))
		check(t, put(s, "a", "K2", nil))
		check(t, put(s, "a", "other", []byte("x")))
		check(t, put(s, "b", "k", []byte("b's")))
		if got := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "a", "k")).Value; !reflect.DeepEqual(got, binary) {
			t.Errorf("got %v, want %v", got, binary)
		}
		if got := must[pluginsdk.StateEntry](t)(s.GetState(ctx, "a", "K2")).Value; len(got) != 0 {
			t.Errorf("got %v, want nothing in it", got)
		}
		if got := stateKeys(t, s, "a", ""); !reflect.DeepEqual(got, []string{"K2", "k", "other"}) {
			t.Errorf("keys %v", got)
		}
		if got := stateKeys(t, s, "a", "k"); !reflect.DeepEqual(got, []string{"k"}) {
			t.Errorf("keys with a prefix %v", got)
		}
		check(t, drop(s, "a", "k"))
		check(t, drop(s, "a", "k"))
		wantCode(t, second(s.GetState(ctx, "a", "k")), pluginsdk.CodeNotFound)
		check(t, second(s.GetState(ctx, "b", "k")))
	})
}

// removePlugin is what `harness plugin remove` ends in.
func removePlugin(ctx context.Context, s *store.Store, name string, keepState bool) error {
	return s.RemovePlugin(ctx, ledger.PluginRemoval{
		Name: name, Who: "ann", KeepState: keepState, Detail: func(ledger.Plugin) (string, error) { return "gone", nil },
	})
}
