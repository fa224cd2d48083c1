// Command licence-gate is an example of a plugin: no task may touch a file with a licence.
package main

import (
	"github.com/seed-706843ae/harness/plugins/examples/licence-gate/internal/gate"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(gate.Plugin{}) }
