package api

import (
	"context"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugin is a row of the registry as clients see it: never its settings, which
// can hold secrets.
type Plugin struct {
	Name        string                  `json:"name"`
	Version     string                  `json:"version,omitempty"`
	Description string                  `json:"description,omitempty"`
	Origin      pluginsdk.PluginOrigin  `json:"origin,omitempty" doc:"Where its executable came from"`
	SHA256      string                  `json:"sha256,omitempty" doc:"What it is pinned to"`
	Publisher   string                  `json:"publisher,omitempty" doc:"Key id of its package's signature"`
	Enabled     bool                    `json:"enabled"`
	Position    int                     `json:"position" doc:"Its place in the order of hooks"`
	State       pluginsdk.PluginState   `json:"state" enum:"disabled,starting,serving,backoff,failed,quarantined,stopping,stopped"`
	LastError   string                  `json:"lastError,omitempty"`
	Problem     string                  `json:"problem,omitempty" doc:"What is wrong with its row; the last good values hold"`
	Quarantine  string                  `json:"quarantine,omitempty" doc:"Why it is not started any more"`
	Restarts    int                     `json:"restarts"`
	Failures    int64                   `json:"failures" doc:"Hooks that failed"`
	Hooks       []pluginsdk.Hook        `json:"hooks" nullable:"false"`
	Commands    []pluginsdk.CommandSpec `json:"commands" nullable:"false"`
	Granted     []pluginsdk.Capability  `json:"granted" nullable:"false" doc:"Capabilities that an operator granted"`
	Lacking     []string                `json:"lacking" nullable:"false" doc:"What it asks for and was not granted; variables begin with $"`
	Limits      pluginsdk.PluginLimits  `json:"limits" doc:"0: the default; negative: no limit"`
	Ledger      Ledger                  `json:"ledger" doc:"What it has done and used since the daemon's start"`
	UpdatedAt   time.Time               `json:"updatedAt"`
}

// Ledger is what a plugin has done and used.
type Ledger struct {
	Calls      int64         `json:"calls"`
	Errors     int64         `json:"errors"`
	Timeouts   int64         `json:"timeouts"`
	Hooks      []HookFigures `json:"hooks" nullable:"false"`
	RSSBytes   int64         `json:"rssBytes"`
	CPUSeconds float64       `json:"cpuSeconds"`
	Processes  int           `json:"processes"`
	Since      time.Time     `json:"since"`
	At         time.Time     `json:"at"`
}

// HookFigures are the calls of one hook.
type HookFigures struct {
	Hook      pluginsdk.Hook `json:"hook"`
	Calls     int64          `json:"calls"`
	Errors    int64          `json:"errors"`
	Timeouts  int64          `json:"timeouts"`
	P50Micros int64          `json:"p50Micros" doc:"Of the latest calls, in microseconds"`
	P99Micros int64          `json:"p99Micros" doc:"Of the latest calls, in microseconds"`
}

// LogLine is a line of a plugin's log.
type LogLine struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level" enum:"debug,info,warn,error"`
	Text  string    `json:"text"`
}

type pluginsOutput struct {
	Body struct {
		Plugins []Plugin `json:"plugins" nullable:"false"`
	}
}

type pluginOutput struct{ Body Plugin }

type pluginInput struct {
	Name string `path:"name" doc:"The plugin's name"`
}

type togglePluginInput struct {
	pluginInput
	Body struct {
		Enabled bool `json:"enabled" doc:"true also ends a quarantine"`
	}
}

