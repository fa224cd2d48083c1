package main

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newTaskRetry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry ID [WORDS...]",
		Short: "Have a task that waits go on, or another go on from one that is over",
		Long: `Have a task go on. One that waits goes on itself, without a verdict on its work. From
one that is over another is made, in the same thread, whose agent knows what was done.
WORDS say what is to be done now.`,
		Example: `  harness task retry 9f3c21
  harness task retry 9f3c21 "now do the same for the other package"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return retryTask(cmd, args) },
	}
	addAddress(cmd)
	addIteration(cmd)
	return cmd
}

func retryTask(cmd *cobra.Command, args []string) error {
	api, task, err := aTask(cmd.Context(), cmd, args[0])
	if err != nil {
		return err
	}
	retry := client.TaskRetry{Text: strings.Join(args[1:], " "), IdempotencyKey: uuid.NewString()}
	if task.Task.Status == pluginsdk.TaskWaiting {
		if retry.Iteration, err = seenIteration(cmd, task); err != nil {
			return err
		}
	}
	again, err := api.RetryTask(cmd.Context(), task.Task.ID, retry)
	if err != nil {
		return err
	}
	if again.ID == task.Task.ID {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Task %s (%s) goes on.\n", again.ID, taskview.Title(task.Task))
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "Task %s goes on from %s (%s).\n", again.ID, task.Task.ID, taskview.Title(task.Task))
	}
	return err
}
