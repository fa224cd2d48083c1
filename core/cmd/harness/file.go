package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newFile() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "file",
		Short: "List, fetch, take in and delete the files of conversations",
		Long: `List, fetch, take in and delete the files that people send and the agent makes.
Bytes are kept once, however many files have them, in DATA/files. To send a file to
the agent: harness send --file PATH.`,
		Example: `  harness file list
  harness file get 0198c5c0-... -o plot.png`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFileList(), newFileGet(), newFilePut(), newFileDelete())
	return cmd
}

func newFileList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the files, newest first",
		Example: `  harness file list
  harness file list --thread 0198c5c0-... --limit 1000 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			limit, _ := cmd.Flags().GetInt("limit")
			if limit < 1 {
				return fmt.Errorf("--limit: %d is not accepted; it takes a number from 1", limit)
			}
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			query := pluginsdk.FileQuery{}
			query.ThreadID, _ = cmd.Flags().GetString("thread")
			rows, err := api.Files(cmd.Context(), query, limit)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			return printFiles(cmd.OutOrStdout(), rows, time.Now())
		},
	}
	addAddress(cmd)
	cmd.Flags().String("thread", "", "only files for this thread")
	cmd.Flags().Int("limit", 100, "at most so many")
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

func printFiles(out io.Writer, rows []pluginsdk.File, now time.Time) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "There are no such files.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tTYPE\tSIZE\tFROM\tAGE")
	for _, row := range rows {
		from := row.Author
		if from == "" {
			from = row.Plugin
		}
		if from == "" {
			from = "the agent"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", row.ID, terminal.Short(row.Name, 40), row.Type,
			humanize.IBytes(uint64(max(row.Size, 0))), terminal.Short(from, 30), humanize.RelTime(row.CreatedAt, now, "", "")) //nolint:gosec // not negative
	}
	return table.Flush()
}

func newFileGet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Fetch a file",
		Long: `Fetch a file, under its own name in the current directory, or where -o says (- is
stdout). A file that is there is not overwritten without --force, and one whose name begins
with a dot needs -o.`,
		Example: `  harness file get 0198c5c0-...
  harness file get 0198c5c0-... -o - | less`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			to, _ := cmd.Flags().GetString("output")
			if to == "-" {
				return api.Download(cmd.Context(), args[0], cmd.OutOrStdout())
			}
			file, err := api.File(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if to == "" {
				to = filepath.Base(terminal.Clean(file.Name)) // the daemon may be somebody else's
				if strings.HasPrefix(to, ".") {               // such as .bashrc: whoever sent it chose the name
					return fmt.Errorf("the file is called %q, which a shell or a program might read by itself here; name another one with -o", to)
				}
			}
			force, _ := cmd.Flags().GetBool("force")
			if err := download(cmd.Context(), api, file.ID, to, force); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "Wrote %s (%s, %s).\n", to, file.Type, humanize.IBytes(uint64(max(file.Size, 0)))) //nolint:gosec // not negative
			return err
		},
	}
	addAddress(cmd)
	cmd.Flags().StringP("output", "o", "", "the file to write; - is stdout (default its name)")
	cmd.Flags().Bool("force", false, "overwrite it")
	return cmd
}

// download writes a file wholly, or not at all.
func download(ctx context.Context, api *client.Client, id, to string, force bool) (err error) {
	if _, err := os.Lstat(to); !force && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already; name another file with -o, or overwrite it with --force", to)
	}
	part, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
	}()
	if err := api.Download(ctx, id, part); err != nil {
		return err
	}
	if err := part.Sync(); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), to); err != nil {
		return err
	}
	return part.Close()
}

func newFilePut() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "put PATH...",
		Short:   "Take files in, and print their ids",
		Long:    `Take files in, and print the id of each on stdout. Messages can refer to them then.`,
		Example: `  harness file put plan.pdf photo.png`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			thread, _ := cmd.Flags().GetString("thread")
			for _, path := range args {
				file, err := upload(cmd.Context(), api, path, thread)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), file.ID); err != nil {
					return err
				}
			}
			return nil
		},
	}
	addAddress(cmd)
	cmd.Flags().String("thread", "", "the thread that they are for")
	return cmd
}

// upload takes in a file of this machine.
func upload(ctx context.Context, api *client.Client, path, thread string) (pluginsdk.File, error) {
	content, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return pluginsdk.File{}, err
	}
	defer content.Close() // it was only read
	info, err := content.Stat()
	if err != nil {
		return pluginsdk.File{}, err
	}
	if !info.Mode().IsRegular() {
		return pluginsdk.File{}, fmt.Errorf("%s is not a plain file", path)
	}
	file, err := api.Upload(ctx, client.NewFile{Name: filepath.Base(path), ThreadID: thread, Size: info.Size(), Content: content})
	if err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

func newFileDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete files, also those that messages refer to",
		Long: `Delete files. A message that refers to one keeps its name. The bytes go when no
other file has them.`,
		Example: `  harness file delete 0198c5c0-...`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			for _, id := range args { // one that is not there is none that somebody meant
				file, err := api.File(cmd.Context(), id)
				if err != nil {
					return err
				}
				if err := api.DeleteFile(cmd.Context(), file.ID); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Deleted %s (%s).\n", terminal.Clean(file.Name), file.ID); err != nil {
					return err
				}
			}
			return nil
		},
	}
	addAddress(cmd)
	return cmd
}
