package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shelf is a depot of manifests by source.
type shelf struct {
	manifests map[string]pluginsdk.Manifest
	publisher string // who has signed what is read; empty: nobody
	discarded int
}

func (s *shelf) Stage(_ context.Context, source string) (*registry.Package, error) {
	m, ok := s.manifests[source]
	if !ok {
		return nil, errors.New("nothing lies there")
	}
	return &registry.Package{
		Manifest: m, SHA256: "sum of " + source, Signature: registry.Signature{KeyID: s.publisher, Trusted: s.publisher != ""},
		Keep:    func(_ context.Context, commit func(string) error) error { return commit("/depot/" + source) },
		Discard: func() error { s.discarded++; return nil },
	}, nil
}

func (s *shelf) StageArchive(ctx context.Context, archive registry.Archive) (*registry.Package, error) {
	return s.Stage(ctx, archive.Name)
}

func (s *shelf) StageAgain(ctx context.Context, row ledger.Plugin) (*registry.Package, error) {
	return s.Stage(ctx, strings.TrimPrefix(row.Path, "/depot/"))
}
func (s *shelf) Verify(context.Context, ledger.Plugin) error      { return nil }
func (s *shelf) Accepts(string) error                             { return nil }
func (s *shelf) Sum(path string) (string, error)                  { return "sum of " + path, nil }
func (s *shelf) Added(string) time.Time                           { return time.Time{} }
func (s *shelf) Sweep(rows func() ([]ledger.Plugin, error)) error { _, err := rows(); return err }

func greets(name string) pluginsdk.Manifest {
	return pluginsdk.Manifest{
		Name: name, Version: "1", Commands: []pluginsdk.CommandSpec{{Name: "greet"}},
		Capabilities: []pluginsdk.CapabilityRequest{{Capability: pluginsdk.CapState}, {Capability: pluginsdk.CapMessagesRead}},
	}
}

// sameCommand finds the first command that two have.
func sameCommand(plugin ledger.Plugin, all []ledger.Plugin) (found []registry.Conflict) {
	for _, other := range all {
		if other.Name != plugin.Name && other.Enabled && other.Manifest.Commands[0].Name == plugin.Manifest.Commands[0].Name {
			found = append(found, registry.Conflict{What: "/" + plugin.Manifest.Commands[0].Name, Owner: other.Name})
		}
	}
	return found
}

func open(t *testing.T, database *store.Store) (*registry.Registry, *shelf) {
	shelf := &shelf{manifests: map[string]pluginsdk.Manifest{"a": greets("a"), "b": greets("b")}}
	return registry.New(registry.Config{
		Store: database, Depot: shelf, PluginDir: t.TempDir(), Running: func() bool { return false },
		Conflicts: sameCommand, Withheld: func(string) bool { return false },
		InForce: func(row ledger.Plugin) pluginsdk.PluginLimits { return row.Limits },
	}), shelf
}

// done carries a plan out, as one who agrees.
func done(t *testing.T) func(*registry.Plan, error) registry.Outcome {
	return func(plan *registry.Plan, err error) registry.Outcome {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := plan.Do(t.Context(), "ann")
		if err = errors.Join(err, plan.Discard()); err != nil {
			t.Fatal(err)
		}
		return outcome
	}
}

// Of two plugins that answer the same command only one may be turned on, also when two
// people turn them on at the same moment, each having looked before the other.
func TestTwoThatDeclareTheSameAreNotBothTurnedOn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, _ := open(t, database)
		for _, name := range []string{"a", "b"} {
			done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: name}))
		}
		for round := range 10 {
			var both sync.WaitGroup
			var first, second error
			both.Go(func() { _, first = r.Enable(t.Context(), "ann", registry.EnableRequest{Name: "a"}) })
			both.Go(func() { _, second = r.Enable(t.Context(), "bob", registry.EnableRequest{Name: "b"}) })
			both.Wait()
			if (first == nil) == (second == nil) || pluginsdk.CodeOf(errors.Join(first, second)) != pluginsdk.CodeConflict {
				t.Fatalf("round %d: %v, %v", round, first, second)
			}
			for _, name := range []string{"a", "b"} {
				if _, err := r.Disable(t.Context(), "ann", name); err != nil {
					t.Fatal(err)
				}
			}
		}
		entries, err := database.AuditEntries(t.Context(), "", 100)
		enabled := 0
		for _, entry := range entries {
			if entry.Action == "plugin.enable" {
				enabled++
			}
		}
		if err != nil || enabled != 10 {
			t.Errorf("%d plugins were turned on by the audit log, of 10: %v", enabled, err)
		}
	})
}

