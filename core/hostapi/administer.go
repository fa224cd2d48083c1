package hostapi

import (
	"context"
	"errors"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin decides about others. What it may is for the registry to know; here it is
// held that nothing is done but what was shown, and that packages, which can be large, are
// read one at a time.

// maxFollowers is how many calls of plugins follow decisions at a time.
const maxFollowers = 16

func (s plugins) Install(ctx context.Context, request *pluginsdk.InstallPluginRequest) (*pluginsdk.InstallPluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Install", func() (*pluginsdk.InstallPluginResponse, error) {
		plan, outcome, err := s.reading(ctx, request.Digest, func() (Planned, error) { return s.Registry.Install(ctx, s.plugin, *request) })
		return &pluginsdk.InstallPluginResponse{Plan: plan, Outcome: outcome}, err
	})
}

func (s plugins) Upgrade(ctx context.Context, request *pluginsdk.UpgradePluginRequest) (*pluginsdk.UpgradePluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Upgrade", func() (*pluginsdk.UpgradePluginResponse, error) {
		plan, outcome, err := s.reading(ctx, request.Digest, func() (Planned, error) { return s.Registry.Upgrade(ctx, s.plugin, *request) })
		return &pluginsdk.UpgradePluginResponse{Plan: plan, Outcome: outcome}, err
	})
}

func (s plugins) Rollback(ctx context.Context, request *pluginsdk.RollbackPluginRequest) (*pluginsdk.RollbackPluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Rollback", func() (*pluginsdk.RollbackPluginResponse, error) {
		plan, outcome, err := s.rereading(ctx, request.Digest, func() (Planned, error) { return s.Registry.Rollback(ctx, s.plugin, *request) })
		return &pluginsdk.RollbackPluginResponse{Plan: plan, Outcome: outcome}, err
	})
}

func (s plugins) Remove(ctx context.Context, request *pluginsdk.RemovePluginRequest) (*pluginsdk.RemovePluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Remove", func() (*pluginsdk.RemovePluginResponse, error) {
		plan, outcome, err := s.planned(ctx, request.Digest, func() (Planned, error) { return s.Registry.Remove(ctx, s.plugin, *request) })
		return &pluginsdk.RemovePluginResponse{Plan: plan, Outcome: outcome}, err
	})
}

// reading is planned for a request that brings a package: one package is read at a time. A
// request that brings a package does not wait, since it keeps the package in memory meanwhile.
func (s plugins) reading(ctx context.Context, digest string, plan func() (Planned, error)) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
	select {
	case s.packages <- struct{}{}:
		defer func() { <-s.packages }()
	default:
		return pluginsdk.PluginPlan{}, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "another package is being read or added; try again in a moment")
	}
	return s.planned(ctx, digest, plan)
}

// rereading is planned for a request that names a package of the depot: the request waits
// until no other package is read.
func (s plugins) rereading(ctx context.Context, digest string, plan func() (Planned, error)) (pluginsdk.PluginPlan, *pluginsdk.PluginOutcome, error) {
	select {
	case s.packages <- struct{}{}:
		defer func() { <-s.packages }()
	case <-ctx.Done():
		return pluginsdk.PluginPlan{}, nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "another package was being read or added the whole time; try again: %w", context.Cause(ctx))
	}
	return s.planned(ctx, digest, plan)
}

// planned plans, and carries the plan out if the digest is its own. It takes no turn at
// the database: to remove a plugin waits for its end.
func (s plugins) planned(ctx context.Context, digest string, plan func() (Planned, error)) (shown pluginsdk.PluginPlan, outcome *pluginsdk.PluginOutcome, err error) {
	planned, err := plan()
	if err != nil {
		return shown, nil, err
	}
	defer func() { err = errors.Join(err, planned.Discard()) }()
	switch digest {
	case "":
		return planned.Plan, nil, nil
	case planned.Plan.Digest:
	default:
		return shown, nil, pluginsdk.Errorf(pluginsdk.CodeStale, "what would be done is not what was shown any more: "+
			"nothing was done; plan it again, without a digest, and show the new plan")
	}
	if err := s.Quotas.store(ctx, s.plugin, load{rows: 1}); err != nil {
		return shown, nil, err
	}
	decided, err := planned.Do(ctx)
	if err != nil {
		return shown, nil, err
	}
	told := s.told(decided)
	return planned.Plan, &told, nil
}

