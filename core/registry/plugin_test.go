package registry_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// wants is a manifest that asks for capabilities, and for the variable HOME.
func wants(name, version string, capabilities ...pluginsdk.Capability) pluginsdk.Manifest {
	m := pluginsdk.Manifest{
		Name: name, Version: version, Commands: []pluginsdk.CommandSpec{{Name: name}},
		Environment: []pluginsdk.EnvironmentRequest{{Name: "HOME"}},
	}
	for _, capability := range capabilities {
		m.Capabilities = append(m.Capabilities, pluginsdk.CapabilityRequest{Capability: capability})
	}
	return m
}

// office is an installation with plugins, in this order: first and second, which may
// state; page, a dashboard that may state and plugins.admin; richer, which may what page
// may not; last. page speaks as the dashboard.
type office struct {
	*testing.T
	*registry.Registry
	page     *registry.Registry
	shelf    *shelf
	database *store.Store
}

func openOffice(t *testing.T, database *store.Store) *office {
	r, shelf := open(t, database)
	o := &office{t, r, r.For("page"), shelf, database}
	for _, plugin := range []struct {
		name    string
		granted []string
		env     []string
	}{
		{name: "first", granted: []string{"state"}},
		{name: "second", granted: []string{"state"}},
		{name: "page", granted: []string{"state", "plugins.admin"}},
		{name: "richer", granted: []string{"messages.read"}},
		{name: "last", env: []string{"HOME"}},
	} {
		m := wants(plugin.name, "1", pluginsdk.CapState, pluginsdk.CapMessagesRead, pluginsdk.CapPluginsAdmin)
		shelf.manifests[plugin.name] = m
		m.Version = "2"
		shelf.manifests[plugin.name+"2"] = m
		done(t)(r.PlanInstall(t.Context(), registry.InstallRequest{
			Source: plugin.name, Enable: true, Grants: registry.Grants{Capabilities: plugin.granted, Env: plugin.env},
		}))
	}
	return o
}

// refused checks that the dashboard is denied something in words that help, and that
// nothing has changed.
func (o *office) refused(what string, do func() error, words ...string) {
	o.Helper()
	before, _ := o.database.Plugins(o.Context())
	err := do()
	if pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		o.Errorf("%s: %v, want it denied", what, err)
		return
	}
	for _, word := range append(words, "page", "an operator can: `harness plugin") {
		if !strings.Contains(err.Error(), word) {
			o.Errorf("%s: %q does not say %q", what, err, word)
		}
	}
	after, _ := o.database.Plugins(o.Context())
	same := func(a, b ledger.Plugin) bool { return a.Name == b.Name && a.Generation == b.Generation }
	if !slices.EqualFunc(before, after, same) {
		o.Errorf("%s: it was refused, and something has changed", what)
	}
}

// do carries a plan out, as the dashboard.
func do(t *testing.T, plan *registry.Plan, err error) error {
	t.Helper()
	if err != nil {
		return err
	}
	_, err = plan.Do(t.Context(), "plugin:page")
	if discarded := plan.Discard(); discarded != nil {
		t.Error(discarded)
	}
	return err
}

func capabilities(names ...string) registry.Grants { return registry.Grants{Capabilities: names} }

