package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginEnable() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable NAME",
		Short: "Enable a plugin, and end its quarantine",
		Long: `Enable a plugin, and end its quarantine. A plugin that declares a command of the core is
refused. One that declares a command of another enabled plugin needs --force: then the
one that is earlier in the order has it. With the daemon up it waits until the
plugin serves; when it does not, that is an error, and it stays enabled.`,
		Example: `  harness plugin enable time
  harness plugin enable deploy --force`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			force, _ := cmd.Flags().GetBool("force")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Enable(ctx, args[0], force)
			})
		},
	}
	cmd.Flags().Bool("force", false, "also when another plugin has a command of the same name")
	return cmd
}

func newPluginDisable() *cobra.Command {
	return &cobra.Command{
		Use:     "disable NAME",
		Short:   "Disable a plugin",
		Example: `  harness plugin disable time`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Disable(ctx, args[0])
			})
		},
	}
}
