package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/workflowview"
)

func newWorkflowLog() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log ID",
		Short: "Show what has happened in a workflow, and follow it",
		Long: `Show what has happened in a workflow, a line for each beginning and end of a stage and
each verdict, with its cost so far and what the rest will take. With -f, go on with what
happens until the workflow is over, has stopped, or needs a person; Ctrl-C leaves, and
the workflow goes on.

With -f the exit code is 0 when the workflow is completed, or was left, and 1 when it is
not completed and does not go on by itself.`,
		Example: `  harness workflow log 9f3c21
  harness workflow log -f 9f3c21`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return logWorkflow(cmd, args[0]) },
	}
	addAddress(cmd)
	cmd.Flags().BoolP("follow", "f", false, "follow the workflow until it goes on by itself no more")
	return cmd
}

func logWorkflow(cmd *cobra.Command, part string) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	api, id, err := aWorkflow(ctx, cmd, part)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	log := workflowview.Log{Client: api, ID: id, Out: out, Style: terminal.StyleFor(out, os.LookupEnv), Ticks: ticker.C}
	if follow, _ := cmd.Flags().GetBool("follow"); !follow {
		_, err := log.Print(ctx)
		return err
	}
	ended, err := log.Follow(ctx)
	if err == nil && !ended.State.Moves() && ended.State != client.WorkflowCompleted && ended.ID != "" {
		return errSilent
	}
	return err
}
