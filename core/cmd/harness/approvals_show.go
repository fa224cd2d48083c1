package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/askview"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

func newApprovalsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of what is asked, and how to answer it",
		Long: `Show all of what is asked, as it is: characters that could hide a part of it are
written as escapes, such as \x1b.`,
		Example: `  harness approvals show 9f3c21
  harness approvals show 0198c5c0-... --json | jq .input`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, approval, err := anApproval(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(out, approval)
			}
			return askview.Show(out, terminal.StyleFor(out, os.LookupEnv), approval, time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	return cmd
}
