// Package shipped is the table of the plugins that come with Harness. A new one is its
// folder, plugins/NAME, and its line here: the rest of the core knows none by name.
package shipped

import (
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Plugins are the plugins that come with Harness: enabled with their grants at first
// start, in this order. Whatever else lies in the daemon's directory starts disabled,
// with no grants, behind them.
var Plugins = Table{
	{"activity", []Grants{
		{Since: 1, Capabilities: []pluginsdk.Capability{pluginsdk.CapMessagesWrite}},
		{Since: 10, Capabilities: []pluginsdk.Capability{pluginsdk.CapTurnsRead}},
	}},
	{"context", []Grants{
		{Since: 1, Capabilities: []pluginsdk.Capability{pluginsdk.CapMessagesRead}, Env: []string{"HARNESS_WORKSPACE"}},
		{Since: 10, Capabilities: []pluginsdk.Capability{pluginsdk.CapTurnsChange}},
	}},
	{"time", []Grants{{Since: 10, Capabilities: []pluginsdk.Capability{pluginsdk.CapTurnsChange}}}},
	{"web", []Grants{
		{Since: 1, Capabilities: []pluginsdk.Capability{
			pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesRead, pluginsdk.CapMessagesSubmit,
			pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapDeliveriesRead, pluginsdk.CapDeliveriesControl,
			pluginsdk.CapEventsRead, pluginsdk.CapPluginsRead, pluginsdk.CapPluginsAdmin, pluginsdk.CapToolsCall,
		}, Env: []string{"HARNESS_HTTP_ADDR"}},
		{Since: 2, Capabilities: []pluginsdk.Capability{pluginsdk.CapThreadsAdmin}},
		{Since: 3, Env: []string{"HARNESS_VERSION"}},
		{Since: 4, Capabilities: []pluginsdk.Capability{pluginsdk.CapMetricsRead}},
		{Since: 5, Capabilities: []pluginsdk.Capability{pluginsdk.CapTasksRead, pluginsdk.CapTasksWrite, pluginsdk.CapTasksDecide}},
		{Since: 6, Capabilities: []pluginsdk.Capability{
			pluginsdk.CapCommandsRead, pluginsdk.CapApprovalsRead, pluginsdk.CapApprovalsDecide, pluginsdk.CapFilesRead, pluginsdk.CapFilesWrite,
			pluginsdk.CapWorkspaceRead, pluginsdk.CapWorkspaceWrite, pluginsdk.CapTokensCheck, pluginsdk.CapTokensAdmin,
			pluginsdk.CapInstallationRead, pluginsdk.CapInstallationControl, pluginsdk.CapInstallationBackup,
		}, Env: []string{"HARNESS_TLS_CERT", "HARNESS_TLS_KEY"}},
		{Since: 7, Capabilities: []pluginsdk.Capability{pluginsdk.CapCronsRead}},
		{Since: 9, Capabilities: []pluginsdk.Capability{pluginsdk.CapAccountsWrite}},
		{Since: 10, Capabilities: []pluginsdk.Capability{
			pluginsdk.CapTurnsRead, pluginsdk.CapTurnsChange, pluginsdk.CapTurnsDecide, pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge,
		}, Env: []string{"HARNESS_OWNER_TOKEN"}},
		{Since: 12, Capabilities: []pluginsdk.Capability{pluginsdk.CapCronsWrite}},
	}},
	{"delegation", []Grants{{Since: 5, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapTasksRead, pluginsdk.CapTasksWrite, pluginsdk.CapRunsRead, pluginsdk.CapThreadsRead, pluginsdk.CapMessagesSubmit, pluginsdk.CapThreadsAdmin,
		pluginsdk.CapEventsRead,
	}, Env: []string{"HARNESS_WORKSPACE"}}}},
	{"worktree", []Grants{
		{Since: 5, Capabilities: []pluginsdk.Capability{pluginsdk.CapState, pluginsdk.CapTasksRead, pluginsdk.CapThreadsAdmin}},
		{Since: 10, Capabilities: []pluginsdk.Capability{pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge}},
	}},
	{"validation", []Grants{
		{Since: 5, Capabilities: []pluginsdk.Capability{pluginsdk.CapState, pluginsdk.CapAgentInvoke, pluginsdk.CapThreadsAdmin},
			Env: []string{"GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOTOOLCHAIN", "CARGO_HOME", "RUSTUP_HOME", "VIRTUAL_ENV"}},
		{Since: 10, Capabilities: []pluginsdk.Capability{pluginsdk.CapTasksRead, pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge}},
	}},
	{"workflow", []Grants{{Since: 17, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapTasksRead, pluginsdk.CapTasksWrite, pluginsdk.CapTasksPrepare, pluginsdk.CapTasksJudge, pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapThreadsRead,
		pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin, pluginsdk.CapAgentInvoke, pluginsdk.CapMessagesWrite, pluginsdk.CapTurnsChange, pluginsdk.CapEventsRead,
		pluginsdk.CapState,
	}, Env: []string{"HARNESS_WORKSPACE"}}}},
	{"discord", []Grants{{Since: 8, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapMessagesRead, pluginsdk.CapMessagesSubmit,
		pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapDeliveriesRead, pluginsdk.CapEventsRead, pluginsdk.CapCommandsRead,
		pluginsdk.CapApprovalsRead, pluginsdk.CapApprovalsDecide, pluginsdk.CapFilesRead, pluginsdk.CapFilesWrite, pluginsdk.CapState,
		pluginsdk.CapTasksRead, pluginsdk.CapTasksDecide,
	}, Env: []string{"DISCORD_TOKEN", "DISCORD_CHANNEL_ID"}}}},
	{"cron", []Grants{{Since: 11, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapCronsRead, pluginsdk.CapCronsWrite, pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin, pluginsdk.CapMessagesSubmit,
		pluginsdk.CapMessagesRead, pluginsdk.CapMessagesWrite, pluginsdk.CapRunsRead, pluginsdk.CapRunsControl, pluginsdk.CapEventsRead, pluginsdk.CapState,
	}}, {Since: 12, Capabilities: []pluginsdk.Capability{pluginsdk.CapInstallationRead, pluginsdk.CapWorkspaceRead, pluginsdk.CapWorkspaceWrite}, Env: []string{"HARNESS_WORKSPACE"}},
		{Since: 14, Capabilities: []pluginsdk.Capability{pluginsdk.CapTasksRead, pluginsdk.CapAgentInvoke}}}},
	{"metrics", []Grants{{Since: 12, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapTurnsDecide, pluginsdk.CapBudgetsRead, pluginsdk.CapState, pluginsdk.CapInstallationRead, pluginsdk.CapRunsRead, pluginsdk.CapTasksRead,
		pluginsdk.CapThreadsRead, pluginsdk.CapMessagesWrite,
	}}, {Since: 15, Capabilities: []pluginsdk.Capability{pluginsdk.CapMetricsWrite, pluginsdk.CapEventsRead}}}},
	{"summaries", []Grants{{Since: 13, Capabilities: []pluginsdk.Capability{
		pluginsdk.CapThreadsRead, pluginsdk.CapThreadsWrite, pluginsdk.CapThreadsAdmin, pluginsdk.CapMessagesRead, pluginsdk.CapMessagesWrite, pluginsdk.CapRunsRead,
		pluginsdk.CapAgentInvoke, pluginsdk.CapWorkspaceRead, pluginsdk.CapWorkspaceWrite, pluginsdk.CapState, pluginsdk.CapEventsRead,
	}}, {Since: 16, Capabilities: []pluginsdk.Capability{pluginsdk.CapApprovalsRead}}}},
}