// told is what has become of a plugin as other plugins may see it.
func (s plugins) told(decided Decided) pluginsdk.PluginOutcome {
	return pluginsdk.PluginOutcome{Plugin: s.Grants.Live(decided.Plugin).PluginInfo, Changed: decided.Changed, Missing: decided.Missing}
}

// decide makes a decision that says itself all that it does.
func (s plugins) decide(ctx context.Context, do func() (Decided, error)) (told pluginsdk.PluginOutcome, err error) {
	err = s.write(ctx, 1, 0, func() error {
		decided, err := do()
		if err == nil {
			told = s.told(decided)
		}
		return err
	})
	return told, err
}

func (s plugins) Grant(ctx context.Context, request *pluginsdk.GrantPluginRequest) (*pluginsdk.GrantPluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Grant", func() (*pluginsdk.GrantPluginResponse, error) {
		outcome, err := s.decide(ctx, func() (Decided, error) { return s.Registry.Grant(ctx, s.plugin, *request) })
		return &pluginsdk.GrantPluginResponse{Outcome: outcome}, err
	})
}

func (s plugins) Revoke(ctx context.Context, request *pluginsdk.RevokePluginRequest) (*pluginsdk.RevokePluginResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Revoke", func() (*pluginsdk.RevokePluginResponse, error) {
		outcome, err := s.decide(ctx, func() (Decided, error) { return s.Registry.Revoke(ctx, s.plugin, *request) })
		return &pluginsdk.RevokePluginResponse{Outcome: outcome}, err
	})
}

func (s plugins) SetLimits(ctx context.Context, request *pluginsdk.SetPluginLimitsRequest) (*pluginsdk.SetPluginLimitsResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.SetLimits", func() (*pluginsdk.SetPluginLimitsResponse, error) {
		outcome, err := s.decide(ctx, func() (Decided, error) { return s.Registry.SetLimits(ctx, s.plugin, *request) })
		return &pluginsdk.SetPluginLimitsResponse{Outcome: outcome}, err
	})
}

func (s plugins) Order(ctx context.Context, request *pluginsdk.OrderPluginsRequest) (*pluginsdk.OrderPluginsResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.Order", func() (*pluginsdk.OrderPluginsResponse, error) {
		beside := (request.Before == "") != (request.After == "")
		if one := request.Name != ""; one == (len(request.Names) > 0) || one != beside || !one && request.Before+request.After != "" {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "say either name and one of before and after, or names")
		}
		var order []string
		err := s.write(ctx, 1, 0, func() (err error) {
			order, err = s.Registry.Order(ctx, s.plugin, *request)
			return err
		})
		return &pluginsdk.OrderPluginsResponse{Order: order}, err
	})
}

func (s plugins) Follow(ctx context.Context, request *pluginsdk.FollowPluginRequest) (*pluginsdk.FollowPluginResponse, error) {
	return serve(s.caller, "Plugins.Follow", func() (*pluginsdk.FollowPluginResponse, error) {
		select {
		case s.followers <- struct{}{}:
			defer func() { <-s.followers }()
		default:
			return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d calls follow decisions already, which are the most; try again in a moment", maxFollowers)
		}
		row, standing, err := s.Registry.Follow(ctx, request.Name)
		return &pluginsdk.FollowPluginResponse{Plugin: s.Grants.Live(row).PluginInfo, Standing: standing}, err
	})
}
