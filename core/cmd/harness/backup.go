package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/store"
)

func newBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save the database, the files and the workspace in one file",
		Long: `Save all rows of the database, as they are at one instant, the files of
conversations and the agent's workspace in FILE, with the daemon up or down. The file restores into SQLite and
into Postgres, whichever it was made from. A database that an older version
made is saved as it is.

It is readable for its owner only: all conversations are in it, and what plugins
keep in their settings. Until it is complete it is .FILE.*.tmp beside FILE, which a
command that is killed leaves there. NOT in it are the credentials of the Claude CLI and what
the CLI itself remembers of its sessions, DATA/harness.env (unless --with-settings,
it can hold secrets), the plugins' binaries and what they keep in files of their own,
and links that lead out of the workspace.

Of a daemon elsewhere FILE is on this machine: the daemon makes the backup, it is fetched,
compared with what was made, and deleted there.`,
		Example: `  harness backup harness-$(date +%F).backup
  harness backup --data /var/lib/harness --force /backups/harness.backup`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return errors.New("-: a backup is a file that appears under its name when it is complete, so it cannot go to stdout; name a file (./- for one of that name)")
			}
			remote, err := elsewhere(cmd)
			if err != nil {
				return err
			}
			if remote != nil {
				return backupElsewhere(cmd, remote, args[0])
			}
			config, err := loadOwn(cmd)
			if err != nil {
				return err
			}
			force, _ := cmd.Flags().GetBool("force")
			settings, _ := cmd.Flags().GetBool("with-settings")
			asJSON, _ := cmd.Flags().GetBool("json")
			errs := cmd.ErrOrStderr()
			if asJSON {
				errs = io.Discard
			}
			status := terminal.NewStatus(errs, "saving")
			report, err := daemon.Backup(cmd.Context(), config, daemon.BackupRequest{File: args[0], Force: force, Settings: settings, Progress: progress(status)})
			status.Stop()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSONValue(cmd.OutOrStdout(), backupReport{File: args[0], Rows: report.Rows(), BackupReport: report})
			}
			return printBackup(cmd.OutOrStdout(), args[0], report)
		},
	}
	cmd.Flags().Bool("force", false, "overwrite FILE")
	cmd.Flags().Bool("json", false, "print what was saved as JSON, for programs")
	cmd.Flags().Bool("with-settings", false, "save DATA/harness.env too; it can hold secrets")
	return cmd
}

// progress shows how far a backup or a restore has come.
func progress(status *terminal.Status) store.Progress {
	return func(what string, done int64) { status.Say(what, humanize.IBytes(uint64(max(done, 0)))) } //nolint:gosec // not negative
}

// backupReport is what backup --json prints.
type backupReport struct {
	File string `json:"file"`
	Rows int64  `json:"rows"`
	store.BackupReport
}

func printBackup(out io.Writer, file string, report store.BackupReport) error {
	if err := printTables(out, report.Manifest); err != nil {
		return err
	}
	for _, skipped := range report.Skipped {
		fmt.Fprintf(out, "! not saved: %s\n", skipped)
	}
	for _, damaged := range report.Damaged {
		fmt.Fprintf(out, "! damaged, and saved as it is: %s\n", damaged)
	}
	_, err := fmt.Fprintf(out, "Saved %d rows and %s in %s (%s).\n",
		report.Rows(), files(report.Manifest), file, humanize.IBytes(uint64(max(report.Bytes, 0)))) //nolint:gosec // not negative
	return err
}

// printTables lists what has rows.
func printTables(out io.Writer, manifest store.Manifest) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, saved := range manifest.Tables {
		if saved.Rows > 0 {
			fmt.Fprintf(table, "%d\t %s\n", saved.Rows, saved.Name)
		}
	}
	return table.Flush()
}

func files(manifest store.Manifest) string {
	n := 0
	for _, file := range manifest.Files {
		if file.SHA256 != "" {
			n++
		}
	}
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}
