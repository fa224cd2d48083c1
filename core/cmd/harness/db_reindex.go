package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/search"
	"github.com/seed-706843ae/harness/core/store"
)

func newDBReindex() *cobra.Command {
	return &cobra.Command{
		Use:   "reindex",
		Short: "Make the search index anew",
		Long: `Make the index by which messages are found anew, from the first message on. It is made of
the messages, and nothing else depends on it.

With the daemon down, this returns when it is done. While the daemon runs, the index is
emptied and the daemon makes it again beside its work; until it is whole, a search finds
only the newest messages and what is in the index by then, and says so.`,
		Example: `  harness db reindex`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd, func(ctx context.Context, config daemon.Config, database *store.Store) error {
				out := cmd.OutOrStdout()
				if daemon.Running(config) {
					if err := database.ResetIndex(ctx, search.Rules); err != nil {
						return err
					}
					fmt.Fprintln(out, "The search index is empty; the daemon makes it again, beginning within half a minute.")
					return nil
				}
				room := search.New(search.Config{}, database)
				tenth := int64(-1)
				err := room.Reindex(ctx, func(done, of int64) {
					if now := done * 10 / max(of, 1); now > tenth {
						tenth = now
						fmt.Fprintf(out, "indexed up to message %d of %d\n", done, of)
					}
				})
				if err != nil {
					return fmt.Errorf("%w; the daemon goes on with the index when it starts, or run this again", err)
				}
				fmt.Fprintln(out, "The search index is whole.")
				return nil
			})
		},
	}
}
