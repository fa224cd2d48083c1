// Command summaries is the plugin summaries by itself (make plugins); harness-plugins has it too.
package main

import (
	"github.com/seed-706843ae/harness/plugins/summaries"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(summaries.New()) }
