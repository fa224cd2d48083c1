package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
)

func newAgentRights() *cobra.Command {
	cmd := apiCommand("rights THREAD", "Show what the agent may do in a thread, as Harness means it and as its CLI says it", "  harness agent rights 0199...\n  harness agent rights 0199... --json",
		cobra.ExactArgs(1), func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			rights, err := api.Rights(ctx, args[0])
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				err = printJSONValue(cmd.OutOrStdout(), rights)
			} else {
				err = accountview.Rights(cmd.OutOrStdout(), rights)
			}
			if err == nil && len(rights.Differences) > 0 {
				return errSilent
			}
			return err
		})
	cmd.Long = `Show the rules and hooks of the agent's session in a thread: what Harness has told the
session, beside what the Claude CLI itself says that it holds. Differences are marked, and
the exit code is 1 when there are any.`
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}
