// Command slack-like is an example of a plugin: it connects a chat service.
package main

import (
	"github.com/seed-706843ae/harness/plugins/examples/slack-like/internal/adapter"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(adapter.Plugin)) }
