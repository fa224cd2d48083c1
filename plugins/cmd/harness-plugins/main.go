// Command harness-plugins is the plugins that come with Harness, in one program: what they
// share is in memory once. Each is a process of its own. The name under which the program is
// started, which is that of a link to it, says which plugin the process is.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/activity"
	promptcontext "github.com/seed-706843ae/harness/plugins/context"
	"github.com/seed-706843ae/harness/plugins/cron"
	"github.com/seed-706843ae/harness/plugins/delegation"
	"github.com/seed-706843ae/harness/plugins/discord"
	"github.com/seed-706843ae/harness/plugins/internal/run"
	"github.com/seed-706843ae/harness/plugins/metrics"
	"github.com/seed-706843ae/harness/plugins/summaries"
	clock "github.com/seed-706843ae/harness/plugins/time"
	"github.com/seed-706843ae/harness/plugins/validation"
	"github.com/seed-706843ae/harness/plugins/web"
	"github.com/seed-706843ae/harness/plugins/workflow"
	"github.com/seed-706843ae/harness/plugins/worktree"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

// plugins are those of core/shipped, by name.
var plugins = map[string]func() pluginsdk.Plugin{
	"activity":   activity.New,
	"context":    promptcontext.New,
	"cron":       cron.New,
	"delegation": delegation.New,
	"discord":    discord.New,
	"metrics":    metrics.New,
	"summaries":  summaries.New,
	"time":       clock.New,
	"validation": validation.New,
	"web":        web.New,
	"workflow":   workflow.New,
	"worktree":   worktree.New,
}

func main() {
	run.Between()
	name, args := playedBy(os.Args)
	if name == "" {
		introduce(os.Stderr, os.Args[0])
		os.Exit(2)
	}
	os.Args = args
	serve.Main(plugins[name]())
}

// playedBy returns which plugin a command line starts, and the command line as that plugin is
// to see it. The base name of the program decides, else the first argument; the name is empty
// when neither names a plugin.
func playedBy(args []string) (name string, seen []string) {
	if name = filepath.Base(args[0]); plugins[name] != nil {
		return name, args
	}
	if len(args) > 1 && plugins[args[1]] != nil {
		return args[1], append([]string{args[0] + " " + args[1]}, args[2:]...)
	}
	return "", nil
}

// introduce tells a person who started the program by hand what it is.
func introduce(out io.Writer, program string) {
	names := slices.Sorted(maps.Keys(plugins))
	fmt.Fprintf(out, `This is the program of the plugins that come with Harness: %s.
It is one of them when it is started under that plugin's name, or with the name as its first argument.
The daemon starts each by its link in the plugin directory. Make one with:  ln -s ../harness-plugins plugins/%s
See what a plugin says of itself with:  %s %s %s
`, strings.Join(names, ", "), names[0], program, names[0], serve.DescribeFlag)
}
