package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newThreads() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List the threads, the latest first",
		Example: `  harness threads
  harness threads --json | jq -r '.[].id'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			threads, err := api.Threads(cmd.Context())
			if err != nil {
				return err
			}
			slices.SortStableFunc(threads, func(a, b pluginsdk.Thread) int { return b.LastActivity.Compare(a.LastActivity) })
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), threads)
			}
			return printThreads(cmd.OutOrStdout(), threads, time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

func printThreads(out io.Writer, threads []pluginsdk.Thread, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tKIND\tSOURCE\tLAST ACTIVITY\tAGO")
	for _, thread := range threads {
		name := terminal.Short(thread.Name, 40)
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", thread.ID, name, thread.Kind, thread.Source,
			thread.LastActivity.Local().Format("2006-01-02 15:04"), humanize.RelTime(thread.LastActivity, now, "", ""))
	}
	return table.Flush()
}

// printJSON prints a list, an empty one as [].
func printJSON[T any](out io.Writer, list []T) error {
	if list == nil {
		list = []T{}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(list)
}
