package daemon

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/core/store/storetest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin turns on is decided as all that it decides: it has no work wait for a grant that
// it does not give, and turns itself on and off.
func TestWhatAPluginTurnsOnIsDecidedAsThePlugin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, rows *store.Store) {
		ctx := t.Context()
		for n, row := range []ledger.Plugin{
			{PluginInfo: pluginsdk.PluginInfo{Name: "page", Enabled: true, Granted: []pluginsdk.Capability{pluginsdk.CapPluginsAdmin}}},
			{PluginInfo: pluginsdk.PluginInfo{Name: "gate", Manifest: pluginsdk.Manifest{Name: "gate", Version: "1", Hooks: []pluginsdk.Hook{pluginsdk.HookBeforeRun}}}},
		} {
			row.Position, row.SHA256, row.Path = n+1, "x", "/"+row.Name
			if err := rows.RegisterPlugin(ctx, row); err != nil {
				t.Fatal(err)
			}
		}
		all := newRegistry(Config{Plugins: t.TempDir()}, rows, nil, func() bool { return false })
		a := administration{all, t.TempDir()}
		if err := a.SetEnabled(ctx, "page", "gate", true); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied ||
			!strings.Contains(err.Error(), "`harness plugin grant gate turns.decide`); an operator can: `harness plugin enable gate`") {
			t.Errorf("a gate that lacks its grant is turned on: %v", err)
		}
		_, byOperator := all.Enable(ctx, "op", registry.EnableRequest{Name: "gate"})
		for n, err := range []error{
			byOperator, a.SetEnabled(ctx, "page", "gate", false), a.SetEnabled(ctx, "page", "page", false), a.SetEnabled(ctx, "page", "page", true),
		} {
			if err != nil {
				t.Errorf("what may be done (%d): %v", n, err)
			}
		}
	})
}
