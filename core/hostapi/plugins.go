package hostapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

type plugins struct{ *caller }

// List returns the registry as plugins may see it: without settings, and what else
// is the supervisor's.
func (s plugins) List(ctx context.Context, request *pluginsdk.ListPluginsRequest) (*pluginsdk.ListPluginsResponse, error) {
	return serve(s.caller, "Plugins.List", func() (*pluginsdk.ListPluginsResponse, error) {
		rows, err := s.Store.Plugins(ctx)
		if err != nil {
			return nil, err
		}
		infos := make([]pluginsdk.PluginInfo, len(rows))
		for n, row := range rows {
			infos[n] = s.Grants.Live(row).PluginInfo
			infos[n].Problem = problems(row.Problem, s.API.Settings.Problem(ctx, row))
		}
		last := slices.IndexFunc(infos, func(info pluginsdk.PluginInfo) bool { return info.Name == request.After })
		if request.After != "" && last < 0 {
			return nil, pluginsdk.Errorf(pluginsdk.CodeNotFound, "after: there is no plugin %s any more; begin anew", request.After)
		}
		infos, more := listed(infos[last+1:], func(pluginsdk.PluginInfo) bool { return true }, request.Limit)
		return &pluginsdk.ListPluginsResponse{Plugins: infos, More: more}, nil
	})
}

// problems joins what is wrong with a row with what is wrong with its settings,
// of which the row may speak already.
func problems(row, settings string) string {
	if row == "" || settings == "" || strings.Contains(row, "settings:") {
		return cmp.Or(row, settings)
	}
	return row + "; " + settings
}

func (s plugins) SetEnabled(ctx context.Context, request *pluginsdk.SetPluginEnabledRequest) (*pluginsdk.SetPluginEnabledResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.SetEnabled", func() (*pluginsdk.SetPluginEnabledResponse, error) {
		err := s.write(ctx, 1, 0, func() error { return s.Registry.SetEnabled(ctx, s.plugin, request.Name, request.Enabled) })
		return &pluginsdk.SetPluginEnabledResponse{}, err
	})
}

// AuditName is a plugin's name in the audit log, with the person in whose name it calls,
// if it does: plugin:web (Ann). The name is what the plugin says.
func AuditName(ctx context.Context, plugin string) string {
	return ledger.By{
		Plugin: plugin, Author: pluginsdk.PersonFrom(ctx), Origin: pluginsdk.Origin{Token: pluginsdk.TokenFrom(ctx)},
	}.AuditName()
}

// Logs returns the newest lines of a plugin's log.
func (s plugins) Logs(ctx context.Context, request *pluginsdk.ReadPluginLogRequest) (*pluginsdk.ReadPluginLogResponse, error) {
	return serve(s.caller, "Plugins.Logs", func() (*pluginsdk.ReadPluginLogResponse, error) {
		lines, err := s.Grants.Logs(ctx, request.Name, request.Limit)
		return &pluginsdk.ReadPluginLogResponse{Lines: lines}, err
	})
}

// Settings returns a plugin's settings, never a secret.
func (s plugins) Settings(ctx context.Context, request *pluginsdk.GetPluginSettingsRequest) (*pluginsdk.GetPluginSettingsResponse, error) {
	return serve(s.caller, "Plugins.Settings", func() (*pluginsdk.GetPluginSettingsResponse, error) {
		view, err := s.API.Settings.View(ctx, request.Name)
		return &pluginsdk.GetPluginSettingsResponse{Settings: view}, err
	})
}

func (s plugins) ChangeSettings(ctx context.Context, request *pluginsdk.ChangePluginSettingsRequest) (*pluginsdk.ChangePluginSettingsResponse, error) {
	return servePerson(ctx, s.caller, "Plugins.ChangeSettings", func() (*pluginsdk.ChangePluginSettingsResponse, error) {
		err := s.write(ctx, 1, int64(len(request.Patch)), func() error {
			return s.API.Settings.ChangeFor(ctx, s.plugin, request.Name, request.Patch)
		})
		return &pluginsdk.ChangePluginSettingsResponse{}, err
	})
}
