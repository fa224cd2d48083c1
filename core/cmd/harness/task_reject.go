package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func newTaskReject() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reject ID WORDS...",
		Short:   "Have the worker of a task that waits go on, with what is wrong",
		Example: `  harness task reject 9f3c21 "the port is 8080, and there is no test"`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideTask(cmd, args, pluginsdk.VerdictReject)
		},
	}
	addAddress(cmd)
	addIteration(cmd)
	return cmd
}