// A plugin that may decide about others must not become more by that than its operator
// has made of it, itself or through another.
func TestAPluginGivesNobodyMoreThanItHas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		o.shelf.manifests["new"] = wants("new", "1", pluginsdk.CapState, pluginsdk.CapMessagesRead, pluginsdk.CapPluginsAdmin)
		install := func(grants registry.Grants) func() error {
			return func() error {
				plan, err := o.page.PlanInstall(ctx, registry.InstallRequest{Source: "new", Grants: grants})
				return do(t, plan, err)
			}
		}
		upgrade := func(name string, grants registry.Grants) func() error {
			return func() error {
				plan, err := o.page.PlanUpgrade(ctx, registry.UpgradeRequest{Name: name, Source: name + "2", Grants: grants})
				return do(t, plan, err)
			}
		}
		grant := func(name string, grants registry.Grants) func() error {
			return func() error {
				_, err := o.page.Grant(ctx, "plugin:page", registry.GrantRequest{Name: name, Grants: grants})
				return err
			}
		}
		o.refused("a capability that it lacks, at an install", install(capabilities("state", "messages.read")), "messages.read", "harness plugin grant new")
		o.refused("the right to decide, at an install", install(capabilities("plugins.admin")), "plugins.admin")
		o.refused("a variable, at an install", install(registry.Grants{Env: []string{"HOME"}}), "env HOME")
		o.refused("all, at an install", install(registry.Grants{AllCapabilities: true, AllEnv: true}), "messages.read")
		o.refused("a capability that it lacks, at an upgrade", upgrade("first", capabilities("messages.read")), "messages.read")
		o.refused("a variable, at an upgrade", upgrade("first", registry.Grants{Env: []string{"HOME"}}), "env HOME")
		o.refused("a capability that it lacks", grant("first", capabilities("messages.read")), "messages.read", "harness plugin grant first")
		o.refused("the right to decide", grant("first", capabilities("plugins.admin")), "plugins.admin")
		o.refused("a variable", grant("first", registry.Grants{Env: []string{"HOME"}}), "env HOME")
		o.refused("a version of a plugin with a capability that it lacks", upgrade("richer", registry.Grants{}), "messages.read", "harness plugin upgrade")
		o.refused("a version of a plugin with a variable that it lacks", upgrade("last", registry.Grants{}), "env HOME")
		done(t)(o.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "richer", Source: "richer2"}))
		o.refused("an earlier version of such a plugin", func() error {
			plan, err := o.page.PlanRollback(ctx, registry.RollbackRequest{Name: "richer"})
			return do(t, plan, err)
		}, "messages.read", "harness plugin rollback")

		for what, do := range map[string]func() error{
			"install": install(capabilities("state")), "upgrade": upgrade("first", registry.Grants{}), "grant": grant("richer", capabilities("state")),
		} {
			if err := do(); err != nil {
				t.Errorf("%s of what it may: %v", what, err)
			}
		}
		row, err := o.Plugin(ctx, "new")
		if may, failed := o.page.MayGrant(ctx, o.Missing(row)); err != nil || failed != nil || !may.None() {
			t.Errorf("it may still grant %s: %v %v", may, err, failed)
		}
		entries, err := database.AuditEntries(ctx, "new", 10)
		if err != nil || len(entries) != 1 || entries[0].Who != "plugin:page" || entries[0].Action != "plugin.install" {
			t.Errorf("the audit log has %+v: %v", entries, err)
		}
	})
}

// Whoever has agreed to a dashboard has agreed to that one, with what it may and where it
// stands: none may change its own terms.
func TestAPluginDecidesNothingAboutItself(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		who := "plugin:page"
		done(t)(o.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "page", Source: "page2"}))
		o.shelf.manifests["page3"] = o.shelf.manifests["page"]
		order := func(request registry.OrderRequest) func() error {
			return func() error {
				_, err := o.page.Order(ctx, who, request)
				return err
			}
		}
		for what, change := range map[string]func() error{
			"grant": func() error {
				_, err := o.page.Grant(ctx, who, registry.GrantRequest{Name: "page", Grants: capabilities("messages.read")})
				return err
			},
			"revoke": func() error {
				_, err := o.page.Revoke(ctx, who, registry.GrantRequest{Name: "page", Grants: capabilities("state")})
				return err
			},
			"limits": func() error {
				_, err := o.page.SetLimits(ctx, who, "page", func(l pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error) {
					l.CPUPercent = 1
					return l, nil
				})
				return err
			},
			"upgrade": func() error {
				plan, err := o.page.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "page", Source: "page3"})
				return do(t, plan, err)
			},
			"rollback": func() error {
				plan, err := o.page.PlanRollback(ctx, registry.RollbackRequest{Name: "page"})
				return do(t, plan, err)
			},
			"remove": func() error {
				plan, err := o.page.PlanRemove(ctx, registry.RemoveRequest{Name: "page"})
				return do(t, plan, err)
			},
			"trust": func() error {
				plan, err := o.page.PlanTrust(ctx, "first")
				return do(t, plan, err)
			},
			"move itself":             order(registry.OrderRequest{Name: "page", Before: "first"}),
			"exchange itself":         order(registry.OrderRequest{Names: []string{"page", "first"}}),
			"move another in front":   order(registry.OrderRequest{Name: "last", Before: "first"}),
			"move another behind":     order(registry.OrderRequest{Name: "first", After: "last"}),
			"exchange others past it": order(registry.OrderRequest{Names: []string{"last", "first"}}),
		} {
			o.refused(what, change)
		}
		for _, request := range []registry.OrderRequest{{Name: "second", Before: "first"}, {Names: []string{"last", "richer"}}} {
			if err := order(request)(); err != nil {
				t.Errorf("an order on one side of it, %+v: %v", request, err)
			}
		}
		rows, err := database.Plugins(ctx)
		var names []string
		for _, row := range rows {
			names = append(names, row.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != "second first page last richer" {
			t.Errorf("the order is %s: %v", got, err)
		}
	})
}

