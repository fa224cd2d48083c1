// Command context is the plugin that puts the workspace's context files and
// the conversation's history in front of a prompt.
package main

import (
	"github.com/seed-706843ae/harness/plugins/context/internal/promptcontext"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(promptcontext.Plugin)) }
