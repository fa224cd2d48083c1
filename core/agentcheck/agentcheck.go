// Package agentcheck tells whether a Claude CLI does what Harness relies on. It drives the
// CLI through core/invoker, with the configuration that the product gives it, against a
// fake Messages API in this process: without an account, without cost, without a network
// but loopback. Each line of its report is one thing that Harness relies on.
package agentcheck

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/invoker"
	"github.com/seed-706843ae/harness/core/invoker/cli"
)

// State is how the CLI stands to one line.
type State string

// The states of a line.
const (
	Holds   State = "holds"   // as Harness relies on it
	Differs State = "differs" // not as the oldest supported CLI does it, and Harness makes up for it
	Broken  State = "broken"  // what Harness promises does not hold with this CLI
)

// Line is one thing that Harness relies on.
type Line struct {
	Group string `json:"group"`
	Name  string `json:"name"`
	State State  `json:"state"`
	// Words say of a line that differs what Harness does about it, and of one that is
	// broken what has happened instead.
	Words string `json:"words,omitempty"`
}

// Report is what a run has found.
type Report struct {
	Binary  string        `json:"binary"`
	Version string        `json:"version"` // of the CLI, as it says it
	Oldest  string        `json:"oldest"`  // supported version
	Newest  string        `json:"newest"`  // version with which Harness was verified
	Took    time.Duration `json:"took"`    // nanoseconds
	Lines   []Line        `json:"lines"`
}

// Count returns how many lines are in a state.
func (r Report) Count(state State) int {
	n := 0
	for _, line := range r.Lines {
		if line.State == state {
			n++
		}
	}
	return n
}

// Range says in a sentence with which versions Harness was verified, and whether this one is
// among them.
func (r Report) Range() string {
	switch {
	case older(r.Version, r.Oldest):
		return fmt.Sprintf("This version is older than %s, the oldest that Harness works with.", r.Oldest)
	case older(r.Newest, r.Version):
		return fmt.Sprintf("Harness was verified with %s to %s; this version is newer.", r.Oldest, r.Newest)
	}
	return fmt.Sprintf("Harness was verified with %s to %s.", r.Oldest, r.Newest)
}

// older reports whether version a comes before b. Numbers count as numbers.
func older(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) < 0
}

func numbers(version string) []int {
	var parts []int
	for part := range strings.SplitSeq(version, ".") {
		number, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		parts = append(parts, number)
	}
	return parts
}

// Config is what is looked at. Zero fields take the defaults named beside them.
type Config struct {
	Binary string   // path or name of the CLI; default claude
	Only   []string // names of the lines to look at; default all
	// Env is added to the environment of the CLI, as KEY=VALUE.
	Env  []string
	Temp string       // directory for what is removed in the end; default the system's
	Log  *slog.Logger // what core/invoker logs, and how long lines take; default discarded

	catalog *cli.Catalog
}

// atOnce is how many groups of lines are looked at side by side. Each has a process of the
// CLI, which mostly waits once it has started.
const atOnce = 4

// patience bounds a group of lines.
const patience = 5 * time.Minute

// Names returns the names of all lines, in their order.
func Names() []string {
	var names []string
	for _, g := range groups {
		for _, l := range g.lines {
			names = append(names, l.name)
		}
	}
	return names
}

// Run looks at a CLI. An error says that it could not be looked at: it is not there, or
// does not start. What it does otherwise than Harness needs stands in the report. Nothing
// is left behind, in the file system or running.
func Run(ctx context.Context, config Config) (report Report, err error) {
	started := time.Now()
	if config.Binary == "" {
		config.Binary = "claude"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	for _, name := range config.Only {
		if !slices.Contains(Names(), name) {
			return Report{}, fmt.Errorf("there is no line %q", name)
		}
	}
	root, err := os.MkdirTemp(config.Temp, "hac") // short: sockets have paths of a hundred bytes
	if err != nil {
		return Report{}, err
	}
	// The CLI may write for a moment after its end: its tools' processes end last.
	defer func() { err = errors.Join(err, removeAll(root)) }()
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return Report{}, err
	}

	report.Oldest, report.Newest = invoker.Verified()
	found := invoker.Detect(ctx, invoker.Config{Binary: config.Binary, Environ: environ(root), Env: config.Env})
	if !found.Found {
		return Report{}, fmt.Errorf("%s. %s", found.Reason, found.Remedy)
	}
	report.Binary, report.Version = found.Path, found.Version

	config.catalog = &cli.Catalog{}
	if binary, err := cli.Find(found.Path); err == nil { // once for all worlds
		_, _ = config.catalog.Features(ctx, binary, found.Path, append(environ(root), config.Env...))
	}

	results := make([][]Line, len(groups))
	places := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for n, g := range groups {
		lines := g.only(config.Only)
		if len(lines) == 0 {
			continue
		}
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			results[n] = look(ctx, config, filepath.Join(root, fmt.Sprint(n)), g, lines)
		})
	}
	all.Wait()
	report.Lines = slices.Concat(results...)
	report.Took = time.Since(started)
	return report, context.Cause(ctx)
}

// group is lines that are looked at one after the other in one world, which has its own
// home, working directory and API, and a conversation that they share.
type group struct {
	name string
	// with changes the world before its agent starts.
	with  func(w *world)
	lines []line
}

// line is something that Harness relies on.
type line struct {
	name string
	// look fails the world (world.expect) when it does not hold. What it returns is how the
	// CLI differs and what Harness does about it; empty: nothing.
	look func(w *world) (differs string)
}

// only returns the lines with these names; no names: all.
func (g group) only(names []string) []line {
	if len(names) == 0 {
		return g.lines
	}
	return slices.DeleteFunc(slices.Clone(g.lines), func(l line) bool { return !slices.Contains(names, l.name) })
}

// look looks at the lines of a group.
func look(ctx context.Context, config Config, dir string, g group, lines []line) []Line {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	told := make([]Line, len(lines))
	for n, l := range lines {
		told[n] = Line{Group: g.name, Name: l.name, State: Broken}
	}
	w, err := newWorld(ctx, config, dir)
	if err == nil && g.with != nil {
		err = w.try(func() { g.with(w) })
	}
	for n, l := range lines {
		if err != nil {
			told[n].Words = err.Error()
			continue
		}
		var differs string
		began := time.Now()
		broken := w.try(func() { differs = l.look(w) })
		w.api.Handle(nil)
		config.Log.Info("looked", "line", l.name, "took", time.Since(began))
		switch {
		case broken != nil:
			told[n].Words = broken.Error()
		case differs != "":
			told[n].State, told[n].Words = Differs, differs
		default:
			told[n].State = Holds
		}
	}
	if w != nil {
		w.close()
	}
	return told
}

// removeAll removes a directory into which something may still write for a moment.
func removeAll(dir string) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	err := os.RemoveAll(dir)
	for tries := 0; err != nil && tries < 40; tries++ {
		<-again.C
		err = os.RemoveAll(dir)
	}
	return err
}
