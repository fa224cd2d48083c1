package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginOrder() *cobra.Command {
	return &cobra.Command{
		Use:   "order NAME before|after OTHER | NAME NAME...",
		Short: "Change the order in which plugins are asked",
		Long: `Change the order in which plugins are asked. Move one before or after another, or name
several, which are put into that order in the places that they have; the others stay
where they are.`,
		Example: `  harness plugin order redact after context
  harness plugin order context time redact`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.Order(ctx, args)
			})
		},
	}
}