// A plugin's operator bounds it. What it installs, or gives more room, would be its way
// around the bound.
func TestAPluginSetsNoLimitAboveItsOwn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		set := func(r *registry.Registry, name string, limits pluginsdk.PluginLimits) error {
			_, err := r.SetLimits(ctx, "somebody", name, func(pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error) { return limits, nil })
			return err
		}
		standard := pluginsdk.PluginLimits{MemoryBytes: 1 << 30, CallsPerMinute: 1000, CPUPercent: registry.NoLimit}
		o.page.InForce = func(row ledger.Plugin) pluginsdk.PluginLimits {
			limits := row.Limits
			if limits.MemoryBytes == 0 {
				limits.MemoryBytes = standard.MemoryBytes
			}
			if limits.CallsPerMinute == 0 {
				limits.CallsPerMinute = standard.CallsPerMinute
			}
			if limits.CPUPercent == 0 {
				limits.CPUPercent = standard.CPUPercent
			}
			return limits
		}
		for name, limits := range map[string]pluginsdk.PluginLimits{"page": {CallsPerMinute: 100}, "first": {CallsPerMinute: 500}, "second": {CallsPerMinute: 10}} {
			if err := set(o.Registry, name, limits); err != nil {
				t.Fatal(err)
			}
		}
		for what, limits := range map[string]pluginsdk.PluginLimits{
			"more than its own":          {CallsPerMinute: 101},
			"none":                       {CallsPerMinute: registry.NoLimit},
			"the default, which is more": {},
			"more than its default":      {CallsPerMinute: 10, MemoryBytes: 2 << 30},
		} {
			o.refused(what, func() error { return set(o.page, "second", limits) }, "(its own is ", "harness plugin limits second")
		}
		for what, limits := range map[string]pluginsdk.PluginLimits{
			"as much as its own": {CallsPerMinute: 100}, "less": {CallsPerMinute: 5, CPUPercent: 50}, "none where it has none": {CallsPerMinute: 5, CPUPercent: registry.NoLimit},
		} {
			if err := set(o.page, "second", limits); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := set(o.page, "first", pluginsdk.PluginLimits{CallsPerMinute: 400}); err != nil {
			t.Errorf("less than before, and still more than its own: %v", err)
		}
		o.shelf.manifests["new"] = wants("new", "1")
		plan, err := o.page.PlanInstall(ctx, registry.InstallRequest{Source: "new"})
		if err := do(t, plan, err); err != nil {
			t.Fatal(err)
		}
		if row, err := o.Plugin(ctx, "new"); err != nil || row.Limits != (pluginsdk.PluginLimits{CallsPerMinute: 100}) {
			t.Errorf("what it has installed has the limits %+v: %v", row.Limits, err)
		}
	})
}

