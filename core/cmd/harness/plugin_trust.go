package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginTrust() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust NAME",
		Short: "Let a plugin start whose files were changed, because the change was meant",
		Long: `Pin a plugin as its files are now, after showing the old and the new SHA-256. A plugin
whose files were changed does not start; this is for a change that was meant. When you do
not know who changed them, do not: install the version again with ` + "`harness plugin upgrade`.",
		Example: `  harness plugin trust greeter`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Trust(ctx, args[0])
			})
		},
	}
	addYes(cmd)
	return cmd
}
