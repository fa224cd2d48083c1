package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// A plugin that was just installed can do nothing; an upgrade takes nothing from
// what the operator decided, and ends a quarantine.
func TestInstallAndUpgrade(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := context.Background()
		register(t, s, "web", 40)
		first := ledger.Plugin{
			PluginInfo: pluginsdk.PluginInfo{
				Name: "clock", SHA256: "1", Version: "1.0.0", Origin: pluginsdk.OriginStore, Publisher: "key",
				Manifest: pluginsdk.Manifest{Name: "clock", Version: "1.0.0"},
				Enabled:  true, Granted: []pluginsdk.Capability{pluginsdk.CapPluginsAdmin}, GrantedEnv: []string{"HOME"}, Quarantine: "x",
			},
			Path: "/store/1/clock",
		}
		check(t, s.InstallPlugin(ctx, first))
		got := must[ledger.Plugin](t)(s.Plugin(ctx, "clock"))
		if got.Enabled || got.Granted != nil || got.GrantedEnv != nil || got.Quarantine != "" || got.Position != 50 ||
			got.State != pluginsdk.PluginDisabled || got.Publisher != "key" || got.Origin != pluginsdk.OriginStore {
			t.Errorf("after the installation: %+v", got)
		}

		check(t, s.SetPluginEnabled(ctx, "clock", true))
		check(t, s.SetPluginGrants(ctx, "clock", []pluginsdk.Capability{pluginsdk.CapState}, []string{"TZ"}))
		byHand(t, s, `UPDATE plugins SET limits = '{"processes": 3}' WHERE name = 'clock'`)
		check(t, s.SetPluginQuarantine(ctx, "clock", "it failed"))
		check(t, s.SavePluginFigures(ctx, "clock", pluginsdk.PluginFigures{Calls: 7}))
		second := first
		second.Path, second.SHA256, second.Version, second.Manifest.Version = "/store/2/clock", "2", "2.0.0", "2.0.0"
		second.Previous = []ledger.PluginVersion{{
			Version: "1.0.0", Path: first.Path, SHA256: "1", Manifest: first.Manifest, InstalledAt: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		}}
		check(t, s.InstallPlugin(ctx, second))
		want := second
		want.Enabled, want.Granted, want.GrantedEnv, want.Quarantine = true, []pluginsdk.Capability{pluginsdk.CapState}, []string{"TZ"}, ""
		want.Generation = 3 // installed, enabled, installed
		want.Limits, want.Figures, want.Position, want.State = pluginsdk.PluginLimits{Processes: 3}, pluginsdk.PluginFigures{Calls: 7}, 50, pluginsdk.PluginDisabled
		got = must[ledger.Plugin](t)(s.Plugin(ctx, "clock"))
		want.UpdatedAt = got.UpdatedAt
		same(t, want, got)

		check(t, s.SetPluginQuarantine(ctx, "clock", "it failed"))
		check(t, s.SetPluginEnabled(ctx, "clock", true))
		if got := must[ledger.Plugin](t)(s.Plugin(ctx, "clock")); got.Quarantine != "" {
			t.Errorf("enabled, and still in quarantine: %s", got.Quarantine)
		}
	})
}
