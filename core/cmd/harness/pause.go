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

func turnPause(cmd *cobra.Command, on bool) error {
	return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
		before, err := database.Lever(ctx, ledger.LeverPause)
		if err != nil {
			return err
		}
		if err := database.SetLever(ctx, ledger.LeverPause, on, operate.Who); err != nil {
			return err
		}
		when := ""
		if daemon.Running(config) {
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
	})
}