// What was found possible may not be any more by the time that somebody has said yes.
func TestAPlanIsCheckedAgainWhenItIsCarriedOut(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, shelf := open(t, database)
		plan, err := r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true})
		if err != nil {
			t.Fatal(err)
		}
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "b", Enable: true}))
		if _, err := plan.Do(t.Context(), "ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), "/greet, which b has") {
			t.Errorf("it was not refused: %v", err)
		}
		if err := plan.Discard(); err != nil || shelf.discarded != 2 {
			t.Errorf("%d packages discarded, %v", shelf.discarded, err)
		}
		rows, err := database.Plugins(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Name != "b" {
			t.Errorf("rows: %+v %v", rows, err)
		}
	})
}

// Whoever shows what was done must know it without asking again: what was granted, what
// is missing, which version there was and is.
func TestOutcomesSayWhatWasDone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, shelf := open(t, database)
		wants := registry.Grants{Capabilities: []string{"state"}}
		installed := done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Grants: wants}))
		if got := fmt.Sprint(installed.Changed, "; ", installed.Missing); got != "state; messages.read" {
			t.Errorf("install: %s", got)
		}
		second := greets("a")
		second.Version = "2"
		shelf.manifests["a2"] = second
		upgraded := done(t)(r.PlanUpgrade(t.Context(), registry.UpgradeRequest{Name: "a", Source: "a2", Grants: registry.Grants{AllCapabilities: true}}))
		if upgraded.Was.Version != "1" || upgraded.Plugin.Version != "2" || upgraded.Changed.String() != "messages.read" || !upgraded.Missing.None() {
			t.Errorf("upgrade: %+v", upgraded)
		}
		revoked, err := r.Revoke(t.Context(), "ann", registry.GrantRequest{Name: "a", Grants: wants})
		if err != nil || revoked.Changed.String() != "state" || revoked.Missing.String() != "state" {
			t.Errorf("revoke: %+v %v", revoked, err)
		}
		stored, err := database.Plugin(t.Context(), "a")
		if err != nil || stored.Generation != revoked.Plugin.Generation {
			t.Errorf("generation %d, said to be %d: %v", stored.Generation, revoked.Plugin.Generation, err)
		}
	})
}

// Work on a plugin that is also installed must not lose the installed version, nor keep
// the error of the build before: the same fault again must be seen to be new.
func TestABuildReplacesWhatIsInstalledAndIsGoneBackFrom(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, _ := open(t, database)
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true}))
		for _, sum := range []string{"1", "2"} {
			if err := database.SavePluginSeen(t.Context(), "a", ledger.PluginSeen{State: pluginsdk.PluginBackoff, LastError: "no token"}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Develop(t.Context(), "ann", registry.Build{Manifest: greets("a"), Path: "/home/" + sum, SHA256: sum}); err != nil {
				t.Fatal(err)
			}
			row, err := r.Plugin(t.Context(), "a")
			if err != nil || row.Origin != pluginsdk.OriginDev || row.SHA256 != sum || !row.Enabled || row.LastError != "" {
				t.Errorf("row: %+v %v", row, err)
			}
			if len(row.Previous) != 1 || row.Previous[0].Path != "/depot/a" {
				t.Errorf("previous versions: %+v", row.Previous)
			}
		}
		if back := done(t)(r.PlanRollback(t.Context(), registry.RollbackRequest{Name: "a"})); back.Plugin.Path != "/depot/a" {
			t.Errorf("rolled back to %s", back.Plugin.Path)
		}
		if fresh, err := r.Develop(t.Context(), "ann", registry.Build{Manifest: greets("b"), Path: "/home/b", SHA256: "b"}); err != nil || fresh.Was.Name != "" {
			t.Errorf("a new one: %+v %v", fresh, err)
		}
		row, err := r.Plugin(t.Context(), "b")
		if entries, noted := database.AuditEntries(t.Context(), "b", 10); err != nil || noted != nil || row.Enabled || len(entries) != 1 || entries[0].Action != "plugin.dev" {
			t.Errorf("a new one: %+v, %+v, %v %v", row, entries, err, noted)
		}
	})
}

