// Command subject is the plugin that the benchmark measures with. Its name is
// that of its file, so that copies of it are several plugins; under the name
// bare it is what a call costs without Harness.
package main

import (
	"os"
	"path/filepath"

	"github.com/seed-706843ae/harness/core/coretest/bench/bare"
	"github.com/seed-706843ae/harness/core/coretest/bench/subject"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// version is set by the linker.
var version = "1.0.0"

func main() {
	name := filepath.Base(os.Args[0])
	if name == bare.Name {
		bare.Serve()
		return
	}
	serve.Main(&subject.Plugin{Name: name, Version: version})
}
