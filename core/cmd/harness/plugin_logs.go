package main

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/operate"
)

// How often a log that is followed is looked at: on this machine, and by a daemon elsewhere.
const (
	logPoll    = 250 * time.Millisecond
	remotePoll = time.Second
)

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
			lines, _ := cmd.Flags().GetInt("lines")
			if lines < 0 {
				return fmt.Errorf("--lines: %d is not accepted; it takes a number from 0 on", lines)
			}
			follow, _ := cmd.Flags().GetBool("follow")
			remote, err := elsewhere(cmd)
			if err != nil {
				return err
			}
			if remote != nil {
				there := operate.NewElsewhere(remote)
				return ticking(cmd.Context(), remotePoll, func(ctx context.Context, ticks <-chan time.Time) error {
					return there.Logs(ctx, operatorOn(cmd, there), args[0], lines, follow, ticks)
				})
			}
			return withRegistry(cmd, func(ctx context.Context, with registryHere) error {
				return ticking(ctx, logPoll, func(ctx context.Context, ticks <-chan time.Time) error {
					return with.operator.Logs(ctx, args[0], with.config.PluginLog(args[0]), lines, follow, ticks)
				})
			})
		},
	}
	cmd.Flags().IntP("lines", "n", 100, "how many lines")
	cmd.Flags().BoolP("follow", "f", false, "show what comes, until Ctrl-C")
	return cmd
}

// ticking does something until Ctrl-C, with a tick each time that has passed.
func ticking(ctx context.Context, each time.Duration, do func(ctx context.Context, ticks <-chan time.Time) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	return do(ctx, ticker.C)
}
