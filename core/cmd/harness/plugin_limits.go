package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginLimits() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits NAME",
		Short: "Show or set what a plugin's processes may use",
		Long: `Show or set what a plugin's processes may use: memory and processes, all of its together;
CPU in percent of one core; open files of each. 0 is no limit, default the daemon's. What
is over its memory or its processes is restarted.`,
		Example: `  harness plugin limits greeter
  harness plugin limits greeter --memory 200MB --cpu 50 --processes 20 --open-files 256
  harness plugin limits greeter --memory 0 --cpu default`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limits operate.Limits
			limits.Memory, _ = cmd.Flags().GetString("memory")
			limits.CPU, _ = cmd.Flags().GetString("cpu")
			limits.Processes, _ = cmd.Flags().GetString("processes")
			limits.OpenFiles, _ = cmd.Flags().GetString("open-files")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.SetLimits(ctx, args[0], limits)
			})
		},
	}
	cmd.Flags().String("memory", "", "such as 200MB")
	cmd.Flags().String("cpu", "", "percent of one core")
	cmd.Flags().String("processes", "", "how many")
	cmd.Flags().String("open-files", "", "how many, of each process")
	return cmd
}
