package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/taskview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

func newTaskShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show where a task stands, what was said of it, and what to do next",
		Long: `Show where a task stands and what to do next, its iterations, what plugins and people
have said of it with the evidence, its result, and what it has changed.`,
		Example: `  harness task show 9f3c21
  harness task show 0198c5c0-... --json | jq '.answers[].evidence'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, task, err := aTask(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(out, task)
			}
			return taskview.Show(out, terminal.StyleFor(out, os.LookupEnv), task, time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}
