package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
)

func newDB() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "db",
		Short: "Look at the database, bring its schema up to date, delete old rows, make the search index or the sums of usage anew",
		Example: `  harness db status
  harness db migrate
  harness db prune --older-than 90d --dry-run
  harness db reindex
  harness db rollup`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDBStatus(), newDBMigrate(), newDBPrune(), newDBReindex(), newDBRollup())
	return cmd
}

func newDBStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say which database this is, its schema, its size, and who works on it",
		Example: `  harness db status
  harness db status --json | jq .schema`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			status, err := databaseStatus(cmd)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSONValue(cmd.OutOrStdout(), status)
			}
			return printStatus(cmd.OutOrStdout(), status)
		},
	}
	cmd.Flags().Bool("json", false, "print it as JSON")
	return cmd
}

func databaseStatus(cmd *cobra.Command) (status store.Status, err error) {
	config, err := loadConfig(cmd)
	if err != nil {
		return status, err
	}
	database, err := daemon.OpenAsItIs(cmd.Context(), config)
	if err != nil {
		return status, err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	return database.Status(cmd.Context())
}

func printStatus(out io.Writer, status store.Status) error {
	schema := fmt.Sprintf("version %d, current", status.Schema)
	switch {
	case status.Schema > status.Knows:
		schema = fmt.Sprintf("version %d, newer than this program, which knows versions up to %d", status.Schema, status.Knows)
	case len(status.Pending) > 0:
		schema = fmt.Sprintf("version %d, this program needs %d; `harness db migrate` applies %s",
			status.Schema, status.Knows, strings.Join(status.Pending, ", "))
	}
	holder := "nobody; the daemon is down"
	if status.Holder != "" {
		holder = status.Holder
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "database\t%s\n", status.Database)
	fmt.Fprintf(table, "size\t%s\n", humanize.IBytes(uint64(max(status.Bytes, 0)))) //nolint:gosec // not negative
	fmt.Fprintf(table, "schema\t%s\n", schema)
	fmt.Fprintf(table, "in use by\t%s\n", holder)
	fmt.Fprintf(table, "faults\tnot looked for here; `harness doctor` reads all of it\n\n")
	fmt.Fprintf(table, "TABLE\tROWS\n")
	for _, one := range status.Tables {
		fmt.Fprintf(table, "%s\t%d\n", one.Name, one.Rows)
	}
	return table.Flush()
}

func newDBMigrate() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of the database up to date",
		Long: `Bring the schema of the database to the version that this program needs. The daemon
must be down; when it starts, it does this by itself. Make a backup first: there is no
way back.`,
		Example: `  harness backup before.backup && harness db migrate`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := loadOwn(cmd)
			if err != nil {
				return err
			}
			done, err := daemon.Migrate(cmd.Context(), config)
			out := cmd.OutOrStdout()
			for _, applied := range done.Applied {
				fmt.Fprintf(out, "applied %s\n", applied)
			}
			if err != nil {
				return err
			}
			if len(done.Applied) == 0 {
				fmt.Fprintf(out, "The schema is at version %d; there is nothing to do.\n", done.To)
				return nil
			}
			fmt.Fprintf(out, "The schema went from version %d to version %d.\n", done.From, done.To)
			return nil
		},
	}
}

func newDBPrune() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune --older-than DAYSd",
		Short: "Delete old rows that are not part of any conversation",
		Long: `Delete what is older than so many days and not part of any conversation: thinking, tool
calls, steps and statuses of turns that are over; metrics; deliveries that have reached
their target; files that no message refers to; and the stream events, steps and hook calls kept with turns. What people and the agent
said, notifications, summaries, failures that a person was told of, and the audit log
stay. It works with the daemon up or down, in small steps.

The daemon does the same every day when HARNESS_RETENTION_DAYS is above 0.`,
		Example: `  harness db prune --older-than 90d --dry-run
  harness db prune --older-than 90d
  harness db prune --older-than 90d --vacuum     with the daemon down`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, _ := cmd.Flags().GetString("older-than")
			days, err := parseDays(text)
			if err != nil {
				return err
			}
			return withStore(cmd, func(ctx context.Context, _ daemon.Config, database *store.Store) error {
				return prune(ctx, cmd, database, days)
			})
		},
	}
	cmd.Flags().String("older-than", "", "how old, in days, such as 90d (required)")
	cmd.Flags().Bool("dry-run", false, "only count")
	cmd.Flags().Bool("vacuum", false, "then give the disk back what they took; on SQLite the daemon must be down")
	return cmd
}

// pruneOwner names the command for who finds the database locked by it.
const pruneOwner = "harness db prune"

func prune(ctx context.Context, cmd *cobra.Command, database *store.Store, days int) error {
	dry, _ := cmd.Flags().GetBool("dry-run")
	vacuum, _ := cmd.Flags().GetBool("vacuum")
	if vacuum && !dry { // refused before anything is deleted
		if err := database.MayVacuum(ctx, pruneOwner); err != nil {
			return fmt.Errorf("--vacuum: %w; nothing was deleted", err)
		}
	}
	before := time.Now().AddDate(0, 0, -days)
	done, err := database.Prune(ctx, before, dry)
	verb := "deleted"
	if dry {
		verb = "would be deleted"
	}
	fmt.Fprintf(cmd.OutOrStdout(), `Older than %s, %s:
  %d activity rows (thinking, tool calls, steps, statuses)
  %d metrics
  %d deliveries that were made
  %d files that no message refers to
  stream events, steps and hook calls of %d runs
  %d changes of context files, but for the newest of each
`, before.Local().Format("2006-01-02 15:04"), verb, done.Activity, done.Metrics, done.Deliveries, done.Files, done.Runs, done.Context)
	if err != nil || dry {
		return err
	}
	if err := database.Audit(ctx, "operator", "database.prune", "database", fmt.Sprintf("older than %d days", days)); err != nil {
		return fmt.Errorf("what is named above was deleted, but the audit log does not say so: %w", err)
	}
	if !vacuum {
		return nil
	}
	if err := database.Vacuum(ctx, pruneOwner); err != nil {
		return fmt.Errorf("what is named above was deleted, but its disk space was not given back: %w", err)
	}
	fmt.Fprintln(cmd.OutOrStdout(), "The disk space was given back.")
	return nil
}

// parseDays reads 90d.
func parseDays(text string) (int, error) {
	number, ok := strings.CutSuffix(text, "d")
	days, err := strconv.Atoi(number)
	if !ok || err != nil || days < 1 || days > 36500 {
		return 0, fmt.Errorf("--older-than: %q is not accepted; it takes a number of days from 1 to 36500, such as 90d", text)
	}
	return days, nil
}
