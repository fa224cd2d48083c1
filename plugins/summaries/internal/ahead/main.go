// Command ahead is the plugin summaries with a clock that a test puts forward: by the duration in the file ahead, in the
// directory above that of the path by which it is started.
package main

import (
	"os"
	"path/filepath"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/summaries"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	file := filepath.Join(filepath.Dir(filepath.Dir(os.Args[0])), "ahead")
	serve.Main(&summaries.Plugin{Now: func() time.Time {
		by := time.Duration(0)
		if text, err := os.ReadFile(file); err == nil { // else no test has put it forward
			by, _ = time.ParseDuration(string(text))
		}
		return time.Now().UTC().Add(by)
	}})
}
