package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List plugins in the order of their hooks",
		Long: `List plugins in the order of their hooks, with what the daemon has seen of them. NEEDS
is what a plugin wants and was not granted. With the daemon down, enabled plugins are
stopped. Settings are never shown: they can hold secrets.`,
		Example: `  harness plugin list
  harness plugin list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				rows, err := o.Rows(ctx)
				if err != nil {
					return err
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), rows)
				}
				return o.Overview(rows)
			})
		},
	}
	cmd.Flags().Bool("json", false, "print all fields but settings as JSON")
	return cmd
}
