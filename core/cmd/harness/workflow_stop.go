package main

import "github.com/spf13/cobra"

func newWorkflowStop() *cobra.Command {
	return workflowEnd("stop", "Stop a workflow; it can be continued", `Stop a workflow. Its agents end within seconds, and what they have done stays:
harness workflow continue goes on from there.`)
}

func newWorkflowAbandon() *cobra.Command {
	cmd := workflowEnd("abandon", "End a workflow for good", `End a workflow for good. What was accepted stays on its branch, and is not merged.`)
	cmd.Flags().BoolP("yes", "y", false, "do not ask first")
	return cmd
}

// workflowEnd is a command that has a workflow go on no more. One that has a flag --yes asks first.
func workflowEnd(name, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " ID", Short: short, Long: long, Example: "  harness workflow " + name + " 9f3c21", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, id, err := aWorkflow(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Lookup("yes") != nil {
				if yes, err := asker(cmd)("Abandon the workflow " + id + "? It ends for good."); err != nil || !yes {
					return err
				}
			}
			return giveWorkflow(cmd, name, id)
		},
	}
	addAddress(cmd)
	addThread(cmd)
	addTimeout(cmd)
	return cmd
}
