package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What one operator takes back must not come back with what another one grants at
// the same time.
func TestEditsOfAPluginAreNotLost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		const n = 16
		register(t, s, "web", 1)
		has := make([]pluginsdk.Capability, n)
		for i := range has {
			has[i] = pluginsdk.Capability(fmt.Sprintf("old.%d", i))
		}
		check(t, s.SetPluginGrants(ctx, "web", has, nil))
		var group sync.WaitGroup
		edit := func(f func(*ledger.Plugin)) {
			group.Go(func() {
				check(t, s.EditPlugin(ctx, "web", "ann", "plugin.test", func(row *ledger.Plugin) (string, error) {
					f(row)
					return "", nil
				}))
			})
		}
		for i := range n {
			edit(func(row *ledger.Plugin) {
				row.Granted = append(row.Granted, pluginsdk.Capability(fmt.Sprintf("new.%d", i)))
			})
			edit(func(row *ledger.Plugin) {
				row.Granted = slices.DeleteFunc(row.Granted, func(one pluginsdk.Capability) bool { return one == has[i] })
			})
		}
		group.Wait()
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "web")).Granted
		slices.Sort(got)
		want := make([]pluginsdk.Capability, n)
		for i := range want {
			want[i] = pluginsdk.Capability(fmt.Sprintf("new.%d", i))
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("granted %v, want %v", got, want)
		}
		if entries := must[[]store.AuditEntry](t)(s.AuditEntries(ctx, "", 100)); len(entries) != 2*n {
			t.Errorf("%d entries in the audit log, want %d", len(entries), 2*n)
		}
	})
}

// A change that is not noted is not made, and one that is refused is not noted.
func TestAnEditIsWholeOrNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "web", 1)
		byHand(t, s, `UPDATE plugins SET limits = '[1]' WHERE name = 'web'`)
		refusal := errors.New("no")
		err := s.EditPlugin(ctx, "web", "ann", "plugin.test", func(row *ledger.Plugin) (string, error) {
			row.Enabled = false
			return "", refusal
		})
		if !errors.Is(err, refusal) || !must[ledger.Plugin](t)(s.Plugin(ctx, "web")).Enabled {
			t.Errorf("refused with %v", err)
		}
		if entries := must[[]store.AuditEntry](t)(s.AuditEntries(ctx, "", 100)); len(entries) != 0 {
			t.Errorf("noted: %+v", entries)
		}
		check(t, s.EditPlugin(ctx, "web", "ann", "plugin.test", func(row *ledger.Plugin) (string, error) {
			row.Path, row.SHA256, row.Version, row.Manifest = "/new", "2", "2", pluginsdk.Manifest{Name: "web", Version: "2"}
			row.Origin, row.Publisher, row.Quarantine, row.LastError = pluginsdk.OriginStore, "key", "why", "what"
			row.Enabled, row.Position, row.GrantedEnv, row.GrantsVersion = false, 7, []string{"TZ"}, 4
			row.Previous = []ledger.PluginVersion{{Version: "1"}}
			row.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}
			return "all of it", nil
		}))
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "web"))
		want := ledger.Plugin{
			PluginInfo: pluginsdk.PluginInfo{
				Name: "web", SHA256: "2", Version: "2", Manifest: pluginsdk.Manifest{Name: "web", Version: "2"},
				Origin: pluginsdk.OriginStore, Publisher: "key", Quarantine: "why", LastError: "what", Position: 7, GrantedEnv: []string{"TZ"},
				OnFailure: map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed},
				Granted:   []pluginsdk.Capability{pluginsdk.CapState}, State: got.State, UpdatedAt: got.UpdatedAt, Problem: got.Problem,
			},
			Path: "/new", Previous: []ledger.PluginVersion{{Version: "1"}}, Settings: got.Settings, Generation: 1, GrantsVersion: 4,
		}
		same(t, want, got)
		if got.Problem == "" || string(got.Settings) != `{"a":1}` {
			t.Errorf("what was mistyped is gone: problem %q, settings %s", got.Problem, got.Settings)
		}
		entry := only[store.AuditEntry](t)(s.AuditEntries(ctx, "", 100))
		if entry.Who != "ann" || entry.Action != "plugin.test" || entry.Target != "web" || entry.Detail != "all of it" {
			t.Errorf("noted: %+v", entry)
		}
		wantCode(t, s.EditPlugin(ctx, "nope", "ann", "x", func(*ledger.Plugin) (string, error) { return "", nil }), pluginsdk.CodeNotFound)
	})
}

// Of two operators who install a plugin of one name at once, one must not take the
// other's place.
func TestAPluginIsAddedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "web", 40)
		check(t, s.AddPlugin(ctx, ledger.Plugin{
			PluginInfo: pluginsdk.PluginInfo{Name: "clock", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapState}}, Path: "/1",
		}, "ann", "plugin.install", "version 1"))
		wantCode(t, s.AddPlugin(ctx, ledger.Plugin{PluginInfo: pluginsdk.PluginInfo{Name: "clock"}, Path: "/2"}, "bob", "plugin.install", "version 2"), pluginsdk.CodeConflict)
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "clock"))
		if got.Path != "/1" || !got.Enabled || len(got.Granted) != 1 || got.Position != 50 || got.State != pluginsdk.PluginDisabled {
			t.Errorf("added: %+v", got)
		}
		if entry := only[store.AuditEntry](t)(s.AuditEntries(ctx, "", 100)); entry.Who != "ann" {
			t.Errorf("noted: %+v", entry)
		}
	})
}
