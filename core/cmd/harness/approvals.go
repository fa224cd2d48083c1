package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newApprovals() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "See what the agent asks people, and answer it",
		Long: `See what the agent asks: whether it may make a call of a tool that nothing allows
yet, which of several answers it should go by, whether its plan is good. Its run waits
for the first answer; what nobody answers in time is denied. harness chat and harness
send ask on the terminal. An ID may be shortened to 6 or more of its first or last
characters.`,
		Example: `  harness approvals list
  harness approvals show 9f3c21
  harness approvals allow 9f3c21
  harness approvals deny 9f3c21 "use make clean instead"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newApprovalsList(), newApprovalsShow(), newApprovalsAllow(), newApprovalsDeny(), newApprovalsAnswer(),
		newApprovalsRules(), newApprovalsRevoke())
	return cmd
}

// anApproval returns a client, and the approval that an id or a part of one names.
func anApproval(ctx context.Context, cmd *cobra.Command, part string) (*client.Client, pluginsdk.Approval, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, pluginsdk.Approval{}, err
	}
	id, err := api.ApprovalID(ctx, part)
	if err != nil {
		return nil, pluginsdk.Approval{}, err
	}
	approval, err := api.Approval(ctx, id)
	return api, approval, err
}

// threadTitles are the names of all threads by their id; what cannot be read is left out.
func threadTitles(ctx context.Context, api *client.Client) map[string]string {
	titles := make(map[string]string)
	threads, err := api.Threads(ctx)
	if err != nil {
		return titles
	}
	for _, thread := range threads {
		titles[thread.ID] = thread.Name
	}
	return titles
}
