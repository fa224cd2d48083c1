// Command activity is the plugin that records what happened around a reply:
// that a run began, its steps, thinking and tool calls, and how it ended.
package main

import (
	"github.com/seed-706843ae/harness/plugins/activity/internal/activity"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(activity.Plugin)) }
