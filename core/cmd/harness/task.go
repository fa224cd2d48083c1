package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
)

func newTask() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Look at tasks, and decide on those that wait for a person",
		Long: `Look at the work that agents have handed on, and decide on what waits for a person.
A task is worked on in a thread of its own; what it comes to is looked at before it
is handed over. An ID may be shortened to 6 or more of its first or last characters.`,
		Example: `  harness task list
  harness task show 9f3c21
  harness task approve 9f3c21`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTaskList(), newTaskShow(), newTaskLog(), newTaskApprove(), newTaskReject(), newTaskRetry(), newTaskCancel())
	return cmd
}

// aTask returns a client, and the task that an id or a part of one names.
func aTask(ctx context.Context, cmd *cobra.Command, part string) (*client.Client, client.TaskHistory, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, client.TaskHistory{}, err
	}
	id, err := api.TaskID(ctx, part)
	if err != nil {
		return nil, client.TaskHistory{}, err
	}
	task, err := api.Task(ctx, id)
	return api, task, err
}

// addIteration adds the flag of commands that decide on work.
func addIteration(cmd *cobra.Command) {
	cmd.Flags().Int("iteration", 0, "refuse unless the task is still at this iteration, which you have seen (default whichever it is at)")
}

// seenIteration is the iteration that a word is on: that of the flag, else the one that was
// just read, so that no later one is meant.
func seenIteration(cmd *cobra.Command, task client.TaskHistory) (int, error) {
	seen, err := cmd.Flags().GetInt("iteration")
	switch {
	case err != nil:
		return 0, err
	case seen < 0:
		return 0, fmt.Errorf("--iteration: %d is not accepted; it is a number from 1", seen)
	case seen == 0:
		return task.Task.CurrentIteration, nil
	}
	return seen, nil
}
