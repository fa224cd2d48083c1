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
		add := func(who, path string) error {
			return s.AddPlugin(ctx, ledger.PluginChange{Name: "clock", Who: who, Action: "plugin.install", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
				row.Enabled, row.Granted, row.Path = true, []pluginsdk.Capability{pluginsdk.CapState}, path
				return "version " + path, nil
			}})
		}
		check(t, add("ann", "/1"))
		wantCode(t, add("bob", "/2"), pluginsdk.CodeConflict)
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "clock"))
		if got.Path != "/1" || !got.Enabled || len(got.Granted) != 1 || got.Position != 50 || got.State != pluginsdk.PluginDisabled {
			t.Errorf("added: %+v", got)
		}
		if entry := only[store.AuditEntry](t)(s.AuditEntries(ctx, "", 100)); entry.Who != "ann" {
			t.Errorf("noted: %+v", entry)
		}
	})
}

// Two plugins must not be turned on at the same time because each was off when the
// other was looked at.
func TestOfTwoThatWantTheSameOneIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for round := range 10 {
			names := []string{fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)}
			var both sync.WaitGroup
			refused := make([]error, 2)
			for n, name := range names {
				register(t, s, name, n)
				check(t, s.SetPluginEnabled(t.Context(), name, false))
			}
			for n, name := range names {
				both.Go(func() { refused[n] = s.ChangePlugin(t.Context(), enableAlone(name, names[1-n])) })
			}
			both.Wait()
			if (refused[0] == nil) == (refused[1] == nil) {
				t.Fatalf("round %d: %v, %v", round, refused[0], refused[1])
			}
			if entries := must[[]store.AuditEntry](t)(s.AuditEntries(t.Context(), "", 100)); len(entries) != round+1 {
				t.Fatalf("round %d: %d entries", round, len(entries))
			}
		}
	})
}

// enableAlone turns a plugin on unless the other is on.
func enableAlone(name, other string) ledger.PluginChange {
	return ledger.PluginChange{Name: name, Who: "ann", Action: "plugin.enable", Edit: func(row *ledger.Plugin, all []ledger.Plugin) (string, error) {
		for _, one := range all {
			if one.Name == other && one.Enabled {
				return "", pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is on", other)
			}
		}
		row.Enabled = true
		return "", nil
	}}
}

// A plugin that somebody has turned on again meanwhile stays, and nobody reads that it
// went.
func TestARemovalThatIsRefusedLeavesAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		register(t, s, "web", 40)
		err := s.RemovePlugin(t.Context(), ledger.PluginRemoval{Name: "web", Who: "ann", Detail: func(ledger.Plugin) (string, error) {
			return "", pluginsdk.Errorf(pluginsdk.CodeConflict, "it is on")
		}})
		wantCode(t, err, pluginsdk.CodeConflict)
		must[ledger.Plugin](t)(s.Plugin(t.Context(), "web"))
		if entries := must[[]store.AuditEntry](t)(s.AuditEntries(t.Context(), "", 100)); len(entries) != 0 {
			t.Errorf("noted: %+v", entries)
		}
		check(t, removePlugin(t.Context(), s, "web", false))
		if entry := only[store.AuditEntry](t)(s.AuditEntries(t.Context(), "", 100)); entry.Action != "plugin.remove" || entry.Detail != "gone" {
			t.Errorf("noted: %+v", entry)
		}
	})
}
