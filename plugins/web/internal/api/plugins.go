package api

import (
	"context"
	"maps"
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
	LastErrorAt time.Time               `json:"lastErrorAt,omitzero" doc:"When the last error came about, where that is known"`
	Problem     string                  `json:"problem,omitempty" doc:"What is wrong with its row; the last good values hold"`
	Quarantine  string                  `json:"quarantine,omitempty" doc:"Why it is not started any more"`
	Restarts    int                     `json:"restarts"`
	Failures    int64                   `json:"failures" doc:"Hooks that failed"`
	Hooks       []pluginsdk.Hook        `json:"hooks" nullable:"false"`
	Commands    []pluginsdk.CommandSpec `json:"commands" nullable:"false"`
	Granted     []pluginsdk.Capability  `json:"granted" nullable:"false" doc:"Capabilities that an operator granted"`
	Unconfirmed []pluginsdk.Capability  `json:"unconfirmed" nullable:"false" doc:"Those of granted that an upgrade of Harness has granted, and that nobody has confirmed: to grant them confirms them"`
	Lacking     []string                `json:"lacking" nullable:"false" doc:"What it asks for and was not granted; variables begin with $"`
	Limits      pluginsdk.PluginLimits  `json:"limits" doc:"0: the default; negative: no limit"`
	Checks      []pluginsdk.Check       `json:"checks" nullable:"false" doc:"What it said of its surroundings when it was asked last"`
	CheckedAt   time.Time               `json:"checkedAt,omitzero" doc:"When that was"`
	Figures     Figures                 `json:"figures" doc:"What it has done and used since the daemon's start"`
	UpdatedAt   time.Time               `json:"updatedAt"`

	GrantedEnv []string            `json:"grantedEnv" nullable:"false" doc:"Variables of the daemon's environment that it was granted"`
	Manifest   *pluginsdk.Manifest `json:"manifest,omitempty" doc:"All that it declares: of a plugin that is read by itself, and of lists with manifests=true"`
}

// Figures are what a plugin has done and used.
type Figures struct {
	Calls       int64         `json:"calls" doc:"Of its hooks"`
	Errors      int64         `json:"errors" doc:"Timeouts included"`
	Timeouts    int64         `json:"timeouts"`
	Slow        int64         `json:"slow" doc:"Calls in runs that took longer than a second"`
	Hooks       []CallFigures `json:"hooks" nullable:"false" doc:"By hook, in the order in which a run comes to them"`
	Host        []CallFigures `json:"host" nullable:"false" doc:"What it asked of the core, by service and method"`
	HeldBack    int64         `json:"heldBack" doc:"Calls of the core that a quota refused"`
	RowsDropped int64         `json:"rowsDropped" doc:"Rows that it left for its runs and that were not stored"`
	RSSBytes    int64         `json:"rssBytes"`
	CPUSeconds  float64       `json:"cpuSeconds"`
	Processes   int           `json:"processes"`
	Since       time.Time     `json:"since"`
	At          time.Time     `json:"at"`
}

// CallFigures are the calls of one hook, or of one method of the core.
type CallFigures struct {
	Name      string `json:"name" doc:"A hook such as OnMessage, or a method such as Messages.Append"`
	Calls     int64  `json:"calls"`
	Errors    int64  `json:"errors"`
	Timeouts  int64  `json:"timeouts"`
	P50Micros int64  `json:"p50Micros" doc:"Of the latest calls, in microseconds"`
	P99Micros int64  `json:"p99Micros" doc:"Of the latest calls, in microseconds"`
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

type pluginsInput struct {
	Manifests bool `query:"manifests" doc:"With all that each declares"`
}

type togglePluginInput struct {
	Name string `path:"name" doc:"The plugin's name"`
	Body struct {
		Enabled bool `json:"enabled" doc:"true also ends a quarantine"`
	}
}

type pluginLogsInput struct {
	Name  string `path:"name" doc:"The plugin's name"`
	Limit int    `query:"limit" minimum:"1" maximum:"5000" default:"200" doc:"How many lines at most"`
}

type pluginLogsOutput struct {
	Body struct {
		Lines []LogLine `json:"lines" nullable:"false" doc:"The newest, the oldest of them first"`
	}
}

func (h *handlers) registerPlugins(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-plugins", "/api/plugins", "Plugins, in the order of hooks")), h.listPlugins)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-plugin", "/api/plugins/{name}", "A plugin")), h.getPlugin)
	huma.Register(api, needs(pluginsdk.ScopeAdmin, patch("toggle-plugin", "/api/plugins/{name}", "Turn a plugin on or off")), h.togglePlugin)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-plugin-logs", "/api/plugins/{name}/logs", "The newest lines of a plugin's log")), h.listPluginLogs)
}

