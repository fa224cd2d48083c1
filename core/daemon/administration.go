package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-706843ae/harness/core/depot"
	"github.com/seed-706843ae/harness/core/hostapi"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/core/settings"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// administration is the registry as plugins have it that may decide about others.
type administration struct {
	registry *registry.Registry
	uploads  string // the directory of packages that are too large for a message
}

func (a administration) SetEnabled(ctx context.Context, by, plugin string, enabled bool) (err error) {
	may := a.registry.For(by)
	if enabled {
		_, err = may.Enable(ctx, hostapi.AuditName(ctx, by), registry.EnableRequest{Name: plugin})
	} else {
		_, err = may.Disable(ctx, hostapi.AuditName(ctx, by), plugin)
	}
	return err
}

func (a administration) Install(ctx context.Context, by string, request pluginsdk.InstallPluginRequest) (hostapi.Planned, error) {
	return a.withPackage(ctx, by, request.Package, func(may *registry.Registry, archive *registry.Archive) (*registry.Plan, error) {
		return may.PlanInstall(ctx, registry.InstallRequest{
			Source: archive.Name, Archive: archive, Grants: grantsOf(request.Grant), Enable: request.Enable,
		})
	})
}

func (a administration) Upgrade(ctx context.Context, by string, request pluginsdk.UpgradePluginRequest) (hostapi.Planned, error) {
	return a.withPackage(ctx, by, request.Package, func(may *registry.Registry, archive *registry.Archive) (*registry.Plan, error) {
		return may.PlanUpgrade(ctx, registry.UpgradeRequest{
			Name: request.Name, Source: archive.Name, Archive: archive, Grants: grantsOf(request.Grant),
		})
	})
}

func (a administration) Rollback(ctx context.Context, by string, request pluginsdk.RollbackPluginRequest) (hostapi.Planned, error) {
	may := a.registry.For(by)
	plan, err := may.PlanRollback(ctx, registry.RollbackRequest{Name: request.Name, To: request.To})
	if err != nil {
		return hostapi.Planned{}, err
	}
	return planned(ctx, may, by, plan)
}

func (a administration) Remove(ctx context.Context, by string, request pluginsdk.RemovePluginRequest) (hostapi.Planned, error) {
	may := a.registry.For(by)
	plan, err := may.PlanRemove(ctx, registry.RemoveRequest{Name: request.Name, KeepState: request.KeepState})
	if err != nil {
		return hostapi.Planned{}, err
	}
	return planned(ctx, may, by, plan)
}

// withPackage plans something with a package, whose settings it also looks at: what is
// wrong with their schema would be found when nobody could set any.
func (a administration) withPackage(ctx context.Context, by string, from pluginsdk.PluginPackage,
	plan func(may *registry.Registry, archive *registry.Archive) (*registry.Plan, error),
) (hostapi.Planned, error) {
	archive, closing, err := a.open(from)
	if err != nil {
		return hostapi.Planned{}, err
	}
	defer closing()
	may := a.registry.For(by)
	found, err := plan(may, &archive)
	if err != nil {
		return hostapi.Planned{}, err
	}
	if _, err := settings.Compile(found.Package.Manifest.SettingsSchema); err != nil {
		return hostapi.Planned{}, errors.Join(fmt.Errorf("settingsSchema of %s: %w", found.Package.Manifest.Name, err), found.Discard())
	}
	return planned(ctx, may, by, found)
}

// open returns the archive that a plugin has sent, or names among the uploads.
func (a administration) open(from pluginsdk.PluginPackage) (registry.Archive, func(), error) {
	switch {
	case (len(from.Archive) == 0) == (from.Upload == ""):
		return registry.Archive{}, nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "package: give either archive, its bytes, or upload, the name of a file in %s", a.uploads)
	case from.Upload == "":
		return registry.Archive{Name: "ARCHIVE", Content: bytes.NewReader(from.Archive), Signature: from.Signature}, func() {}, nil
	case len(from.Signature) > 0:
		return registry.Archive{}, nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "package: the signature of an upload lies beside it, as %s.minisig", from.Upload)
	}
	upload, closing, err := depot.OpenUpload(a.uploads, from.Upload)
	return registry.Archive(upload), closing, err
}

func grantsOf(capabilities []pluginsdk.Capability) (grants registry.Grants) {
	for _, capability := range capabilities {
		grants.Capabilities = append(grants.Capabilities, string(capability))
	}
	return grants
}

// planned is a plan as a plugin shows it, with the digest of all that it says.
func planned(ctx context.Context, may *registry.Registry, by string, plan *registry.Plan) (hostapi.Planned, error) {
	shown, err := shownOf(ctx, may, plan)
	if err != nil {
		return hostapi.Planned{}, errors.Join(err, plan.Discard())
	}
	return hostapi.Planned{Plan: shown, Discard: plan.Discard, Do: func(ctx context.Context) (hostapi.Decided, error) {
		outcome, err := plan.Do(ctx, hostapi.AuditName(ctx, by))
		return decidedOf(outcome), err
	}}, nil
}

