package plugintest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin decides about others. The host holds that nothing is done but what was
// shown, that a plugin decides nothing about itself, and that it gives what it asks for
// itself and no more. It knows no limits of its own, no secrets that an upgrade could
// read, and no plugins that come with Harness.

// plan is what would be done; it is stored nowhere.
func (s plugins) plan(plan pluginsdk.PluginPlan, has pluginsdk.PluginRights) (pluginsdk.PluginPlan, error) {
	if err := s.notItself(plan.Name); err != nil {
		return plan, err
	}
	plan.Has, plan.Wants = has, lacking(plan.Next.Manifest, has)
	for _, capability := range plan.Wants.Capabilities {
		if s.mayGrant(capability) {
			plan.MayGrant = append(plan.MayGrant, capability)
		}
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return plan, pluginsdk.Errorf(pluginsdk.CodeInvalid, "plan: %w", err)
	}
	sum := sha256.Sum256(text)
	plan.Digest = hex.EncodeToString(sum[:])
	return plan, nil
}

// agreed reports whether the plan is to be carried out: its digest is named.
func agreed(plan pluginsdk.PluginPlan, digest string) (bool, error) {
	if digest != "" && digest != plan.Digest {
		return false, pluginsdk.Errorf(pluginsdk.CodeStale, "what would be done is not what was shown any more: plan it again")
	}
	return digest != "", nil
}

func (s plugins) notItself(name string) error {
	if !s.any && name == s.manifest.Name {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s may not decide about itself", name)
	}
	return nil
}

func (s plugins) mayGrant(capability pluginsdk.Capability) bool {
	return capability != pluginsdk.CapPluginsAdmin && s.has(capability)
}

// given checks what is to be granted to a plugin.
func (s plugins) given(manifest pluginsdk.Manifest, capabilities []pluginsdk.Capability) error {
	for _, capability := range capabilities {
		if !asksFor(manifest, capability) {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s does not ask for %s", manifest.Name, capability)
		}
		if !s.mayGrant(capability) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s may not grant %s", s.manifest.Name, capability)
		}
	}
	return nil
}

// mayReplace refuses other versions of a plugin that has more than the caller.
func (s plugins) mayReplace(row pluginsdk.PluginInfo) error {
	for _, capability := range row.Granted {
		if !s.has(capability) {
			return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s may not replace a version of %s, which has been granted %s", s.manifest.Name, row.Name, capability)
		}
	}
	if len(row.GrantedEnv) > 0 && !s.any {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "%s may not replace a version of %s, which has been granted %v", s.manifest.Name, row.Name, row.GrantedEnv)
	}
	return nil
}

func lacking(manifest pluginsdk.Manifest, has pluginsdk.PluginRights) (wants pluginsdk.PluginRights) {
	for _, request := range manifest.Requests() {
		if !slices.Contains(has.Capabilities, request.Capability) {
			wants.Capabilities = append(wants.Capabilities, request.Capability)
		}
	}
	for _, request := range manifest.Environment {
		if !slices.Contains(has.Env, request.Name) {
			wants.Env = append(wants.Env, request.Name)
		}
	}
	return wants
}

func rightsOf(row pluginsdk.PluginInfo) pluginsdk.PluginRights {
	return pluginsdk.PluginRights{Capabilities: row.Granted, Env: row.GrantedEnv}
}

func versionOf(row pluginsdk.PluginInfo) pluginsdk.PluginVersion {
	return pluginsdk.PluginVersion{Version: row.Version, SHA256: row.SHA256, Publisher: row.Publisher, Manifest: row.Manifest}
}

func outcomeOf(row pluginsdk.PluginInfo, changed pluginsdk.PluginRights) *pluginsdk.PluginOutcome {
	return &pluginsdk.PluginOutcome{Plugin: row, Changed: changed, Missing: lacking(row.Manifest, rightsOf(row))}
}

// become makes a version the row's, and returns the one that it was.
func become(row *pluginsdk.PluginInfo, next pluginsdk.PluginVersion) pluginsdk.PluginVersion {
	was := versionOf(*row)
	row.Name, row.Origin = next.Manifest.Name, pluginsdk.OriginStore
	row.Version, row.SHA256, row.Publisher, row.Manifest = next.Version, next.SHA256, next.Publisher, next.Manifest
	return was
}

// read asks Host.Package what a package is.
func (s plugins) read(from pluginsdk.PluginPackage) (pluginsdk.PluginVersion, error) {
	if (len(from.Archive) == 0) == (from.Upload == "") {
		return pluginsdk.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "package: give either archive or upload")
	}
	if s.h.Package == nil {
		return pluginsdk.PluginVersion{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "package: plugintest.Host.Package says what packages are, and is not set")
	}
	return s.h.Package(from)
}

