package daemon

import (
	"cmp"
	"context"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/inbox"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/pluginhost"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// NewRegistry returns what decides about the plugins of an installation: with its
// database, its packages, and what says whether a daemon follows.
func NewRegistry(config Config, database registry.Store, running func() bool) (*registry.Registry, error) {
	packages, err := config.Depot()
	if err != nil {
		return nil, err
	}
	return newRegistry(config, database, packages, running), nil
}

func newRegistry(config Config, database registry.Store, packages *depot.Depot, running func() bool) *registry.Registry {
	return registry.New(registry.Config{
		Store: database, Depot: packageDepot{packages}, PluginDir: config.Plugins, Running: running,
		Conflicts: conflicts, Withheld: pluginhost.Withheld, InForce: limitsInForce,
	})
}

// limitsInForce are those that hold for a plugin, in a daemon that is told of no others.
func limitsInForce(plugin ledger.Plugin) pluginsdk.PluginLimits {
	limits, processes, quotas := pluginhost.Quotas(plugin.PluginInfo), pluginhost.DefaultLimits(), hostapi.DefaultQuotas()
	return pluginsdk.PluginLimits{
		MemoryBytes:    cmp.Or(limits.MemoryBytes, processes.MemoryBytes),
		CPUPercent:     cmp.Or(limits.CPUPercent, registry.NoLimit),
		Processes:      cmp.Or(limits.Processes, processes.Processes),
		OpenFiles:      cmp.Or(limits.OpenFiles, processes.OpenFiles),
		CallsPerMinute: cmp.Or(limits.CallsPerMinute, quotas.CallsPerMinute),
		RowsPerMinute:  cmp.Or(limits.RowsPerMinute, quotas.RowsPerMinute),
		BytesPerMinute: cmp.Or(limits.BytesPerMinute, quotas.BytesPerMinute),
		StoredBytes:    cmp.Or(limits.StoredBytes, quotas.StoredBytes),
	}
}

// conflicts are those that the plugin host would find.
func conflicts(plugin ledger.Plugin, all []ledger.Plugin) (found []registry.Conflict) {
	for _, conflict := range pluginhost.Conflicts(plugin, all, inbox.Reserved()) {
		owner := conflict.Owner
		if conflict.Core() {
			owner = ""
		}
		found = append(found, registry.Conflict{What: conflict.What(), Owner: owner})
	}
	return found
}

// up is what the daemon itself says of whether it is up.
func up() bool { return true }

// packageDepot is the depot as the registry sees it.
type packageDepot struct{ *depot.Depot }

func (d packageDepot) Stage(ctx context.Context, source string) (*registry.Package, error) {
	return staged(d.Depot.Stage(ctx, source))
}

func (d packageDepot) StageArchive(ctx context.Context, archive registry.Archive) (*registry.Package, error) {
	return staged(d.Depot.StageArchive(ctx, depot.Archive(archive)))
}

func (d packageDepot) StageAgain(ctx context.Context, row ledger.Plugin) (*registry.Package, error) {
	return staged(d.Depot.StageAgain(ctx, row))
}

func (d packageDepot) Sum(path string) (string, error) { return depot.SumFile(path) }

func (d packageDepot) Sweep(rows func() ([]ledger.Plugin, error)) error {
	_, err := d.Depot.Sweep(rows)
	return err
}

func staged(p *depot.Package, err error) (*registry.Package, error) {
	if err != nil {
		return nil, err
	}
	return &registry.Package{
		Manifest: p.Manifest, Executable: p.Executable, SHA256: p.SHA256, Signature: registry.Signature(p.Signature),
		Files: p.Files, Bytes: p.Bytes, Keep: p.Keep, Discard: p.Discard,
	}, nil
}
