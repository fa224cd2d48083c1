package registry

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// PlanTrust reads what lies at a plugin's path now. Do pins that: the change was
// meant. It is for operators only, who know who changed the files.
func (r *Registry) PlanTrust(ctx context.Context, name string) (*Plan, error) {
	if r.plugin != "" {
		return nil, r.denied("%s may not say whom to trust", "harness plugin trust "+name)
	}
	row, err := r.Plugin(ctx, name)
	if err != nil {
		return nil, err
	}
	if row.Origin == pluginsdk.OriginStore {
		return r.planTrustPackage(ctx, row)
	}
	if row.Origin != pluginsdk.OriginDirectory {
		if err := r.MayDevelop(); err != nil {
			return nil, err
		}
	}
	sum, err := r.Depot.Sum(row.Path)
	if err != nil {
		return nil, err
	}
	plan := &Plan{Was: row, Next: row, Idle: sum == row.SHA256, registry: r}
	plan.Next.SHA256 = sum
	plan.do = func(ctx context.Context, who string) (Outcome, error) {
		return r.change(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.trust", Edit: func(now *ledger.Plugin, _ []ledger.Plugin) (string, error) {
			if now.SHA256 != row.SHA256 {
				return "", changedMeanwhile(name)
			}
			now.SHA256, now.Quarantine, now.LastError = sum, "", ""
			return versionOf(*now), nil
		}})
	}
	return plan, nil
}

func (r *Registry) planTrustPackage(ctx context.Context, row ledger.Plugin) (_ *Plan, err error) {
	plan := &Plan{Was: row, Next: row, Idle: r.Depot.Verify(ctx, row) == nil, registry: r}
	if plan.Idle {
		return plan, nil
	}
	p, err := r.Depot.StageAgain(ctx, row)
	if err != nil {
		return nil, err
	}
	plan.Package = p
	defer func() { err = plan.unless(err) }()
	if p.Manifest.Name != row.Name {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "what lies at %s says that it is the plugin %s, not %s", row.Path, p.Manifest.Name, row.Name)
	}
	plan.Next = adopt(row, p)
	if p.SHA256 == row.SHA256 {
		plan.Next.Publisher = row.Publisher // it is what that one signed; only the place is another
	}
	plan.do = func(ctx context.Context, who string) (Outcome, error) {
		return r.keep(ctx, who, replacement{plan, "plugin.trust", func(next *ledger.Plugin, _ []ledger.Plugin) (string, error) {
			next.Publisher = plan.Next.Publisher
			return "", nil
		}})
	}
	return plan, nil
}

// MayDevelop refuses plugins that are worked on, which nobody has signed, where
// signatures are required.
func (r *Registry) MayDevelop() error {
	if err := r.Depot.Accepts(""); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "a plugin that is worked on may not run here: %w", err)
	}
	return nil
}