func (s plugins) Install(ctx context.Context, request *pluginsdk.InstallPluginRequest) (*pluginsdk.InstallPluginResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Install")
	if err != nil {
		return nil, err
	}
	defer leave()
	next, err := s.read(request.Package)
	if err != nil {
		return nil, err
	}
	if err := s.given(next.Manifest, request.Grant); err != nil {
		return nil, err
	}
	name := next.Manifest.Name
	if slices.ContainsFunc(s.h.plugins, func(row pluginsdk.PluginInfo) bool { return row.Name == name }) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeConflict, "%s is installed already", name)
	}
	plan, err := s.plan(pluginsdk.PluginPlan{Action: pluginsdk.ActionInstall, Name: name, Next: next}, pluginsdk.PluginRights{})
	if err != nil {
		return nil, err
	}
	if do, err := agreed(plan, request.Digest); !do {
		return &pluginsdk.InstallPluginResponse{Plan: plan}, err
	}
	row := pluginsdk.PluginInfo{Enabled: request.Enable, Granted: slices.Clone(request.Grant)}
	become(&row, next)
	s.h.plugins = append(s.h.plugins, row)
	return &pluginsdk.InstallPluginResponse{Plan: plan, Outcome: outcomeOf(row, rightsOf(row))}, nil
}

func (s plugins) Upgrade(ctx context.Context, request *pluginsdk.UpgradePluginRequest) (*pluginsdk.UpgradePluginResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Upgrade")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", request.Name, pluginName)
	if err != nil {
		return nil, err
	}
	row := &s.h.plugins[i]
	next, err := s.read(request.Package)
	switch {
	case err != nil:
		return nil, err
	case next.Manifest.Name != request.Name:
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the package is the plugin %s, not %s", next.Manifest.Name, request.Name)
	}
	if err := s.given(next.Manifest, request.Grant); err != nil {
		return nil, err
	}
	plan, err := s.plan(pluginsdk.PluginPlan{Action: pluginsdk.ActionUpgrade, Name: request.Name, Was: versionOf(*row), Next: next}, rightsOf(*row))
	if err == nil {
		err = s.mayReplace(*row)
	}
	if err != nil {
		return nil, err
	}
	if do, err := agreed(plan, request.Digest); !do {
		return &pluginsdk.UpgradePluginResponse{Plan: plan}, err
	}
	s.h.pluginPast[request.Name] = append([]pluginsdk.PluginVersion{become(row, next)}, s.h.pluginPast[request.Name]...)
	return &pluginsdk.UpgradePluginResponse{Plan: plan, Outcome: outcomeOf(*row, grant(row, request.Grant))}, nil
}

// grant grants a plugin what it does not have, and returns that.
func grant(row *pluginsdk.PluginInfo, capabilities []pluginsdk.Capability) (added pluginsdk.PluginRights) {
	for _, capability := range capabilities {
		if !slices.Contains(row.Granted, capability) {
			added.Capabilities = append(added.Capabilities, capability)
		}
	}
	row.Granted = append(slices.Clone(row.Granted), added.Capabilities...)
	return added
}

func (s plugins) Rollback(ctx context.Context, request *pluginsdk.RollbackPluginRequest) (*pluginsdk.RollbackPluginResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Rollback")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", request.Name, pluginName)
	if err != nil {
		return nil, err
	}
	row, past := &s.h.plugins[i], s.h.pluginPast[request.Name]
	n := slices.IndexFunc(past, func(v pluginsdk.PluginVersion) bool { return request.To == "" || request.To == v.Version })
	if n < 0 {
		return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no earlier version %q of %s", request.To, request.Name)
	}
	plan, err := s.plan(pluginsdk.PluginPlan{Action: pluginsdk.ActionRollback, Name: request.Name, Was: versionOf(*row), Next: past[n]}, rightsOf(*row))
	if err == nil {
		err = s.mayReplace(*row)
	}
	if err != nil {
		return nil, err
	}
	if do, err := agreed(plan, request.Digest); !do {
		return &pluginsdk.RollbackPluginResponse{Plan: plan}, err
	}
	left := become(row, plan.Next)
	s.h.pluginPast[request.Name] = append([]pluginsdk.PluginVersion{left}, slices.Delete(slices.Clone(past), n, n+1)...)
	return &pluginsdk.RollbackPluginResponse{Plan: plan, Outcome: outcomeOf(*row, pluginsdk.PluginRights{})}, nil
}

func (s plugins) Remove(ctx context.Context, request *pluginsdk.RemovePluginRequest) (*pluginsdk.RemovePluginResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Remove")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", request.Name, pluginName)
	if err != nil {
		return nil, err
	}
	row := s.h.plugins[i]
	plan, err := s.plan(pluginsdk.PluginPlan{Action: pluginsdk.ActionRemove, Name: row.Name, Was: versionOf(row)}, rightsOf(row))
	if err != nil {
		return nil, err
	}
	if do, err := agreed(plan, request.Digest); !do {
		return &pluginsdk.RemovePluginResponse{Plan: plan}, err
	}
	s.h.plugins = slices.Delete(s.h.plugins, i, i+1)
	return &pluginsdk.RemovePluginResponse{Plan: plan, Outcome: outcomeOf(row, pluginsdk.PluginRights{})}, nil
}