func shownOf(ctx context.Context, may *registry.Registry, plan *registry.Plan) (pluginsdk.PluginPlan, error) {
	shown := pluginsdk.PluginPlan{
		Action: actionOf(plan), Name: plan.Was.Name, Was: versionOf(plan.Was), Next: versionOf(plan.Next),
		Has: pluginsdk.PluginRights(registry.RightsOf(plan.Was)), Idle: plan.Idle,
	}
	if shown.Name == "" {
		shown.Name = plan.Next.Name
	}
	if p := plan.Package; p != nil {
		shown.Package = pluginsdk.PluginPackageInfo{
			Executable: p.Executable, Files: p.Files, Bytes: p.Bytes,
			Signed: p.Signature.Signed, KeyID: p.Signature.KeyID, Trusted: p.Signature.Trusted, Comment: p.Signature.Comment,
		}
	}
	asks := plan.Was // with what it has, before the request grants it more
	asks.Manifest = plan.Next.Manifest
	wants := may.Missing(asks)
	grantable, err := may.MayGrant(ctx, wants)
	if err != nil {
		return shown, err
	}
	shown.Wants, shown.MayGrant = pluginsdk.PluginRights(wants), grantable.Capabilities
	text, err := json.Marshal(shown)
	if err != nil {
		return shown, pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %w", shown.Name, err)
	}
	sum := sha256.Sum256(text)
	shown.Digest = hex.EncodeToString(sum[:])
	return shown, nil
}

func actionOf(plan *registry.Plan) pluginsdk.PluginAction {
	switch {
	case plan.Repair:
		return pluginsdk.ActionRepair
	case plan.Was.Name == "":
		return pluginsdk.ActionInstall
	case plan.Next.Name == "":
		return pluginsdk.ActionRemove
	case plan.Package == nil:
		return pluginsdk.ActionRollback
	}
	return pluginsdk.ActionUpgrade
}

func versionOf(row ledger.Plugin) pluginsdk.PluginVersion {
	return pluginsdk.PluginVersion{Version: row.Version, SHA256: row.SHA256, Publisher: row.Publisher, Manifest: row.Manifest}
}

// decidedOf is an outcome; of a plugin that was removed it has the row that it had.
func decidedOf(outcome registry.Outcome) hostapi.Decided {
	row := outcome.Plugin
	if row.Name == "" {
		row = outcome.Was
	}
	return hostapi.Decided{
		Plugin: row, Changed: pluginsdk.PluginRights(outcome.Changed), Missing: pluginsdk.PluginRights(outcome.Missing),
	}
}

func (a administration) Grant(ctx context.Context, by string, request pluginsdk.GrantPluginRequest) (hostapi.Decided, error) {
	outcome, err := a.registry.For(by).Grant(ctx, hostapi.AuditName(ctx, by), registry.GrantRequest{Name: request.Name, Grants: grantsOf(request.Capabilities)})
	return decidedOf(outcome), err
}

func (a administration) Revoke(ctx context.Context, by string, request pluginsdk.RevokePluginRequest) (hostapi.Decided, error) {
	gone := grantsOf(request.Rights.Capabilities)
	gone.Env = request.Rights.Env
	outcome, err := a.registry.For(by).Revoke(ctx, hostapi.AuditName(ctx, by), registry.GrantRequest{Name: request.Name, Grants: gone})
	return decidedOf(outcome), err
}

func (a administration) SetLimits(ctx context.Context, by string, request pluginsdk.SetPluginLimitsRequest) (hostapi.Decided, error) {
	outcome, err := a.registry.For(by).SetLimits(ctx, hostapi.AuditName(ctx, by), request.Name, func(limits pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error) {
		return request.Patch.Apply(limits), nil
	})
	return decidedOf(outcome), err
}

func (a administration) Order(ctx context.Context, by string, request pluginsdk.OrderPluginsRequest) ([]string, error) {
	return a.registry.For(by).Order(ctx, hostapi.AuditName(ctx, by), registry.OrderRequest{
		Name: request.Name, Before: request.Before, After: request.After, Names: request.Names,
	})
}

func (a administration) Follow(ctx context.Context, plugin string) (ledger.Plugin, pluginsdk.PluginStanding, error) {
	if _, err := a.registry.Plugin(ctx, plugin); err != nil {
		return ledger.Plugin{}, "", err
	}
	followed, err := a.registry.Follow(ctx, plugin)
	return followed.Plugin, pluginsdk.PluginStanding(followed.Standing), err
}
