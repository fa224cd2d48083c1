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
	Restarts  int
	Settled   int64
	Serving   string
	Rejected  string
}

// ChecksGood is how long what a plugin has said of its surroundings (Checks) is taken
// for what holds; older ones are shown as old.
const ChecksGood = 5 * time.Minute

// SeenOf is what a row says that was last seen.
func SeenOf(row Plugin) PluginSeen {
	return PluginSeen{
		State: row.State, LastError: row.LastError, Restarts: row.Restarts,
		Settled: row.Settled, Serving: row.Serving, Rejected: row.Rejected,
	}
}
