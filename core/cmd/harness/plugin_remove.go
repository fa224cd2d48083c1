package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/registry"
)

func newPluginRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove a plugin with its settings, state, secrets and files",
		Long: `Remove a plugin: it is disabled, the daemon ends it, and its row, settings, state, secrets
and all versions of its files are deleted. With --keep-state what it has stored and its
secrets stay, for when it is installed again.`,
		Example: `  harness plugin remove greeter
  harness plugin remove greeter --yes --keep-state`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keep, _ := cmd.Flags().GetBool("keep-state")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Remove(ctx, registry.RemoveRequest{Name: args[0], KeepState: keep})
			})
		},
	}
	addYes(cmd)
	cmd.Flags().Bool("keep-state", false, "keep its state and its secrets")
	return cmd
}