// Limits are those of the shipped plugins' processes that begin with other ones than the
// default: they run the programs of projects, compilers and tests, which need as much as
// when the agent runs them. An operator can set others. Negative: none.
var Limits = map[string]pluginsdk.PluginLimits{
	"validation": {MemoryBytes: -1, Processes: -1, OpenFiles: -1},
	"worktree":   {MemoryBytes: -1, Processes: -1, OpenFiles: -1},
}

// Operators are the settings of the shipped plugins that only an operator changes: commands,
// directories, addresses, whom to trust, and who is shown memory. The token of Discord says whose
// application it is, and with that who the owner is. Their schemas mark them so; what an installation
// has stored of a plugin's schema may be older.
var Operators = map[string][]string{
	"context":    {"dir", "filesForOthers", "threads"},
	"delegation": {"roots"},
	"discord":    {"apiURL", "approvers", "channel", "channels", "dashboard", "guilds", "owner", "ownerChannels", "roles", "token", "users", "workers"},
	"summaries":  {"threads"},
	"validation": {"checks", "environment", "makers"},
	"web":        {"allowedHosts", "auth"},
	"workflow":   {"roles", "roots"},
	"worktree":   {"setup"},
}

// Named reports whether the name is that of a plugin that comes with Harness.
// Those of the daemon's own directory have it, and nothing else: the names are in
// events, commands and tools that people know.
func Named(name string) bool { return Plugins.Place(name) > 0 }

// Table is the plugins of a release, in the order in which they are asked.
type Table []Plugin

// Plugin is a plugin that comes with Harness: its folder's name, and what it is granted
// by default and since when. What a release changes is a version of the grants more: an
// entry that was in a release stays as it is.
type Plugin struct {
	Name   string
	Grants []Grants
}

// Grants are what a version of the grants adds to those before it.
type Grants struct {
	Since        int
	Capabilities []pluginsdk.Capability
	Env          []string
}

// Version is the newest version of the grants.
func (t Table) Version() (newest int) {
	for _, plugin := range t {
		for _, added := range plugin.Grants {
			newest = max(newest, added.Since)
		}
	}
	return newest
}

// Variables are the names of the variables of the environment that are granted to some
// plugin, in order.
func (t Table) Variables() (names []string) {
	for _, plugin := range t {
		for _, added := range plugin.Grants {
			names = append(names, added.Env...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Names are the names of the plugins, in their order.
func (t Table) Names() (names []string) {
	for _, plugin := range t {
		names = append(names, plugin.Name)
	}
	return names
}

// Place is the plugin's among the shipped ones, from 1; 0: it is none of them.
func (t Table) Place(name string) int {
	return slices.IndexFunc(t, func(plugin Plugin) bool { return plugin.Name == name }) + 1
}

// After returns what a plugin is granted by the versions after one, and was by none
// of those before.
func (t Table) After(name string, version int) (capabilities []pluginsdk.Capability, env []string) {
	place := t.Place(name)
	if place == 0 {
		return nil, nil
	}
	var had Grants
	for _, added := range t[place-1].Grants {
		if added.Since <= version {
			had.Capabilities, had.Env = append(had.Capabilities, added.Capabilities...), append(had.Env, added.Env...)
			continue
		}
		capabilities = append(capabilities, without(added.Capabilities, had.Capabilities)...)
		env = append(env, without(added.Env, had.Env)...)
	}
	return capabilities, env
}

// without returns the names that are not among others.
func without[T comparable](names, others []T) []T {
	return slices.DeleteFunc(slices.Clone(names), func(name T) bool { return slices.Contains(others, name) })
}