// Who chooses a plugin's code reads its secrets and its state. They were given to the
// plugin, and to nobody who may replace it.
func TestAPluginReadsNoSecretsByReplacingTheirPlugin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		for _, name := range []string{"first", "second"} {
			err := database.EditPluginSettings(ctx, name, "ann", func(values json.RawMessage, _ map[string][]byte) (json.RawMessage, map[string][]byte, string, error) {
				return values, map[string][]byte{"token": []byte("sealed")}, "", nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		upgrade := func() error {
			plan, err := o.page.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "first", Source: "first2"})
			return do(t, plan, err)
		}
		o.refused("a version of a plugin with secrets", upgrade, "secrets (1)", "harness plugin upgrade first")
		o.shelf.publisher = "AB"
		o.refused("one that another has signed", upgrade, "secrets (1)")
		o.shelf.manifests["first3"] = o.shelf.manifests["first"]
		done(t)(o.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "first", Source: "first3"}))
		if err := upgrade(); err != nil {
			t.Errorf("one that the same trusted publisher has signed: %v", err)
		}
		done(t)(o.PlanRemove(ctx, registry.RemoveRequest{Name: "second", KeepState: true}))
		o.refused("a plugin under the name of one that has left secrets", func() error {
			plan, err := o.page.PlanInstall(ctx, registry.InstallRequest{Source: "second"})
			return do(t, plan, err)
		}, "secrets (1)", "harness plugin install")
	})
}

// The plugins that come with Harness are what an installation can rely on.
func TestAPluginTakesNothingFromThoseThatComeWithHarness(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		err := database.AddPlugin(ctx, ledger.PluginChange{Name: "activity", Who: "daemon", Action: "plugin.found", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (string, error) {
			row.Origin, row.Manifest = pluginsdk.OriginDirectory, wants("activity", "1", pluginsdk.CapState)
			row.Granted = []pluginsdk.Capability{pluginsdk.CapMessagesWrite}
			return "", nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		o.refused("its grants", func() error {
			_, err := o.page.Revoke(ctx, "plugin:page", registry.GrantRequest{Name: "activity", Grants: capabilities("messages.write")})
			return err
		}, "activity, which comes with Harness", "harness plugin revoke activity")
		o.refused("itself", func() error {
			plan, err := o.page.PlanRemove(ctx, registry.RemoveRequest{Name: "activity"})
			return do(t, plan, err)
		}, "activity, which comes with Harness")
		if _, err := o.page.Revoke(ctx, "plugin:page", registry.GrantRequest{Name: "richer", Grants: capabilities("messages.read")}); err != nil {
			t.Errorf("from another: %v", err)
		}
		plan, err := o.page.PlanRemove(ctx, registry.RemoveRequest{Name: "last"})
		if err := do(t, plan, err); err != nil {
			t.Errorf("remove another: %v", err)
		}
	})
}

// What an operator has taken back since the plan was made does not hold any more when it
// is carried out: neither the right to decide, nor what is given on.
func TestWhatAPluginMayIsAskedWhenItIsDone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, database *store.Store) {
		o, ctx := openOffice(t, database), t.Context()
		o.shelf.manifests["new"] = wants("new", "1", pluginsdk.CapState)
		installing, err := o.page.PlanInstall(ctx, registry.InstallRequest{Source: "new", Grants: capabilities("state")})
		if err != nil {
			t.Fatal(err)
		}
		upgrading, err := o.page.PlanUpgrade(ctx, registry.UpgradeRequest{Name: "first", Source: "first2"})
		if err != nil {
			t.Fatal(err)
		}
		operator := func(change func(context.Context, string, registry.GrantRequest) (registry.Outcome, error), name, capability string) {
			t.Helper()
			if _, err := change(ctx, "ann", registry.GrantRequest{Name: name, Grants: capabilities(capability)}); err != nil {
				t.Fatal(err)
			}
		}
		operator(o.Grant, "first", "messages.read")
		o.refused("a plugin that has been granted more since", func() error { return do(t, upgrading, nil) }, "messages.read")
		operator(o.Revoke, "page", "state")
		o.refused("to give on what was taken back", func() error { return do(t, installing, nil) }, "may not grant state")
		operator(o.Revoke, "page", "plugins.admin")
		o.refused("to decide at all", func() error {
			_, err := o.page.Revoke(ctx, "plugin:page", registry.GrantRequest{Name: "richer", Grants: capabilities("messages.read")})
			return err
		}, "plugins.admin")
		o.refused("to order", func() error {
			_, err := o.page.Order(ctx, "plugin:page", registry.OrderRequest{Name: "second", Before: "first"})
			return err
		}, "plugins.admin")
	})
}
