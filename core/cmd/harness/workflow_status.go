package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/workflowview"
)

func newWorkflowStatus() *cobra.Command {
	cmd := apiCommand("status [ID]", "Show where workflows stand, or one with its stages and what to do next",
		"  harness workflow status\n  harness workflow status 9f3c21\n  harness workflow status 9f3c21 --json | jq -r '.stages[] | [.agent, .batch, .status] | @tsv'",
		cobra.MaximumNArgs(1), func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			if len(args) == 0 {
				return listWorkflows(ctx, cmd, api)
			}
			id, err := api.WorkflowID(ctx, args[0])
			if err != nil {
				return err
			}
			workflow, err := api.Workflow(ctx, id)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(out, workflow)
			}
			return workflowview.Show(out, terminal.StyleFor(out, os.LookupEnv), workflow, time.Now())
		})
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}

func listWorkflows(ctx context.Context, cmd *cobra.Command, api *client.Client) error {
	all, served, err := api.Workflows(ctx)
	if err != nil {
		return err
	}
	if !served {
		return noWorkflows(cmd)
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "There are no workflows; harness workflow start DIR TEXT begins one.")
		return err
	}
	return workflowview.List(out, all, time.Now())
}
