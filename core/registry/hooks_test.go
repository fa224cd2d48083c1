package registry_test

import (
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// listens is a plugin that asks for nothing and answers hooks.
func listens(version string, hooks ...pluginsdk.Hook) pluginsdk.Manifest {
	return pluginsdk.Manifest{Name: "listens", Version: version, Hooks: hooks}
}

// Whoever installs a plugin has to see that it reads every message; a version that wants to
// change replies, too, must not come to that by itself, nor by a rollback.
func TestHooksAreWantedAndNeverGrantedInSilence(t *testing.T) {
	r, depot := open(t, storetest.Open(t))
	depot.manifests["a"] = listens("1", pluginsdk.HookMessage, pluginsdk.HookAfterInvoke, pluginsdk.HookCheck)
	depot.manifests["b"] = listens("2", pluginsdk.HookMessage, pluginsdk.HookBeforeReply, pluginsdk.HookTaskFailed)

	installed := done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true}))
	if got := installed.Missing.Capabilities; !slices.Equal(got, []pluginsdk.Capability{pluginsdk.CapTurnsRead}) || installed.Plugin.Granted != nil {
		t.Errorf("a plugin that is told of messages lacks %q, and was granted %q", got, installed.Plugin.Granted)
	}
	given, err := r.Grant(t.Context(), "op", registry.GrantRequest{Name: "listens", Grants: registry.Grants{Capabilities: []string{"turns.read"}}})
	if err != nil || !given.Missing.None() || given.Plugin.MayAnswer(pluginsdk.HookMessage) != nil {
		t.Errorf("once it is granted it lacks %v, %v", given.Missing, err)
	}
	upgraded := done(t)(r.PlanUpgrade(t.Context(), registry.UpgradeRequest{Name: "listens", Source: "b"}))
	if got := upgraded.Missing.Capabilities; !slices.Equal(got, []pluginsdk.Capability{pluginsdk.CapTasksRead, pluginsdk.CapTurnsChange}) {
		t.Errorf("the new version lacks %q", got)
	}
	if upgraded.Plugin.MayAnswer(pluginsdk.HookBeforeReply) == nil || upgraded.Plugin.MayAnswer(pluginsdk.HookMessage) != nil {
		t.Errorf("the new version was granted %q", upgraded.Plugin.Granted)
	}
	back := done(t)(r.PlanRollback(t.Context(), registry.RollbackRequest{Name: "listens"}))
	if !slices.Equal(back.Plugin.Granted, []pluginsdk.Capability{pluginsdk.CapTurnsRead}) {
		t.Errorf("after the rollback it has %q", back.Plugin.Granted)
	}
	if _, err := r.Grant(t.Context(), "op", registry.GrantRequest{Name: "listens", Grants: registry.Grants{Capabilities: []string{"turns.decide"}}}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("what none of its hooks needs: %v", err)
	}
	gone, err := r.Revoke(t.Context(), "op", registry.GrantRequest{Name: "listens", Grants: registry.Grants{Capabilities: []string{"turns.read"}}})
	if err != nil || gone.Plugin.MayAnswer(pluginsdk.HookMessage) == nil {
		t.Errorf("once it is revoked it has %q, %v", gone.Plugin.Granted, err)
	}
}

// What an upgrade of Harness has granted stays in sight until somebody has looked at it; a
// plugin does not confirm what it, or another of its author, got that way.
func TestWhatAnUpgradeHasGrantedIsConfirmed(t *testing.T) {
	s := storetest.Open(t)
	r, depot := open(t, s)
	depot.manifests["a"] = listens("1", pluginsdk.HookMessage, pluginsdk.HookBeforeReply)
	done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{Source: "a", Enable: true}))
	upgrade := func(name string, granted, unconfirmed []pluginsdk.Capability) {
		change := ledger.PluginChange{Name: name, Who: "upgrade", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
			row.Granted, row.Unconfirmed = granted, unconfirmed
			return "", nil
		}}
		_, known := s.Plugin(t.Context(), name)
		edit := s.ChangePlugin
		if known != nil {
			edit = s.AddPlugin
		}
		if err := edit(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	both := []pluginsdk.Capability{pluginsdk.CapTurnsChange, pluginsdk.CapTurnsRead}
	upgrade("listens", both, both)
	upgrade("friend", append(both, pluginsdk.CapPluginsAdmin), nil)
	upgrade("web", append(both, pluginsdk.CapPluginsAdmin), nil)

	for _, row := range []struct {
		who   *registry.Registry
		grant string
		left  []pluginsdk.Capability
	}{
		{r.For("friend"), "turns.read", both},
		{r.For("web"), "turns.read", both[:1]},
		{r, "turns.change", nil},
	} {
		outcome, err := row.who.Grant(t.Context(), "somebody", registry.GrantRequest{Name: "listens", Grants: registry.Grants{Capabilities: []string{row.grant}}})
		if err != nil || !slices.Equal(outcome.Plugin.Unconfirmed, row.left) || !slices.Equal(outcome.Plugin.Granted, both) {
			t.Errorf("after %s: unconfirmed are %q of %q, %v", row.grant, outcome.Plugin.Unconfirmed, outcome.Plugin.Granted, err)
		}
	}
	upgrade("listens", both, both)
	outcome, err := r.Revoke(t.Context(), "op", registry.GrantRequest{Name: "listens", Grants: registry.Grants{AllCapabilities: true}})
	if err != nil || len(outcome.Plugin.Unconfirmed) > 0 {
		t.Errorf("what was taken back is unconfirmed: %q, %v", outcome.Plugin.Unconfirmed, err)
	}
}

