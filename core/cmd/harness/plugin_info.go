package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginInfo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "info NAME",
		Short: "Show all that is known of a plugin: rights, figures, faults, earlier versions",
		Long: `Show all that is known of a plugin: what it declares, what it wants and has, its limits,
whether its files are as they were pinned, why it is in quarantine, the versions to go
back to, what it says of its surroundings, and its figures: calls, errors, timeouts and
times of each hook, and of what it asks of the core, memory, CPU and restarts since the
daemon's start. Settings are not shown; see ` + "`harness plugin settings`.",
		Example: `  harness plugin info time
  harness plugin info time --json | jq .figures`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				report, err := o.Report(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSONValue(cmd.OutOrStdout(), report)
				}
				return o.Info(report)
			})
		},
	}
	cmd.Flags().Bool("json", false, "print all fields but settings as JSON")
	return cmd
}