// change changes another plugin's row.
func (s plugins) change(ctx context.Context, method, name string, edit func(row *pluginsdk.PluginInfo) (pluginsdk.PluginRights, error)) (outcome pluginsdk.PluginOutcome, err error) {
	leave, err := s.h.enter(ctx, method)
	if err != nil {
		return outcome, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", name, pluginName)
	if err == nil {
		err = s.notItself(name)
	}
	if err != nil {
		return outcome, err
	}
	changed, err := edit(&s.h.plugins[i])
	return *outcomeOf(s.h.plugins[i], changed), err
}

// confirm takes capabilities off those that an upgrade has granted and nobody has confirmed.
func confirm(row *pluginsdk.PluginInfo, given []pluginsdk.Capability) {
	row.Unconfirmed = slices.DeleteFunc(slices.Clone(row.Unconfirmed), func(c pluginsdk.Capability) bool { return slices.Contains(given, c) })
}

func (s plugins) Grant(ctx context.Context, request *pluginsdk.GrantPluginRequest) (*pluginsdk.GrantPluginResponse, error) {
	outcome, err := s.change(ctx, "Plugins.Grant", request.Name, func(row *pluginsdk.PluginInfo) (pluginsdk.PluginRights, error) {
		if err := s.given(row.Manifest, request.Capabilities); err != nil {
			return pluginsdk.PluginRights{}, err
		}
		confirm(row, request.Capabilities)
		return grant(row, request.Capabilities), nil
	})
	return &pluginsdk.GrantPluginResponse{Outcome: outcome}, err
}

func (s plugins) Revoke(ctx context.Context, request *pluginsdk.RevokePluginRequest) (*pluginsdk.RevokePluginResponse, error) {
	outcome, err := s.change(ctx, "Plugins.Revoke", request.Name, func(row *pluginsdk.PluginInfo) (pluginsdk.PluginRights, error) {
		gone := request.Rights
		row.Granted = slices.DeleteFunc(slices.Clone(row.Granted), func(c pluginsdk.Capability) bool { return slices.Contains(gone.Capabilities, c) })
		confirm(row, gone.Capabilities)
		row.GrantedEnv = slices.DeleteFunc(slices.Clone(row.GrantedEnv), func(name string) bool { return slices.Contains(gone.Env, name) })
		return gone, nil
	})
	return &pluginsdk.RevokePluginResponse{Outcome: outcome}, err
}

func (s plugins) SetLimits(ctx context.Context, request *pluginsdk.SetPluginLimitsRequest) (*pluginsdk.SetPluginLimitsResponse, error) {
	outcome, err := s.change(ctx, "Plugins.SetLimits", request.Name, func(row *pluginsdk.PluginInfo) (pluginsdk.PluginRights, error) {
		row.Limits = request.Patch.Apply(row.Limits)
		return pluginsdk.PluginRights{}, nil
	})
	return &pluginsdk.SetPluginLimitsResponse{Outcome: outcome}, err
}

func (s plugins) Order(ctx context.Context, request *pluginsdk.OrderPluginsRequest) (*pluginsdk.OrderPluginsResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Order")
	if err != nil {
		return nil, err
	}
	defer leave()
	named := request.Names
	if request.Name != "" {
		named = []string{request.Name, request.Before + request.After}
	}
	var chosen []pluginsdk.PluginInfo
	for n, name := range named {
		i, err := find(s.h.plugins, "plugin", name, pluginName)
		if err == nil && (n == 0 || request.Name == "") {
			err = s.notItself(name)
		}
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, s.h.plugins[i])
	}
	rows := slices.Clone(s.h.plugins)
	if request.Name != "" {
		rows = slices.DeleteFunc(rows, func(row pluginsdk.PluginInfo) bool { return row.Name == request.Name })
		place := slices.IndexFunc(rows, func(row pluginsdk.PluginInfo) bool { return row.Name == named[1] })
		if request.After != "" {
			place++
		}
		rows = slices.Insert(rows, place, chosen[0])
	} else {
		for n, row := range rows {
			if len(chosen) > 0 && slices.Contains(named, row.Name) {
				rows[n], chosen = chosen[0], chosen[1:]
			}
		}
	}
	s.h.plugins = rows
	order := make([]string, len(rows))
	for n, row := range rows {
		order[n] = row.Name
	}
	return &pluginsdk.OrderPluginsResponse{Order: order}, nil
}

// Follow finds that what was decided serves, if the plugin is on.
func (s plugins) Follow(ctx context.Context, request *pluginsdk.FollowPluginRequest) (*pluginsdk.FollowPluginResponse, error) {
	leave, err := s.h.enter(ctx, "Plugins.Follow")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.plugins, "plugin", request.Name, pluginName)
	if err != nil {
		return nil, err
	}
	standing := pluginsdk.StandingOff
	if s.h.plugins[i].Enabled {
		standing = pluginsdk.StandingServes
	}
	return &pluginsdk.FollowPluginResponse{Plugin: s.h.plugins[i], Standing: standing}, nil
}
