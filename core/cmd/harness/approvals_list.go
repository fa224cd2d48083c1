package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/askview"
	"github.com/seed-706843ae/harness/pluginsdk"
)

var approvalStates = []pluginsdk.ApprovalState{
	pluginsdk.ApprovalOpen, pluginsdk.ApprovalAllowed, pluginsdk.ApprovalDenied, pluginsdk.ApprovalExpired, pluginsdk.ApprovalWithdrawn,
}

func newApprovalsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what waits for an answer, oldest first",
		Example: `  harness approvals list
  harness approvals list --all
  harness approvals list --json | jq -r '.[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listApprovals(cmd) },
	}
	addAddress(cmd)
	cmd.Flags().StringSlice("state", nil, "only these: open, allowed, denied, expired, withdrawn (default open)")
	cmd.Flags().Bool("all", false, "also what is over")
	cmd.Flags().String("thread", "", "only what is asked in this thread; see 'harness threads'")
	cmd.Flags().Bool("json", false, "print all fields but the tools' inputs as JSON")
	return cmd
}

func listApprovals(cmd *cobra.Command) error {
	query := pluginsdk.ApprovalQuery{States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}}
	query.ThreadID, _ = cmd.Flags().GetString("thread")
	if all, _ := cmd.Flags().GetBool("all"); all {
		query.States = nil
	}
	if asked, _ := cmd.Flags().GetStringSlice("state"); len(asked) > 0 {
		query.States = nil
		for _, text := range asked {
			state := pluginsdk.ApprovalState(strings.TrimSpace(text))
			if !slices.Contains(approvalStates, state) {
				return fmt.Errorf("--state: %q is not accepted; it is open, allowed, denied, expired or withdrawn", text)
			}
			query.States = append(query.States, state)
		}
	}
	api, err := newClient(cmd)
	if err != nil {
		return err
	}
	approvals, err := api.Approvals(cmd.Context(), query)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(out, approvals)
	}
	if len(approvals) == 0 {
		_, err := fmt.Fprintln(out, "The agent asks nothing; --all lists what is over, too.")
		return err
	}
	return askview.List(out, approvals, threadTitles(cmd.Context(), api), time.Now())
}
