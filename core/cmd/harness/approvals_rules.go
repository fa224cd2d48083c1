package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/askview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newApprovalsRules() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List what the agent is not asked about any more",
		Example: `  harness approvals rules
  harness approvals rules --thread 0198c5c0-... --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			thread, _ := cmd.Flags().GetString("thread")
			rules, err := api.Rules(cmd.Context(), thread)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(out, rules)
			}
			if len(rules) == 0 {
				_, err := fmt.Fprintln(out, "There are no rules: the agent asks about all that its configuration does not allow.")
				return err
			}
			return askview.Rules(out, rules, threadTitles(cmd.Context(), api), time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().String("thread", "", "only those of this thread; see 'harness threads'")
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

func newApprovalsRevoke() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke RULE",
		Short:   "End a rule: the agent's next question is asked",
		Example: `  harness approvals revoke 41c0de`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, rule, err := aRule(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			if err := api.Revoke(cmd.Context(), rule.ID, terminal.Author()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The agent asks again: %s\n", terminal.OneLine(rule.Text))
			return err
		},
	}
	addAddress(cmd)
	return cmd
}

// aRule returns a client, and the rule that an id or a part of one names.
func aRule(ctx context.Context, cmd *cobra.Command, part string) (*client.Client, pluginsdk.ApprovalRule, error) {
	api, err := newClient(cmd)
	if err != nil {
		return nil, pluginsdk.ApprovalRule{}, err
	}
	rules, err := api.Rules(ctx, "")
	if err != nil {
		return nil, pluginsdk.ApprovalRule{}, err
	}
	ids := make([]string, len(rules))
	for n, rule := range rules {
		ids[n] = rule.ID
	}
	id, err := client.OneOf(part, "rule", ids)
	if err != nil {
		return nil, pluginsdk.ApprovalRule{}, err
	}
	for _, rule := range rules {
		if rule.ID == id {
			return api, rule, nil
		}
	}
	return nil, pluginsdk.ApprovalRule{}, fmt.Errorf("there is no rule with the id %q", part)
}