type pluginLogsInput struct {
	pluginInput
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"200" doc:"How many lines at most"`
}

type pluginLogsOutput struct {
	Body struct {
		Lines []LogLine `json:"lines" nullable:"false" doc:"The newest, the oldest of them first"`
	}
}

func (h *handlers) registerPlugins(api huma.API) {
	huma.Register(api, get("list-plugins", "/api/plugins", "Plugins, in the order of hooks"), h.listPlugins)
	huma.Register(api, get("get-plugin", "/api/plugins/{name}", "A plugin"), h.getPlugin)
	huma.Register(api, patch("toggle-plugin", "/api/plugins/{name}", "Turn a plugin on or off"), h.togglePlugin)
	huma.Register(api, get("list-plugin-logs", "/api/plugins/{name}/logs", "The newest lines of a plugin's log"), h.listPluginLogs)
}

func (h *handlers) listPlugins(ctx context.Context, _ *struct{}) (*pluginsOutput, error) {
	infos, err := h.host.Plugins.List(ctx)
	if err != nil {
		return nil, h.fail("list-plugins", err)
	}
	output := &pluginsOutput{}
	output.Body.Plugins = make([]Plugin, 0, len(infos))
	for _, info := range infos {
		output.Body.Plugins = append(output.Body.Plugins, pluginOf(info))
	}
	return output, nil
}

func (h *handlers) getPlugin(ctx context.Context, input *pluginInput) (*pluginOutput, error) {
	plugin, err := h.plugin(ctx, input.Name)
	if err != nil {
		return nil, h.fail("get-plugin", err)
	}
	return &pluginOutput{Body: plugin}, nil
}

func (h *handlers) plugin(ctx context.Context, name string) (Plugin, error) {
	infos, err := h.host.Plugins.List(ctx)
	if err != nil {
		return Plugin{}, err
	}
	n := slices.IndexFunc(infos, func(info pluginsdk.PluginInfo) bool { return info.Name == name })
	if n < 0 {
		return Plugin{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", name)
	}
	return pluginOf(infos[n]), nil
}

func (h *handlers) togglePlugin(ctx context.Context, input *togglePluginInput) (*pluginOutput, error) {
	if err := h.host.Plugins.SetEnabled(ctx, input.Name, input.Body.Enabled); err != nil {
		return nil, h.fail("toggle-plugin", err)
	}
	plugin, err := h.plugin(ctx, input.Name)
	if err != nil {
		return nil, h.fail("toggle-plugin", err)
	}
	return &pluginOutput{Body: plugin}, nil
}

func (h *handlers) listPluginLogs(ctx context.Context, input *pluginLogsInput) (*pluginLogsOutput, error) {
	if _, err := h.plugin(ctx, input.Name); err != nil {
		return nil, h.fail("list-plugin-logs", err)
	}
	lines, err := h.host.Plugins.Logs(ctx, input.Name, input.Limit)
	if err != nil {
		return nil, h.fail("list-plugin-logs", err)
	}
	output := &pluginLogsOutput{}
	output.Body.Lines = make([]LogLine, 0, len(lines))
	for _, line := range lines {
		output.Body.Lines = append(output.Body.Lines, LogLine(line))
	}
	return output, nil
}

func pluginOf(info pluginsdk.PluginInfo) Plugin {
	return Plugin{
		Name: info.Name, Version: info.Version, Description: info.Manifest.Description,
		Origin: info.Origin, SHA256: info.SHA256, Publisher: info.Publisher,
		Enabled: info.Enabled, Position: info.Position, State: info.State, LastError: info.LastError,
		Problem: info.Problem, Quarantine: info.Quarantine,
		Restarts: info.Restarts, Failures: info.Failures, Hooks: list(info.Manifest.Hooks),
		Commands: list(info.Manifest.Commands), Granted: list(info.Granted), Lacking: list(info.Lacking()),
		Limits: info.Limits, Ledger: ledgerOf(info.Ledger), UpdatedAt: info.UpdatedAt,
	}
}

func ledgerOf(l pluginsdk.PluginLedger) Ledger {
	ledger := Ledger{
		Calls: l.Calls, Errors: l.Errors, Timeouts: l.Timeouts, Hooks: []HookFigures{},
		RSSBytes: l.RSSBytes, CPUSeconds: l.CPUSeconds, Processes: l.Processes, Since: l.Since, At: l.At,
	}
	for _, hook := range pluginsdk.AllHooks() {
		if f, called := l.Hooks[hook]; called {
			ledger.Hooks = append(ledger.Hooks, HookFigures{
				Hook: hook, Calls: f.Calls, Errors: f.Errors, Timeouts: f.Timeouts,
				P50Micros: f.P50.Microseconds(), P99Micros: f.P99.Microseconds(),
			})
		}
	}
	return ledger
}
