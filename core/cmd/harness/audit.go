package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxAudit is how many entries are shown at most.
const maxAudit = 1000

func newAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [NAME]",
		Short: "Show who did what to the installation",
		Long: `Show who did what to the installation: plugins installed, upgraded, removed, turned
on and off, what was granted and set, the newest last; with NAME only what was done
to that plugin. It works with the daemon up or down.`,
		Example: `  harness audit
  harness audit web -n 200
  harness audit --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lines, _ := cmd.Flags().GetInt("lines")
			if lines < 1 || lines > maxAudit {
				return fmt.Errorf("--lines: %d is not accepted; it is between 1 and %d", lines, maxAudit)
			}
			target := ""
			if len(args) > 0 {
				target = args[0]
			}
			entries, err := auditEntries(cmd, target, lines)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), entries)
			}
			return printAudit(cmd.OutOrStdout(), entries)
		},
	}
	cmd.Flags().IntP("lines", "n", 50, "how many entries")
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

// auditEntries returns the newest entries about a target, oldest first, of the daemon elsewhere
// that the command is for or of this machine.
func auditEntries(cmd *cobra.Command, target string, lines int) (entries []store.AuditEntry, err error) {
	remote, err := elsewhere(cmd)
	if err != nil {
		return nil, err
	}
	if remote == nil {
		err = withStore(cmd, func(ctx context.Context, _ daemon.Config, database *store.Store) (err error) {
			entries, err = database.AuditEntries(ctx, target, lines)
			return err
		})
		return entries, err
	}
	found, err := remote.Audit(cmd.Context(), pluginsdk.AuditQuery{Target: target, Limit: lines})
	for _, entry := range slices.Backward(found) {
		entries = append(entries, store.AuditEntry{
			ID: entry.ID, Who: entry.Who, Action: entry.Action, Target: entry.Target, Detail: entry.Detail, CreatedAt: entry.At,
		})
	}
	return entries, err
}

func printAudit(out io.Writer, entries []store.AuditEntry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(out, "There are no such entries.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WHEN\tWHO\tWHAT\tTO\tDETAIL")
	for _, entry := range entries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", entry.CreatedAt.Local().Format(time.DateTime), terminal.Short(entry.Who, 40),
			entry.Action, cmp.Or(terminal.Short(entry.Target, 60), "-"), cmp.Or(terminal.Short(entry.Detail, 120), "-"))
	}
	return table.Flush()
}
