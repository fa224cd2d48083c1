package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shortVersion is how many characters of a version people are shown, and leastVersion how
// many name one.
const (
	shortVersion = 12
	leastVersion = 6
)

func newContext() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Read and edit what the agent is told in each turn",
		Long: `Read and edit the agent's context files: CLAUDE.md and those under context/ in its
workspace. The agent writes them too; what each of you has changed is in the history.`,
		Example: `  harness context list
  harness context edit context/memory.md
  harness context history context/memory.md`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newContextList(), newContextShow(), newContextEdit(), newContextHistory(), newContextRestore(), newContextDiff(), newContextTake())
	return cmd
}

func newContextList() *cobra.Command {
	return apiCommand("list", "List the context files", "  harness context list", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, _ []string) error {
			files, err := api.ContextFiles(ctx)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "PATH\tBYTES\tCHANGED\tVERSION")
			for _, file := range files {
				fmt.Fprintf(table, "%s\t%d\t%s\t%.*s\n", file.Path, file.Size, file.ModifiedAt.Local().Format("2006-01-02 15:04"), shortVersion, file.Version)
			}
			return table.Flush()
		})
}

func newContextShow() *cobra.Command {
	cmd := apiCommand("show PATH", "Print a context file, or an earlier text of it", "  harness context show CLAUDE.md", cobra.ExactArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			version, _ := cmd.Flags().GetString("version")
			if version != "" {
				var err error
				if version, err = wholeVersion(ctx, api, args[0], version); err != nil {
					return err
				}
			}
			file, err := api.ContextFile(ctx, args[0], version)
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), file.Text)
			}
			return err
		})
	cmd.Flags().String("version", "", "an earlier one, as the history has it, or 6 or more of its first characters")
	return cmd
}

// wholeVersion is the version in a file's history that a part of one names.
func wholeVersion(ctx context.Context, api *client.Client, file, part string) (found string, err error) {
	if len(part) < leastVersion {
		return "", fmt.Errorf("version: %q is too short; give %d or more of its first characters", part, leastVersion)
	}
	const pageSize = 500
	for before := int64(0); ; {
		changes, err := api.ContextHistory(ctx, file, before, pageSize)
		if err != nil {
			return "", err
		}
		for _, change := range changes {
			if strings.HasPrefix(change.Version, part) && found != "" && change.Version != found {
				return "", fmt.Errorf("version: %q is the beginning of more than one; give more of it", part)
			}
			if strings.HasPrefix(change.Version, part) {
				found = change.Version
			}
		}
		if len(changes) == 0 {
			break
		}
		before = changes[len(changes)-1].ID
	}
	if found == "" {
		return "", fmt.Errorf("version: the history of %s has none that begins with %q; harness context history %s lists them", file, part, file)
	}
	return found, nil
}

func newContextHistory() *cobra.Command {
	cmd := apiCommand("history [PATH]", "List who changed the context files, newest first", "  harness context history context/memory.md", cobra.MaximumNArgs(1),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			limit, _ := cmd.Flags().GetInt("limit")
			if limit < 1 || limit > 1000 {
				return fmt.Errorf("--limit: %d is not accepted; it is a number from 1 to 1000", limit)
			}
			changes, err := api.ContextHistory(ctx, strings.Join(args, ""), 0, limit)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "WHEN\tPATH\tBY\tBYTES\tVERSION")
			for _, change := range changes {
				version := fmt.Sprintf("%.*s", shortVersion, change.Version)
				fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", change.At.Local().Format("2006-01-02 15:04:05"), change.Path,
					terminal.Clean(changedBy(change)), change.Size, cmp.Or(version, "deleted"))
			}
			return table.Flush()
		})
	cmd.Flags().Int("limit", 50, "how many, at most")
	return cmd
}

