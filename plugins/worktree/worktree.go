// Package worktree is the plugin that has each task on a git repository work in a worktree
// of its own, and merges what was accepted.
package worktree

import (
	"runtime"

	"github.com/seed-706843ae/harness/plugins/worktree/internal/worktree"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// New returns the plugin, and sets up this process for it.
func New() pluginsdk.Plugin {
	runtime.GOMAXPROCS(1) // it waits for others; see the plugin time
	return new(worktree.Plugin)
}
