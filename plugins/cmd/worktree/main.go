// Command worktree is the plugin worktree by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/worktree"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(worktree.New()) }
