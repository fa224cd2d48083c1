// Command redact is an example of a plugin: it takes secrets out of replies.
package main

import (
	"github.com/seed-706843ae/harness/plugins/examples/redact/internal/redact"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() { serve.Main(new(redact.Plugin)) }
