package registry

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plan is a decision that was found possible, and that nobody has made yet. Do makes
// it; Discard is for each plan, whether it was made or not.
type Plan struct {
	Was  ledger.Plugin // as the plugin is; zero when it is new
	Next ledger.Plugin // as it would be
	// Package is what was read for it; nil when nothing was.
	Package *Package
	// Given is what would be granted beside what the plugin has.
	Given Rights
	// Remains are what a plugin of the name that was removed has left.
	Remains Remains
	// Repair says that the version stays, and its files are put right.
	Repair bool
	// Idle says that there is nothing to do, and Do does nothing.
	Idle bool

	registry *Registry
	do       func(ctx context.Context, who string) (Outcome, error)
}

// Remains are what a plugin that was removed has left behind. Whoever has its name
// gets it.
type Remains struct{ Keys, Secrets int }

// Do carries the plan out. CodeConflict: the plugin is not any more as the plan has
// it, or somebody else has what it declares.
func (p *Plan) Do(ctx context.Context, who string) (Outcome, error) {
	if p.Idle && p.registry != nil {
		return Outcome{Was: p.Was, Plugin: p.Was, Missing: p.registry.Missing(p.Was)}, nil
	}
	return p.do(ctx, who)
}

// Resumes are the rights that the plugin has, although what it is now does not ask for them, and
// that the next version asks for: it uses them without being granted anything.
func (p *Plan) Resumes() Rights {
	unasked := RightsOf(p.Was).minus(requested(p.Was.Manifest))
	return unasked.minus(unasked.minus(requested(p.Next.Manifest)))
}

// HeldUp are the closed hooks of a plugin that is on for which it lacks the grant, and what it
// lacks: each run or task that such a hook is asked about waits until the plugin is granted that.
func HeldUp(row ledger.Plugin) (hooks []pluginsdk.Hook, lacks Rights) {
	hooks = lacking(row)
	return hooks, needed(hooks)
}

// CarriedOutBy returns the plan with who carries it out: a daemon elsewhere, which has made
// it. Its do is called for an idle plan, too.
func (p Plan) CarriedOutBy(do func(ctx context.Context, who string) (Outcome, error)) *Plan {
	p.registry, p.do = nil, do
	return &p
}

// still refuses a row that is not of the version any more that somebody has seen.
func (p *Plan) still(row ledger.Plugin) error {
	if row.SHA256 != p.Was.SHA256 || row.Origin != p.Was.Origin {
		return changedMeanwhile(p.Was.Name)
	}
	return nil
}

// Discard forgets what was read for the plan.
func (p *Plan) Discard() error {
	if p.Package == nil {
		return nil
	}
	return p.Package.Discard()
}

// replacement is a plan that makes another version of a plugin the one that is
// started.
type replacement struct {
	plan   *Plan
	action string
	// edit does the rest, and returns what the audit log is to say of it.
	edit func(next *ledger.Plugin, all []ledger.Plugin) (detail string, err error)
}

// keep adds the package of the plan and makes the plugin refer to it, if it is what
// somebody agreed to replace.
func (r *Registry) keep(ctx context.Context, who string, of replacement) (outcome Outcome, err error) {
	p := of.plan
	err = p.Package.Keep(ctx, func(path string) (err error) {
		outcome, err = r.change(ctx, ledger.PluginChange{Name: p.Was.Name, Who: who, Action: of.action, Edit: func(row *ledger.Plugin, all []ledger.Plugin) (string, error) {
			if err := p.still(*row); err != nil {
				return "", err
			}
			*row = adopt(*row, p.Package)
			row.Path, row.Quarantine, row.LastError = path, "", ""
			more, err := of.edit(row, all)
			return versionOf(*row) + more, err
		}})
		return err
	})
	if err != nil {
		return Outcome{}, err
	}
	return outcome, r.sweep(ctx)
}

// adopt returns the row that has the package as its version.
func adopt(row ledger.Plugin, p *Package) ledger.Plugin {
	row.Origin, row.SHA256, row.Version = pluginsdk.OriginStore, p.SHA256, p.Manifest.Version
	row.Publisher, row.Manifest = p.Signature.Publisher(), p.Manifest
	return row
}

// keptVersions is how many versions of a plugin can be gone back to.
const keptVersions = 5

// push returns the versions to go back to once the row's own is replaced.
func (r *Registry) push(row ledger.Plugin) []ledger.PluginVersion {
	previous := slices.Clone(row.Previous)
	if row.Origin == pluginsdk.OriginStore {
		version := ledger.PluginVersion{
			Version: row.Version, Path: row.Path, SHA256: row.SHA256, Publisher: row.Publisher, Manifest: row.Manifest,
			InstalledAt: r.Depot.Added(row.SHA256),
		}
		previous = slices.DeleteFunc(previous, func(v ledger.PluginVersion) bool { return v.SHA256 == row.SHA256 })
		previous = slices.Insert(previous, 0, version)
	}
	return previous[:min(len(previous), keptVersions)]
}