// A plugin that decides about others must not have all work wait by a plugin whose closed hook
// lacks its grant, whichever way it has that turned on. An operator may, and sees it.
func TestAPluginTurnsOnNoClosedHookWithoutItsGrant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		gate := func(version string, hooks ...pluginsdk.Hook) pluginsdk.Manifest {
			m := wants("gate", version)
			m.Hooks = hooks
			return m
		}
		o.shelf.manifests["open"] = gate("1", pluginsdk.HookMessage)
		o.shelf.manifests["gate"] = gate("2", pluginsdk.HookMessage, pluginsdk.HookBeforeRun)
		strict := gate("3", pluginsdk.HookMessage)
		strict.OnFailure = map[pluginsdk.Hook]pluginsdk.OnFailure{pluginsdk.HookMessage: pluginsdk.FailClosed}
		o.shelf.manifests["strict"] = strict
		enable := func(as *registry.Registry, name string) func() error {
			return func() error {
				_, err := as.Enable(ctx, "plugin:page", registry.EnableRequest{Name: name})
				return err
			}
		}
		install := func(source string, on bool) func() error {
			return func() error {
				plan, err := o.page.PlanInstall(ctx, registry.InstallRequest{Source: source, Enable: on})
				return do(t, plan, err)
			}
		}
		upgrade := func(source string) func() error {
			return func() error {
				plan, err := o.page.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "gate", Source: source})
				return do(t, plan, err)
			}
		}
		may := func(what string, do func() error) {
			t.Helper()
			if err := do(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		says := []string{"OnBeforeRun", "harness plugin grant gate turns.decide", "harness plugin enable gate"}
		o.refused("to install it and turn it on", install("gate", true), says...)
		may("to install it", install("gate", false))
		o.refused("to turn it on", enable(o.page, "gate"), says...)
		may("an operator turns it on", enable(o.Registry, "gate"))
		may("it stays on", enable(o.page, "gate"))
		_, err := o.page.Disable(ctx, "plugin:page", "gate")
		may("to turn it off", func() error { return err })
		_, err = o.Grant(ctx, "op", registry.GrantRequest{Name: "gate", Grants: capabilities("turns.decide")})
		may("an operator grants it", func() error { return err })
		may("to turn on what was granted", enable(o.page, "gate"))
		_, err = o.page.Revoke(ctx, "plugin:page", registry.GrantRequest{Name: "gate", Grants: capabilities("turns.decide")})
		may("to take back what an upgrade of Harness may have granted", func() error { return err })

		done(t)(o.PlanRemove(ctx, registry.RemoveRequest{Name: "gate"}))
		may("to turn on one that may be passed over", install("open", true))
		o.refused("an upgrade to a closed hook", upgrade("gate"), says[:2]...)
		o.refused("an upgrade to a hook that is to be closed", upgrade("strict"), "OnMessage", "turns.read")

		// A plugin turns itself on and off, with no hook that lacks its grant.
		_, err = o.page.Disable(ctx, "plugin:page", "page")
		may("to turn itself off", func() error { return err })
		may("to turn itself on", enable(o.page, "page"))
		_, err = o.page.Disable(ctx, "plugin:page", "page")
		may("to turn itself off", func() error { return err })
		closed := o.shelf.manifests["page2"]
		closed.Hooks = []pluginsdk.Hook{pluginsdk.HookBeforeRun}
		o.shelf.manifests["page2"] = closed
		done(t)(o.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "page", Source: "page2"}))
		o.refused("to turn itself on with a closed hook", enable(o.page, "page"), "OnBeforeRun")
	})
}
