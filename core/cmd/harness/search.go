package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func newSearch() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find what was said, by its words",
		Long: `Find messages of people and of the agent, notifications and summaries. A message is found
that has all the words, in any order, whatever their case and accents. Words in double
quotes stand beside each other (a shell takes double quotes away: put single ones around
them); a word that ends in * stands for all that begin so. What fits best comes first.`,
		Example: `  harness search invoice acme
  harness search '"due next week"' --newest
  harness search 'deploy*' --role user --since 2006-01-02`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			query, err := searchQuery(cmd, strings.Join(words, " "))
			if err != nil {
				return err
			}
			api, err := newClient(cmd)
			if err != nil {
				return err
			}
			found, err := api.Search(cmd.Context(), query)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return printJSON(cmd.OutOrStdout(), found.Hits)
			}
			printFound(cmd.OutOrStdout(), terminal.StyleFor(cmd.OutOrStdout(), os.LookupEnv), found)
			return nil
		},
	}
	addAddress(cmd)
	cmd.Flags().StringArray("thread", nil, "only in this thread, by its id; can be given more than once")
	cmd.Flags().String("role", "", "only what has this role: user, assistant or system")
	cmd.Flags().String("author", "", "only what this person said")
	cmd.Flags().String("since", "", "only from then on, as 2006-01-02 or \"2006-01-02 15:04\" here, or RFC 3339")
	cmd.Flags().String("until", "", "only before then")
	cmd.Flags().Bool("newest", false, "the newest first, instead of what fits best")
	cmd.Flags().Int("limit", 20, "at most so many, up to 100")
	cmd.Flags().Bool("json", false, "print all fields as JSON")
	return cmd
}

func searchQuery(cmd *cobra.Command, text string) (query pluginsdk.SearchQuery, err error) {
	query.Text = text
	query.ThreadIDs, _ = cmd.Flags().GetStringArray("thread")
	query.Author, _ = cmd.Flags().GetString("author")
	if role, _ := cmd.Flags().GetString("role"); role != "" {
		if !slices.Contains([]pluginsdk.Role{pluginsdk.RoleUser, pluginsdk.RoleAssistant, pluginsdk.RoleSystem}, pluginsdk.Role(role)) {
			return query, fmt.Errorf("--role: %q is not accepted; it is user, assistant or system", role)
		}
		query.Roles = []pluginsdk.Role{pluginsdk.Role(role)}
	}
	if newest, _ := cmd.Flags().GetBool("newest"); newest {
		query.Order = pluginsdk.SearchNewest
	}
	if query.Limit, _ = cmd.Flags().GetInt("limit"); query.Limit < 1 || query.Limit > 100 {
		return query, fmt.Errorf("--limit: %d is not accepted; it takes a number from 1 to 100", query.Limit)
	}
	if query.Since, err = flagTime(cmd, "since"); err != nil {
		return query, err
	}
	query.Until, err = flagTime(cmd, "until")
	return query, err
}

// flagTime reads a flag that is a time, in the zone of this machine unless it says another.
func flagTime(cmd *cobra.Command, name string) (time.Time, error) {
	text, _ := cmd.Flags().GetString(name)
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02 15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf(`--%s: %q is not accepted; it takes a time such as 2006-01-02, "2006-01-02 15:04" or 2006-01-02T15:04:05Z`, name, text)
}

// printFound prints what was found: when, who, where, and below the words around it.
func printFound(out io.Writer, style terminal.Style, found client.Found) {
	if len(found.Hits) == 0 {
		fmt.Fprintln(out, "Nothing was found.")
	}
	for _, hit := range found.Hits {
		who := string(hit.Role)
		if hit.Author != "" {
			who = terminal.Short(hit.Author, 40)
		}
		thread := hit.ThreadID
		if hit.ThreadName != "" {
			thread = terminal.Short(hit.ThreadName, 40) + " " + hit.ThreadID
		}
		fmt.Fprintln(out, style.Dim(fmt.Sprintf("%s  %s  %s", hit.CreatedAt.Local().Format("2006-01-02 15:04"), who, thread)))
		fmt.Fprintf(out, "  %s\n", shownSnippet(style, hit))
	}
	if found.Newest {
		fmt.Fprintln(out, style.Dim("Only the newest messages that fit were looked at; more words, or --since and --until, find others."))
	}
	if found.Next != "" {
		fmt.Fprintln(out, style.Dim("There is more: --limit, --newest, or more words."))
	}
}

// shownSnippet is a snippet on one line, with what was found in it bold.
func shownSnippet(style terminal.Style, hit pluginsdk.SearchHit) string {
	var b strings.Builder
	line := func(text string) string {
		return strings.NewReplacer("\n", " ", "\t", " ").Replace(terminal.Clean(text))
	}
	end := 0
	for _, mark := range hit.Marks {
		if mark.Start < end || mark.End > len(hit.Snippet) || mark.End < mark.Start {
			break // not what the daemon promises: the rest is shown plain
		}
		b.WriteString(line(hit.Snippet[end:mark.Start]))
		b.WriteString(style.Bold(line(hit.Snippet[mark.Start:mark.End])))
		end = mark.End
	}
	b.WriteString(line(hit.Snippet[end:]))
	return b.String()
}
