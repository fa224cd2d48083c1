package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// lookEvery is how often it is looked whether a task that is followed is over, whatever was
// told.
const lookEvery = 10 * time.Second

func newTaskLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Show what was said in a task's thread, and follow it",
		Long: `Show what was said in a task's thread: what its worker was asked, and what it has
answered. With -f, go on with what happens, as chat shows it, until the task is over;
Ctrl-C leaves, and the task goes on.

With -f the exit code is 0 when the task is completed, or was left, and 1 when it has
failed or was cancelled.`,
		Example: `  harness task log 9f3c21
  harness task log -f 9f3c21`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return logTask(cmd, args[0]) },
	}
	addAddress(cmd)
	cmd.Flags().BoolP("follow", "f", false, "follow the task until it is over")
	return cmd
}

func logTask(cmd *cobra.Command, part string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	api, task, err := aTask(ctx, cmd, part)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	log := terminal.TaskLog{
		Client: api, Task: task.Task, Ticks: ticker.C,
		Screen: terminal.NewScreen(out, terminal.StyleFor(out, os.LookupEnv), terminal.Columns(out)),
	}
	log.Follow, _ = cmd.Flags().GetBool("follow")
	ended, err := log.Run(ctx)
	if err == nil && log.Follow && (ended.Status == pluginsdk.TaskFailed || ended.Status == pluginsdk.TaskCancelled) {
		return errSilent
	}
	return err
}
