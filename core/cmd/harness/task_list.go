package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The statuses of tasks: those that are open first.
var (
	openTasks    = []pluginsdk.TaskStatus{pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating, pluginsdk.TaskWaiting}
	endedTasks   = []pluginsdk.TaskStatus{pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled}
	taskStatuses = slices.Concat(openTasks, endedTasks)
)

func newTaskList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tasks that are not over, oldest first",
		Example: `  harness task list
  harness task list --status waiting
  harness task list --all --json | jq -r '.[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listTasks(cmd) },
	}
	addAddress(cmd)
	cmd.Flags().StringSlice("status", nil, "only these: pending, running, evaluating, waiting, completed, failed, cancelled (default the first four)")
	cmd.Flags().Bool("all", false, "also those that are over")
	cmd.Flags().String("thread", "", "only those that were made for this thread; see 'harness threads'")
	cmd.Flags().Bool("json", false, "print all fields but the longest as JSON")
	return cmd
}

func listTasks(cmd *cobra.Command) error {
	query := pluginsdk.TaskQuery{Statuses: openTasks}
	query.ParentThreadID, _ = cmd.Flags().GetString("thread")
	if all, _ := cmd.Flags().GetBool("all"); all {
		query.Statuses = nil
	}
	if asked, _ := cmd.Flags().GetStringSlice("status"); len(asked) > 0 {
		query.Statuses = nil
		for _, text := range asked {
			status := pluginsdk.TaskStatus(strings.TrimSpace(text))
			if !slices.Contains(taskStatuses, status) {
				return fmt.Errorf("--status: %q is not accepted; it is pending, running, evaluating, waiting, completed, failed or cancelled", text)
			}
			query.Statuses = append(query.Statuses, status)
		}
	}
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	tasks, err := api.Tasks(cmd.Context(), query)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(out, tasks)
	}
	if len(tasks) == 0 {
		_, err := fmt.Fprintln(out, "There are no such tasks; --all lists those that are over, too.")
		return err
	}
	return taskview.List(out, tasks, time.Now())
}