func (h *handlers) listPlugins(ctx context.Context, input *pluginsInput) (*pluginsOutput, error) {
	infos, err := h.allPlugins(ctx)
	if err != nil {
		return nil, h.fail("list-plugins", err)
	}
	output := &pluginsOutput{}
	output.Body.Plugins = make([]Plugin, 0, len(infos))
	for _, info := range infos {
		view := pluginOf(info)
		if input.Manifests {
			view.Manifest = &info.Manifest
		}
		output.Body.Plugins = append(output.Body.Plugins, view)
	}
	return output, nil
}

func (h *handlers) allPlugins(ctx context.Context) (infos []pluginsdk.PluginInfo, err error) {
	for request := (pluginsdk.ListPluginsRequest{}); ; {
		answer, err := h.host.Plugins.List(ctx, &request)
		if err != nil {
			return nil, err
		}
		infos = append(infos, answer.Plugins...)
		if !answer.More || len(answer.Plugins) == 0 {
			return infos, nil
		}
		request.After = infos[len(infos)-1].Name
	}
}

func (h *handlers) getPlugin(ctx context.Context, input *pluginInput) (*pluginOutput, error) {
	plugin, err := h.plugin(ctx, input.Name)
	if err != nil {
		return nil, h.fail("get-plugin", err)
	}
	return &pluginOutput{Body: plugin}, nil
}

func (h *handlers) plugin(ctx context.Context, name string) (Plugin, error) {
	infos, err := h.allPlugins(ctx)
	if err != nil {
		return Plugin{}, err
	}
	n := slices.IndexFunc(infos, func(info pluginsdk.PluginInfo) bool { return info.Name == name })
	if n < 0 {
		return Plugin{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "there is no plugin %q", name)
	}
	view := pluginOf(infos[n])
	view.Manifest = &infos[n].Manifest
	return view, nil
}

func (h *handlers) togglePlugin(ctx context.Context, input *togglePluginInput) (*pluginOutput, error) {
	if _, err := h.host.Plugins.SetEnabled(ctx, &pluginsdk.SetPluginEnabledRequest{Name: input.Name, Enabled: input.Body.Enabled}); err != nil {
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
	answer, err := h.host.Plugins.Logs(ctx, &pluginsdk.ReadPluginLogRequest{Name: input.Name, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-plugin-logs", err)
	}
	output := &pluginLogsOutput{}
	output.Body.Lines = make([]LogLine, 0, len(answer.Lines))
	for _, line := range answer.Lines {
		output.Body.Lines = append(output.Body.Lines, LogLine(line))
	}
	return output, nil
}

func pluginOf(info pluginsdk.PluginInfo) Plugin {
	return Plugin{
		Name: info.Name, Version: info.Version, Description: info.Manifest.Description,
		Origin: info.Origin, SHA256: info.SHA256, Publisher: info.Publisher,
		Enabled: info.Enabled, Position: info.Position, State: info.State, LastError: info.LastError, LastErrorAt: info.LastErrorAt,
		Problem: info.Problem, Quarantine: info.Quarantine,
		Restarts: info.Restarts, Failures: info.Failures, Hooks: list(info.Manifest.Hooks),
		Commands: list(info.Manifest.Commands), Granted: list(info.Granted), Unconfirmed: list(info.Unconfirmed), Lacking: list(info.Lacking()),
		Limits: info.Limits, Checks: list(info.Checks), CheckedAt: info.CheckedAt,
		Figures: figuresOf(info.Figures), UpdatedAt: info.UpdatedAt, GrantedEnv: list(info.GrantedEnv),
	}
}

func figuresOf(f pluginsdk.PluginFigures) Figures {
	figures := Figures{
		Calls: f.Calls, Errors: f.Errors, Timeouts: f.Timeouts, Slow: f.Slow, Hooks: []CallFigures{}, Host: []CallFigures{},
		HeldBack: f.HeldBack, RowsDropped: f.RowsDropped,
		RSSBytes: f.RSSBytes, CPUSeconds: f.CPUSeconds, Processes: f.Processes, Since: f.Since, At: f.At,
	}
	for _, hook := range pluginsdk.AllHooks() {
		if calls, called := f.Hooks[hook]; called {
			figures.Hooks = append(figures.Hooks, callsOf(string(hook), calls))
		}
	}
	for _, method := range slices.Sorted(maps.Keys(f.Host)) {
		figures.Host = append(figures.Host, callsOf(method, f.Host[method]))
	}
	return figures
}

func callsOf(name string, f pluginsdk.CallFigures) CallFigures {
	return CallFigures{
		Name: name, Calls: f.Calls, Errors: f.Errors, Timeouts: f.Timeouts,
		P50Micros: f.P50.Microseconds(), P99Micros: f.P99.Microseconds(),
	}
}
