package ledger

import (
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// PluginSeen is what the supervisor sees of a plugin; see the fields of
// pluginsdk.PluginInfo.
type PluginSeen struct {
	State     pluginsdk.PluginState
	LastError string
	// LastErrorAt is in UTC and whole microseconds, as databases keep it.
	LastErrorAt time.Time
	Restarts    int
	Settled     int64
	Serving     string
	Rejected    string
	Refused     RefusedSettings
}

// ChecksGood is how long what a plugin has said of its surroundings (Checks) is taken
// for what holds; older ones are shown as old.
const ChecksGood = 5 * time.Minute

// SeenOf is what a row says that was last seen.
func SeenOf(row Plugin) PluginSeen {
	return PluginSeen{
		State: row.State, LastError: row.LastError, LastErrorAt: row.LastErrorAt, Restarts: row.Restarts,
		Settled: row.Settled, Serving: row.Serving, Rejected: row.Rejected,
		Refused: row.Refused,
	}
}

// SettingsRefused is how the last error of a plugin begins that has refused settings
// while it runs, and goes on with those that it had. Package registry tells operators of
// it, and package pluginhost keeps it until the plugin has the settings of its row.
const SettingsRefused = "it refused its new settings"

// PluginChange is what somebody decides of a plugin's row, with what the audit log
// says of it.
type PluginChange struct {
	Name string
	Who  string // an operator, a plugin, the daemon
	// Action is what the audit log calls it, such as plugin.grant.
	Action string
	// Edit changes the row, which all has as it was. What it returns is said in the
	// audit log; with its error nothing is changed. It may be called more than once.
	Edit func(row *Plugin, all []Plugin) (detail string, err error)
}

// PluginRemoval takes a plugin out of the registry.
type PluginRemoval struct {
	Name string
	Who  string
	// KeepState leaves its state and its secrets, for when it is installed again.
	KeepState bool
	// Detail is what the audit log says of the row that goes; with its error the row
	// stays. It may be called more than once.
	Detail func(row Plugin) (detail string, err error)
}
