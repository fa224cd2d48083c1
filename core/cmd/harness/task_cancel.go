package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newTaskCancel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID [WHY...]",
		Short: "End a task, whatever it is doing, with the tasks below it",
		Example: `  harness task cancel 9f3c21
  harness task cancel 9f3c21 "somebody else has done it"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, task, err := aTask(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if task.Task.Status.Final() {
				_, err = fmt.Fprintf(out, "Task %s (%s) is over: it is %s.\n", task.Task.ID, taskview.Title(task.Task), task.Task.Status)
				return err
			}
			ended, err := api.CancelTask(cmd.Context(), task.Task.ID, strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			words := "is cancelled; its agent ends within seconds"
			if ended.Status != pluginsdk.TaskCancelled { // it was over in between
				words = "is " + string(ended.Status)
			}
			_, err = fmt.Fprintf(out, "Task %s (%s) %s.\n", ended.ID, taskview.Title(task.Task), words)
			return err
		},
	}
	addAddress(cmd)
	return cmd
}
