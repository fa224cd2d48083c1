package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/store"
)

func newPause() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Begin nothing any more that a plugin starts",
		Long: `Begin nothing any more that a plugin starts, until "harness resume": turns of the agent
that plugins ask for, tasks, scheduled jobs, and what other runs have caused. It waits,
also over a restart of the daemon. What is at work already goes on ("harness stop" ends
it), and what people write is answered as ever.`,
		Example: `  harness pause`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return turnPause(cmd, true) },
	}
}

func newResume() *cobra.Command {
	return &cobra.Command{
		Use:     "resume",
		Short:   "Begin again what plugins start, after a pause",
		Example: `  harness resume`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return turnPause(cmd, false) },
	}
}

// turnPause turns the pause of the daemon elsewhere that the command is for, or of this
// machine, and says how it is now.
func turnPause(cmd *cobra.Command, on bool) error {
	remote, err := elsewhere(cmd)
	if err != nil {
		return err
	}
	if remote != nil {
		before, err := remote.SetPause(cmd.Context(), on)
		if err != nil {
			return err
		}
		return sayPaused(cmd, ledger.Lever{On: before.Paused, At: before.Since}, on, true)
	}
	return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		before, err := database.Lever(ctx, ledger.LeverPause)
		if err != nil {
			return err
		}
		if err := database.SetLever(ctx, ledger.LeverPause, on, operate.Who); err != nil {
			return err
		}
		return sayPaused(cmd, before, on, daemon.Running(config))
	})
}

func sayPaused(cmd *cobra.Command, before ledger.Lever, on, running bool) (err error) {
	when := ""
	if running {
		when = " The daemon does so within a second."
	}
	switch out := cmd.OutOrStdout(); {
	case before.On && on:
		_, err = fmt.Fprintf(out, "It has been paused since %s.\n", before.At.Local().Format(time.DateTime))
	case on:
		_, err = fmt.Fprintf(out, "Paused: nothing that a plugin starts is begun until `harness resume`. People are answered.%s\n", when)
	case before.On:
		_, err = fmt.Fprintf(out, "Resumed: what plugins start is begun again.%s\n", when)
	default:
		_, err = fmt.Fprintln(out, "It is not paused.")
	}
	return err
}