// changedBy says who made a change, for people.
func changedBy(change pluginsdk.WorkspaceChange) string {
	switch change.Kind {
	case pluginsdk.ChangeByAgent:
		return "the agent, run " + cmp.Or(change.RunID, "unknown: several were at work")
	case pluginsdk.ChangeByPerson:
		if change.Origin.Token != "" {
			return change.Label().String()
		}
		return change.Author
	case pluginsdk.ChangeByPlugin:
		return "the plugin " + change.Plugin
	case pluginsdk.ChangeRefused:
		return "refused: " + cmp.Or(change.Author, "the plugin "+change.Plugin)
	case pluginsdk.ChangeOutside:
	}
	return "somebody past harness"
}

func newContextEdit() *cobra.Command {
	cmd := apiCommand("edit PATH", "Edit a context file in your editor (EDITOR), or make one", `  harness context edit context/memory.md
  harness context edit context/memory.md --file new.md`, cobra.ExactArgs(1), editContext)
	cmd.Long = `Edit a context file in your editor, or make one. When somebody else, the agent for instance,
has changed it meanwhile, nothing is written over: your text is kept in a file, and in the history.`
	cmd.Flags().String("file", "", "take the text from this file (- is the input) instead of an editor")
	return cmd
}

func editContext(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
	file, err := api.ContextFile(ctx, args[0], "")
	var problem *client.Problem
	if errors.As(err, &problem) && problem.Status == http.StatusNotFound {
		err = nil // it is made
	}
	if err != nil {
		return err
	}
	from, _ := cmd.Flags().GetString("file")
	var text, kept string
	switch from {
	case "":
		if text, kept, err = edited(ctx, cmd, path.Base(args[0]), file.Text); err != nil {
			return err
		}
		defer func() {
			if kept != "" {
				os.Remove(kept) // it is in the system's directory for what is temporary
			}
		}()
		if text == file.Text {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "Nothing was changed.")
			return err
		}
	case "-":
		read, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return fmt.Errorf("read the text: %w", err)
		}
		text = string(read)
	default:
		read, err := os.ReadFile(from) //nolint:gosec // the operator names it
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		text = string(read)
	}
	written, err := api.WriteContext(ctx, args[0], text, file.Version)
	if err != nil && kept != "" {
		err = fmt.Errorf("%w; your text is in %s: when you have brought it up to date, harness context edit %s --file %s", err, kept, args[0], kept)
		kept = ""
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s has %d bytes now (version %.*s).\n", written.Path, written.Size, shortVersion, written.Version)
	return err
}

// edited has a person edit a text. The file with what they made of it is theirs to keep, or
// the caller's to remove.
func edited(ctx context.Context, cmd *cobra.Command, name, text string) (after, kept string, err error) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	if editor == "" {
		return "", "", errors.New("neither VISUAL nor EDITOR is set; set one to your editor, or use --file")
	}
	file, err := os.CreateTemp("", "harness-*-"+name)
	if err != nil {
		return "", "", fmt.Errorf("make a file to edit: %w", err)
	}
	kept = file.Name()
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return "", kept, fmt.Errorf("make a file to edit: %w", err)
	}
	run := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", kept) //nolint:gosec // the person's own editor
	run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := run.Run(); err != nil {
		return "", kept, fmt.Errorf("the editor failed (%w); what it left is in %s", err, kept)
	}
	read, err := os.ReadFile(kept) //nolint:gosec // it was made here
	if err != nil {
		return "", kept, fmt.Errorf("read what you have edited: %w", err)
	}
	return string(read), kept, nil
}

func newContextRestore() *cobra.Command {
	return apiCommand("restore PATH VERSION", "Have a context file say what it has said before", "  harness context restore context/memory.md 9f3c21", cobra.ExactArgs(2),
		func(ctx context.Context, cmd *cobra.Command, api *client.Client, args []string) error {
			version, err := wholeVersion(ctx, api, args[0], args[1])
			if err != nil {
				return err
			}
			then, err := api.ContextFile(ctx, args[0], version)
			if err != nil {
				return err
			}
			now, err := api.ContextFile(ctx, args[0], "")
			var problem *client.Problem
			if err != nil && (!errors.As(err, &problem) || problem.Status != http.StatusNotFound) {
				return err
			}
			written, err := api.WriteContext(ctx, args[0], then.Text, now.Version)
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is of the version %.*s again.\n", written.Path, shortVersion, written.Version)
			}
			return err
		})
}
