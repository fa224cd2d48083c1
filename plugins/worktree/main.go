// Command worktree is the plugin that has each task on a git repository work in a worktree
// of its own, and merges what was accepted.
package main

import (
	"github.com/seed-706843ae/harness/plugins/worktree/internal/worktree"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(worktree.Plugin)) }
