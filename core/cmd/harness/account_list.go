package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
)

func newAccountList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the accounts: whether each can be used, and how much of its limits is used",
		Example: `  harness account list
  harness account list --json | jq '.[] | select(.usable | not)'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAccounts(cmd, func(ctx context.Context, of book) error {
				all, err := of.list(ctx)
				if err != nil {
					return err
				}
				if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
					return printJSON(cmd.OutOrStdout(), all)
				}
				return accountview.Accounts(cmd.OutOrStdout(), all, time.Now())
			})
		},
	}
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}
