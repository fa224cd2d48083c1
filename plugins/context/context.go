// Package promptcontext is the plugin context. It puts the workspace's context files and
// the conversation's history in front of a prompt.
package promptcontext

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/context/internal/promptcontext"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	// An answer takes microseconds: a second thread to run Go on would only be woken and
	// put to sleep for it, which costs more.
	runtime.GOMAXPROCS(1)
	return new(promptcontext.Plugin)
}
