package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// workflowCommand is the command of the plugin that drives workflows.
const workflowCommand = "workflow"

func newWorkflow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflow",
		Short: "Have something built in stages, follow that, and decide where it needs you",
		Long: `Have something built in stages: planned, built in batches, and each batch reviewed by
another agent before the next one begins. What is started, continued, stopped and
abandoned here is the command /workflow of a thread. An ID may be shortened to 6 or
more of its first or last characters.`,
		Example: `  harness workflow start todo "build a todo list for the terminal, in Go"
  harness workflow log -f 9f3c21
  harness workflow continue 9f3c21 --more-rounds 2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkflowStart(), newWorkflowStatus(), newWorkflowLog(), newWorkflowContinue(), newWorkflowStop(), newWorkflowAbandon())
	return cmd
}

// giveWorkflow gives the command of the plugin that drives workflows, as a person types it in a thread, and prints the answer.
func giveWorkflow(cmd *cobra.Command, words ...string) error {
	known, err := askCommands(cmd)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(known, func(c pluginsdk.Command) bool { return c.Name == workflowCommand && c.Plugin != "" }) {
		return noWorkflows(cmd)
	}
	return send(cmd, "/"+workflowCommand+" "+strings.Join(words, " "))
}

// noWorkflows is the error of a daemon where nobody drives workflows.
func noWorkflows(cmd *cobra.Command) error {
	if off := disabledWith(cmd, workflowCommand); off != "" {
		return errors.New("nobody drives workflows: the plugin " + off + " is disabled; harness plugin enable " + off)
	}
	return errors.New("nobody drives workflows: no plugin has the command /" + workflowCommand + "; harness plugin list shows which plugins there are")
}

// aWorkflow returns a client, and the id of the workflow that an id or a part of one names.
func aWorkflow(ctx context.Context, cmd *cobra.Command, part string) (*client.Client, string, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, "", err
	}
	id, err := api.WorkflowID(ctx, part)
	return api, id, err
}

// namedFirst is how words begin that a command would take for a named option.
var namedFirst = regexp.MustCompile(`^(?:[A-Za-z][\w-]*=|--)`)

// apart keeps a person's words apart from the named options before them.
func apart(words string) string {
	if namedFirst.MatchString(words) {
		return "-- " + words
	}
	return words
}
