package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
	"github.com/seed-706843ae/harness/core/daemon"
)

// logPoll is how often a log that is followed is looked at.
const logPoll = 250 * time.Millisecond

func newPluginLogs() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Show what a plugin logs and writes to its stderr",
		Long: `Show the last lines of what a plugin logs and writes to stdout and stderr, with the
daemon up or down. With -f those that come are shown too, until Ctrl-C.`,
		Example: `  harness plugin logs time
  harness plugin logs time -f
  harness plugin logs time -n 1000 | grep -i error`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			lines, _ := cmd.Flags().GetInt("lines")
			if lines < 0 {
				return fmt.Errorf("--lines: %d is not accepted; it takes a number from 0 on", lines)
			}
			follow, _ := cmd.Flags().GetBool("follow")
			return withOperator(cmd, func(ctx context.Context, o *operate.Operator) error {
				return showLogs(ctx, o, config, args[0], lines, follow)
			})
		},
	}
	cmd.Flags().IntP("lines", "n", 100, "how many lines")
	cmd.Flags().BoolP("follow", "f", false, "show what comes, until Ctrl-C")
	return cmd
}

func showLogs(ctx context.Context, o *operate.Operator, config daemon.Config, name string, lines int, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(logPoll)
	defer ticker.Stop()
	return o.Logs(ctx, name, config.PluginLog(name), lines, follow, ticker.C)
}
