// Command chaos is the proof that what Harness accepts is not lost: a load of
// many threads against the real daemon, the shipped plugins and the real agent
// CLI, while a schedule of kills hits all of them and the connections to the
// database. Afterwards package check counts every broken promise; each column
// of the table must be zero.
//
// It wants bin/harness and bin/plugins (make build). HARNESS_TEST_CLAUDE and
// HARNESS_TEST_POSTGRES (.ci/test-env sets both) name the real agent and a
// Postgres server; without them it says what it leaves out. The exit code is 1
// when a promise was broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
	"github.com/seed-706843ae/harness/pluginsdk/serve"
)

func main() {
	// The daemon starts this program as its plugin, by that name.
	if filepath.Base(os.Args[0]) == courier.Name {
		serve.Main(new(courier.Plugin))
	}
	options, err := parse(os.Args[1:], os.Getenv)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
		err = run(ctx, options)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// errBroken says that the table has something else than zeros.
var errBroken = errors.New("promises were broken")

// run makes one campaign on each database. The error repeats the violations of all of them,
// so that they stand at the end of a log too.
func run(ctx context.Context, options options) error {
	var broken []string
	for _, database := range options.databases {
		violations, err := campaign(ctx, options, database)
		if err != nil {
			return fmt.Errorf("%s: %w", database, err)
		}
		broken = append(broken, violations...)
	}
	if len(broken) == 0 {
		return nil
	}
	return fmt.Errorf("%w:\n%s", errBroken, strings.Join(broken, "\n"))
}
