package main

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
)

func newUsage() *cobra.Command {
	cmd := apiCommand("usage", "Show what turns of the agent have used and cost", "  harness usage --by model\n  harness usage --by day --since 30d\n  harness usage --by account --json",
		cobra.NoArgs, func(ctx context.Context, cmd *cobra.Command, api *client.Client, _ []string) error {
			query := url.Values{}
			if by, _ := cmd.Flags().GetString("by"); by != "" {
				query.Set("by", by)
			}
			if text, _ := cmd.Flags().GetString("since"); text != "" {
				span, err := spanOf(text)
				if err != nil {
					return fmt.Errorf("--since: %w", err)
				}
				query.Set("since", time.Now().Add(-span).UTC().Format(time.RFC3339))
			}
			usage, err := api.Usage(ctx, query)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(cmd.OutOrStdout(), map[string]any{"total": usage.Total, "sums": usage.Sums})
			}
			return accountview.Usage(cmd.OutOrStdout(), usage)
		})
	cmd.Long = `Show what turns of the agent have used and cost up to now, failed ones included. A cost
that may be wrong is marked with ≈. The dollars of turns on a plan are notional: what the
tokens would cost with an API key.`
	cmd.Flags().String("by", "", "what it is summed up by: thread, purpose, model, task, plugin, account or day")
	cmd.Flags().String("since", "", "how far back: 12h, 30d; without it, all")
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}