// Who agrees to remove a plugin has seen one version of it. Another, which somebody has put
// in its place meanwhile, must neither be turned off nor lost, with its state.
func TestOnlyWhatWasSeenIsRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, shelf := open(t, database)
		shelf.manifests["a2"], shelf.manifests["a3"] = greets("a"), greets("a")
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true}))
		kept := func(when string, plan *registry.Plan, enabled bool, version string) {
			t.Helper()
			if _, err := plan.Do(t.Context(), "ann"); pluginsdk.CodeOf(err) != pluginsdk.CodeConflict {
				t.Errorf("%s: %v", when, err)
			}
			if row, err := r.Plugin(t.Context(), "a"); err != nil || row.Enabled != enabled || row.Path != version {
				t.Errorf("%s: enabled %v, at %s: %v", when, row.Enabled, row.Path, err)
			}
		}
		planned := func() *registry.Plan {
			t.Helper()
			plan, err := r.PlanRemove(t.Context(), registry.RemoveRequest{Name: "a"})
			if err != nil {
				t.Fatal(err)
			}
			return plan
		}
		plan := planned()
		done(t)(r.PlanUpgrade(t.Context(), registry.UpgradeRequest{Name: "a", Source: "a2"}))
		kept("before it is turned off", plan, true, "/depot/a2")

		plan = planned()
		if err := database.SavePluginSeen(t.Context(), "a", ledger.PluginSeen{State: pluginsdk.PluginServing}); err != nil {
			t.Fatal(err)
		}
		r.Running = sync.OnceValue(func() bool { // while it is waited for the daemon
			done(t)(r.PlanUpgrade(t.Context(), registry.UpgradeRequest{Name: "a", Source: "a3"}))
			return false
		})
		kept("after it was turned off", plan, false, "/depot/a3")
		done(t)(planned(), nil)
		if _, err := r.Plugin(t.Context(), "a"); pluginsdk.CodeOf(err) != pluginsdk.CodeNotFound {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// A command that an upgrade has given up may be another plugin's by now: to go back must
// not take it away in silence.
func TestRollbackTakesNothingFromAnother(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		r, shelf := open(t, database)
		second := greets("a")
		second.Version, second.Commands = "2", []pluginsdk.CommandSpec{{Name: "wave"}}
		shelf.manifests["a2"] = second
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true}))
		done(t)(r.PlanUpgrade(t.Context(), registry.UpgradeRequest{Name: "a", Source: "a2"}))
		back := registry.RollbackRequest{Name: "a"}
		plan, err := r.PlanRollback(t.Context(), back) // nobody has the command yet
		if err != nil {
			t.Fatal(err)
		}
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "b", Enable: true}))
		_, late := plan.Do(t.Context(), "ann")
		_, early := r.PlanRollback(t.Context(), back)
		for when, err := range map[string]error{"when it is planned": early, "when it is carried out": late} {
			if pluginsdk.CodeOf(err) != pluginsdk.CodeConflict || !strings.Contains(err.Error(), "/greet, which b has") || !strings.Contains(err.Error(), "`harness plugin rollback a --force`") {
				t.Errorf("%s: %v", when, err)
			}
		}
		back.To, back.Force = "1", true
		if forced := done(t)(r.PlanRollback(t.Context(), back)); forced.Plugin.Version != "1" {
			t.Errorf("forced: %+v", forced.Plugin)
		}
	})
}
