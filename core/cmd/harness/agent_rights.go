package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
)

func newAgentRights() *cobra.Command {
	cmd := apiCommand("rights THREAD", "Show the agent's rules in a thread: those that Harness gave, and those that the CLI says it has", "  harness agent rights 0199...\n  harness agent rights 0199... --json",
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
	cmd.Long = `Show the rules of the agent's session in a thread: those that Harness gave it, beside those
that the Claude CLI says it has, and the hooks that run in it. In a task's thread the rules
are those of the task's turns. Differences are marked with ≠, and the exit code is 1 when
there are any.`
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}
