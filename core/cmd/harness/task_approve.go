package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newTaskApprove() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve ID [WORDS...]",
		Short: "Accept the result of a task that waits, as it is",
		Long: `Accept the result of a task that waits, as it is: it is handed over, which for a
repository means merged. Look at it first, with harness task show, and name the
iteration that you have seen: when the task is at another by now, nothing is accepted.`,
		Example: `  harness task approve 9f3c21
  harness task approve 9f3c21 --iteration 2 "the failing test is known"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideTask(cmd, args, pluginsdk.VerdictAccept)
		},
	}
	addAddress(cmd)
	addIteration(cmd)
	return cmd
}

// decideTask hands in a person's verdict on the task that the first word names.
func decideTask(cmd *cobra.Command, args []string, verdict pluginsdk.Verdict) error {
	api, task, err := aTask(cmd.Context(), cmd, args[0])
	if err != nil {
		return err
	}
	seen, err := seenIteration(cmd, task)
	if err != nil {
		return err
	}
	decided, err := api.DecideTask(cmd.Context(), task.Task.ID, client.TaskWord{
		Verdict: verdict, Iteration: seen, Feedback: strings.Join(args[1:], " "),
	})
	if err != nil {
		return err
	}
	words := "goes on with your words"
	if verdict == pluginsdk.VerdictAccept {
		words = fmt.Sprintf("is accepted as it was at iteration %d, and is handed over now", seen)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Task %s (%s) %s.\n", decided.ID, taskview.Title(task.Task), words)
	return err
}
