package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
)

func newRestore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup into a new installation",
		Long: `Put a backup into a new installation: one without threads and messages, with the
workspace untouched, and with its daemon down. It goes into the database that the
settings name, SQLite or Postgres, whichever the backup was made from. A backup of
an older version is brought up to date; one of a newer version is refused.

The whole file is verified before anything is changed, and all is restored or
nothing, whatever happens meanwhile.

To go back to a backup in the same place, move what is there away first: the data
directory, and with Postgres make another database (createdb).`,
		Example: `  harness restore harness-2026-11-21.backup
  DATABASE_URL=postgres://harness@localhost/harness2 harness restore --data ./new harness.backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return errors.New("-: a backup is verified as a whole before it is restored, so it cannot come from stdin; name a file")
			}
			config, err := loadOwn(cmd)
			if err != nil {
				return err
			}
			settings, _ := cmd.Flags().GetBool("with-settings")
			status := terminal.NewStatus(cmd.ErrOrStderr(), "verifying")
			report, err := daemon.Restore(cmd.Context(), config, args[0], settings, progress(status))
			status.Stop()
			if err != nil {
				return err
			}
			return printRestore(cmd.OutOrStdout(), report)
		},
	}
	cmd.Flags().Bool("with-settings", false, "restore DATA/harness.env too, when it was saved and there is none")
	return cmd
}

func printRestore(out io.Writer, report store.RestoreReport) error {
	if err := printTables(out, report.Manifest); err != nil {
		return err
	}
	fmt.Fprintf(out, "Restored %d rows and %s of %s into %s.\n", report.Rows(), files(report.Manifest),
		report.CreatedAt.Local().Format("2006-01-02 15:04:05"), report.Into)
	if report.Manifest.Schema != report.Schema {
		fmt.Fprintf(out, "Its schema was brought from version %d to version %d.\n", report.Manifest.Schema, report.Schema)
	}
	if len(report.Problems) == 0 {
		fmt.Fprintln(out, "The data was checked: no faults. Start the daemon with `harness up`.")
		return nil
	}
	style := terminal.StyleFor(out, os.LookupEnv)
	for _, problem := range report.Problems {
		fmt.Fprintf(out, "%s %s\n", style.Red("✗"), problem)
	}
	fmt.Fprintln(out, "These faults were in the data when the backup was made.")
	return nil
}
