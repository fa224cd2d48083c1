package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
)

// rollUpAlone is how many turns are rolled up in one transaction when nothing else is done.
const rollUpAlone = 5000

func newDBRollup() *cobra.Command {
	return &cobra.Command{
		Use:   "rollup",
		Short: "Make the sums of usage anew",
		Long: `Make the sums anew by which usage is read (harness usage, the page Usage), from the first
turn on. They are made of the turns, and nothing else depends on them: what turns have cost
is right without them, and takes longer to answer.

With the daemon down, this returns when it is done. While the daemon runs, the sums are
emptied, and the daemon makes them again beside its work, beginning with the next full hour.`,
		Example: `  harness db rollup`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				out := cmd.OutOrStdout()
				if err := database.ResetUsage(ctx); err != nil {
					return err
				}
				if daemon.Running(config) {
					fmt.Fprintln(out, "The sums of usage are empty; the daemon makes them again, beginning with the next full hour.")
					return nil
				}
				tenth := int64(-1)
				for more := true; more; {
					var err error
					if more, err = database.RollUpUsage(ctx, rollUpAlone); err != nil {
						return fmt.Errorf("%w; the daemon goes on with the sums when it runs, or run this again", err)
					}
					done, behind, err := database.UsageRolledUp(ctx)
					if err != nil {
						return err
					}
					if now := done * 10 / max(done+behind, 1); now > tenth {
						tenth = now
						fmt.Fprintf(out, "rolled up %d turns of %d\n", done, done+behind)
					}
				}
				fmt.Fprintln(out, "The sums of usage are whole.")
				return nil
			})
		},
	}
}
