package client

import (
	"context"
	"maps"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin is a plugin as the API shows it.
type Plugin struct {
	pluginsdk.PluginInfo

	// Figures are in another shape than in PluginInfo, which has them from ToInfo on.
	Figures PluginFigures `json:"figures"`
}

// PluginFigures are what a plugin has done, as the API shows it.
type PluginFigures struct {
	pluginsdk.PluginFigures

	Hooks []CallFigures `json:"hooks"`
	Host  []CallFigures `json:"host"`
}

// CallFigures are the calls of one hook, or of one method of the core.
type CallFigures struct {
	Name      string `json:"name"`
	Calls     int64  `json:"calls"`
	Errors    int64  `json:"errors"`
	Timeouts  int64  `json:"timeouts"`
	P50Micros int64  `json:"p50Micros"`
	P99Micros int64  `json:"p99Micros"`
}

// Info is the plugin as the registry has it.
func (p Plugin) Info() pluginsdk.PluginInfo {
	info := p.PluginInfo
	info.Figures = p.Figures.PluginFigures
	info.Figures.Hooks, info.Figures.Host = make(map[pluginsdk.Hook]pluginsdk.CallFigures), make(map[string]pluginsdk.CallFigures)
	for _, calls := range p.Figures.Hooks {
		info.Figures.Hooks[pluginsdk.Hook(calls.Name)] = calls.figures()
	}
	for _, calls := range p.Figures.Host {
		info.Figures.Host[calls.Name] = calls.figures()
	}
	return info
}

func (f CallFigures) figures() pluginsdk.CallFigures {
	return pluginsdk.CallFigures{
		Calls: f.Calls, Errors: f.Errors, Timeouts: f.Timeouts,
		P50: time.Duration(f.P50Micros) * time.Microsecond, P99: time.Duration(f.P99Micros) * time.Microsecond,
	}
}

// PluginOutcome is what has become of a plugin by a decision.
type PluginOutcome struct {
	Plugin  Plugin                 `json:"plugin"`
	Changed pluginsdk.PluginRights `json:"changed"`
	Missing pluginsdk.PluginRights `json:"missing"`
}

// PluginDecision is a plan, and what has come of it; without an Outcome it was planned only.
type PluginDecision struct {
	Plan    pluginsdk.PluginPlan `json:"plan"`
	Outcome *PluginOutcome       `json:"outcome"`
}

// Package is a plugin's archive with what minisign has written beside it.
type Package struct {
	Archive   []byte `json:"archive"`
	Signature []byte `json:"signature,omitempty"`
}

// DecidePlugin is a request that needs consent: without Digest it is planned.
type DecidePlugin struct {
	Package   *Package               `json:"package,omitempty"`   // of Install and Upgrade
	Grant     []pluginsdk.Capability `json:"grant,omitempty"`     // of Install and Upgrade
	Enable    bool                   `json:"enable,omitempty"`    // of Install
	To        string                 `json:"to,omitempty"`        // of Rollback
	KeepState bool                   `json:"keepState,omitempty"` // of Remove
	Digest    string                 `json:"digest,omitempty"`
}

func pluginPath(name, rest string) string { return "/api/plugins/" + url.PathEscape(name) + rest }

// Plugins returns the registry, with manifests, in the order of hooks.
func (c *Client) Plugins(ctx context.Context) ([]Plugin, error) {
	var list struct {
		Plugins []Plugin `json:"plugins"`
	}
	err := c.get(ctx, "/api/plugins", url.Values{"manifests": {"true"}}, &list)
	return list.Plugins, err
}

// Plugin returns a plugin with its manifest.
func (c *Client) Plugin(ctx context.Context, name string) (Plugin, error) {
	var plugin Plugin
	err := c.get(ctx, pluginPath(name, ""), nil, &plugin)
	return plugin, err
}

// SetPluginEnabled turns a plugin on or off. The daemon follows.
func (c *Client) SetPluginEnabled(ctx context.Context, name string, enabled bool) (Plugin, error) {
	var plugin Plugin
	err := c.patch(ctx, pluginPath(name, ""), map[string]bool{"enabled": enabled}, &plugin)
	return plugin, err
}

// InstallPlugin plans, or does, what is asked for.
func (c *Client) InstallPlugin(ctx context.Context, request DecidePlugin) (PluginDecision, error) {
	return c.decide(ctx, "/api/plugins", request)
}

// UpgradePlugin plans, or does, what is asked for.
func (c *Client) UpgradePlugin(ctx context.Context, name string, request DecidePlugin) (PluginDecision, error) {
	return c.decide(ctx, pluginPath(name, "/upgrade"), request)
}

// RollbackPlugin plans, or does, what is asked for.
func (c *Client) RollbackPlugin(ctx context.Context, name string, request DecidePlugin) (PluginDecision, error) {
	return c.decide(ctx, pluginPath(name, "/rollback"), request)
}

// RemovePlugin plans, or does, what is asked for.
func (c *Client) RemovePlugin(ctx context.Context, name string, request DecidePlugin) (PluginDecision, error) {
	return c.decide(ctx, pluginPath(name, "/remove"), request)
}

func (c *Client) decide(ctx context.Context, path string, request DecidePlugin) (PluginDecision, error) {
	var decision PluginDecision
	err := c.patient().post(ctx, path, request, &decision)
	return decision, err
}

// GrantPlugin grants a plugin capabilities that it asks for.
func (c *Client) GrantPlugin(ctx context.Context, name string, capabilities []pluginsdk.Capability) (PluginOutcome, error) {
	var outcome PluginOutcome
	err := c.post(ctx, pluginPath(name, "/grant"), pluginsdk.PluginRights{Capabilities: capabilities}, &outcome)
	return outcome, err
}

// RevokePlugin takes back what a plugin was granted.
func (c *Client) RevokePlugin(ctx context.Context, name string, rights pluginsdk.PluginRights) (PluginOutcome, error) {
	var outcome PluginOutcome
	err := c.post(ctx, pluginPath(name, "/revoke"), rights, &outcome)
	return outcome, err
}

// LimitPlugin sets those limits of a plugin that are others than they were.
func (c *Client) LimitPlugin(ctx context.Context, name string, was, limits pluginsdk.PluginLimits) (PluginOutcome, error) {
	changed, before := limitsByName(limits), limitsByName(was)
	maps.DeleteFunc(changed, func(name string, value int64) bool { return before[name] == value })
	var outcome PluginOutcome
	err := c.patch(ctx, pluginPath(name, "/limits"), changed, &outcome)
	return outcome, err
}

func limitsByName(limits pluginsdk.PluginLimits) map[string]int64 {
	return map[string]int64{
		"memoryBytes": limits.MemoryBytes, "cpuPercent": int64(limits.CPUPercent), "processes": int64(limits.Processes), "openFiles": int64(limits.OpenFiles),
		"callsPerMinute": int64(limits.CallsPerMinute), "rowsPerMinute": int64(limits.RowsPerMinute),
		"bytesPerMinute": limits.BytesPerMinute, "storedBytes": limits.StoredBytes,
	}
}

// OrderRequest moves one plugin before or after another, or gives several an order.
type OrderRequest struct {
	Name   string   `json:"name,omitempty"`
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	Names  []string `json:"names,omitempty"`
}

// OrderPlugins changes the order, and returns all plugins in it.
func (c *Client) OrderPlugins(ctx context.Context, request OrderRequest) ([]string, error) {
	var answer struct {
		Order []string `json:"order"`
	}
	err := c.post(ctx, "/api/plugins/order", request, &answer)
	return answer.Order, err
}

// FollowPlugin waits until the daemon has carried out what was decided of a plugin, 30 s at
// most.
func (c *Client) FollowPlugin(ctx context.Context, name string) (Plugin, pluginsdk.PluginStanding, error) {
	var answer struct {
		Plugin   Plugin                   `json:"plugin"`
		Standing pluginsdk.PluginStanding `json:"standing"`
	}
	err := c.patient().get(ctx, pluginPath(name, "/follow"), nil, &answer)
	return answer.Plugin, answer.Standing, err
}

// maxLogLines is the most of a plugin's log that the API gives.
const maxLogLines = 5000

// PluginLogs returns the newest lines of a plugin's log, at most limit, the oldest first.
func (c *Client) PluginLogs(ctx context.Context, name string, limit int) ([]pluginsdk.LogLine, error) {
	var answer struct {
		Lines []pluginsdk.LogLine `json:"lines"`
	}
	query := url.Values{"limit": {strconv.Itoa(min(max(limit, 1), maxLogLines))}}
	err := c.get(ctx, pluginPath(name, "/logs"), query, &answer)
	return answer.Lines, err
}

// PluginSettings returns a plugin's settings without secrets.
func (c *Client) PluginSettings(ctx context.Context, name string) (pluginsdk.SettingsView, error) {
	var view pluginsdk.SettingsView
	err := c.get(ctx, pluginPath(name, "/settings"), nil, &view)
	return view, err
}

// ChangePluginSettings sets what values names, and takes back what is null.
func (c *Client) ChangePluginSettings(ctx context.Context, name string, values []byte) error {
	body := append(append([]byte(`{"values":`), values...), '}')
	return c.do(ctx, "PATCH", pluginPath(name, "/settings"), nil, body, nil)
}
