package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/devloop"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginDev() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dev DIR",
		Short: "Build a plugin and use it, again at each save",
		Long: `Build the plugin in a directory, make the running daemon use it, and do both again
whenever a file is saved, until Ctrl-C. It is built with ` + "`make build`" + ` where the Makefile
has that, else with ` + "`go build`" + `; a plugin without a build is used as it is. The daemon changes
to a new build between runs, without losing one. A build that fails leaves the last one
running. What the plugin logs is shown.

What its manifest asks for is granted after asking, or with --grant-all.`,
		Example: `  harness plugin dev .
  harness plugin dev ~/src/greeter --grant-all`,
		Args: cobra.ExactArgs(1),
		RunE: runPluginDev,
	}
	cmd.Flags().Bool("grant-all", false, "grant what the manifest asks for without asking")
	cmd.Flags().String("binary", "", "what the build makes, relative to DIR (default: the executable in bin)")
	return cmd
}

func runPluginDev(cmd *cobra.Command, args []string) error {
	return withRegistry(cmd, func(ctx context.Context, with registryHere) error {
		o := with.operator
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := errors.Join(with.registry.MayDevelop(), with.registry.DevDaemon(ctx)); err != nil {
			return err
		}
		out := &sharedWriter{to: o.Out}
		o.Out = out
		if !o.Plugins.Running() {
			fmt.Fprintln(out, "No daemon runs with this data directory; it takes the plugin when it starts (`harness up --dev`).")
		}
		return develop(ctx, developing{cmd, with}, args[0])
	})
}

// developing is what `harness plugin dev` works with.
type developing struct {
	cmd *cobra.Command
	registryHere
}

func develop(ctx context.Context, with developing, dir string) error {
	o := with.operator
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var name string
	grantAll, _ := with.cmd.Flags().GetBool("grant-all")
	registrar := &devloop.Registrar{
		Register: func(ctx context.Context, build devloop.Build) (ledger.Plugin, error) {
			done, err := with.registry.Develop(ctx, operate.Who, registry.Build{Manifest: build.Manifest, Path: build.Path, SHA256: build.SHA256})
			return done.Was, err
		},
		Ask: o.Ask, GrantAll: grantAll, Out: o.Out,
		Enable: func(ctx context.Context, name string) error { return o.TurnOn(ctx, name, false) },
		Grant: func(ctx context.Context, name string) error {
			// Nobody waits for the daemon here: WatchState shows how it fares.
			done, err := with.registry.Grant(ctx, operate.Who, registry.GrantRequest{Name: name, Grants: registry.Grants{AllCapabilities: true, AllEnv: true}})
			if err == nil {
				fmt.Fprintf(o.Out, "%s was granted %s.\n", name, done.Changed)
			}
			return err
		},
		Began: func(plugin string) {
			name = plugin
			watching.Go(func() { followLog(ctx, with, plugin) })
			watching.Go(func() { watchState(ctx, with, plugin) })
		},
	}
	binary, _ := with.cmd.Flags().GetString("binary")
	loop := devloop.Loop{Dir: dir, Binary: binary, Home: filepath.Join(with.config.Data, "dev"), Out: o.Out, Use: registrar.Use}
	if err := loop.Run(ctx); err != nil {
		return err
	}
	if name != "" {
		fmt.Fprintf(o.Out, "\n%[1]s stays as it was built last. To turn it off: harness plugin disable %[1]s\n", name)
	}
	return nil
}

// followLog shows what the plugin logs from now on.
func followLog(ctx context.Context, with developing, name string) {
	ticker := time.NewTicker(logPoll)
	defer ticker.Stop()
	if err := with.operator.Logs(ctx, name, with.config.PluginLog(name), 0, true, ticker.C); err != nil {
		fmt.Fprintf(with.operator.Out, "the plugin's log cannot be shown: %v\n", err)
	}
}

// watchState shows how the daemon fares with the plugin.
func watchState(ctx context.Context, with developing, name string) {
	ticker := time.NewTicker(logPoll)
	defer ticker.Stop()
	devloop.WatchState(ctx, with.database, name, with.operator.Out, ticker.C)
}

// sharedWriter lets several write, one at a time.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *sharedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
