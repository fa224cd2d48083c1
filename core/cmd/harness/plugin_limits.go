package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

func newPluginLimits() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limits NAME",
		Short: "Show or set what a plugin's processes may use, and what it may ask of the core",
		Long: `Show or set what a plugin's processes may use: memory and processes, all of its together;
CPU in percent of one core; open files of each. What is over its memory or its processes
is restarted.

And what a plugin may ask of the core: its calls, and the rows and bytes that it stores, in
a minute; and how much it may have stored in all. What passes one of these is refused until
there is room again. Messages that it submits are in none of them.

0 is no limit, default the daemon's.`,
		Example: `  harness plugin limits greeter
  harness plugin limits greeter --memory 200MB --cpu 50 --processes 20 --open-files 256
  harness plugin limits greeter --memory 0 --cpu default
  harness plugin limits greeter --calls-per-minute 6000 --bytes-per-minute 64MiB --stored 2GiB`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var limits operate.Limits
			limits.Memory, _ = cmd.Flags().GetString("memory")
			limits.CPU, _ = cmd.Flags().GetString("cpu")
			limits.Processes, _ = cmd.Flags().GetString("processes")
			limits.OpenFiles, _ = cmd.Flags().GetString("open-files")
			limits.CallsPerMinute, _ = cmd.Flags().GetString("calls-per-minute")
			limits.RowsPerMinute, _ = cmd.Flags().GetString("rows-per-minute")
			limits.BytesPerMinute, _ = cmd.Flags().GetString("bytes-per-minute")
			limits.Stored, _ = cmd.Flags().GetString("stored")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return o.SetLimits(ctx, args[0], limits)
			})
		},
	}
	cmd.Flags().String("memory", "", "such as 200MB")
	cmd.Flags().String("cpu", "", "percent of one core")
	cmd.Flags().String("processes", "", "how many")
	cmd.Flags().String("open-files", "", "how many, of each process")
	cmd.Flags().String("calls-per-minute", "", "calls of the core, how many")
	cmd.Flags().String("rows-per-minute", "", "rows stored, how many")
	cmd.Flags().String("bytes-per-minute", "", "bytes stored, such as 64MiB")
	cmd.Flags().String("stored", "", "bytes stored in all, such as 2GiB")
	return cmd
}
