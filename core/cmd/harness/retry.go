package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
)

func newRetry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Try a message again whose run failed or was cancelled",
		Long: `Hand the message of a run that failed or was cancelled in once more, wait, and
print the answer, as send does. The message is said anew at the end of the thread.
A run is tried again once: repeated, this waits for the same answer.

The exit code is that of send.`,
		Example: `  harness retry 0198c5c0-...`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return answer(cmd, func(ctx context.Context, api *client.Client, waiting client.Waiting) (*client.Ending, error) {
				return api.AskAgain(ctx, args[0], waiting)
			})
		},
	}
	addAddress(cmd)
	addTimeout(cmd)
	return cmd
}
