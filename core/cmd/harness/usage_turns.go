package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/accountview"
)

func newUsage() *cobra.Command {
	cmd := apiCommand("usage", "Show what turns of the agent have used and cost",
		"  harness usage --by model\n  harness usage --by day --since 30d\n  harness usage --by cron --since 2026-01-01 --until 2026-02-01\n  harness usage --by account --csv > usage.csv",
		cobra.NoArgs, func(ctx context.Context, cmd *cobra.Command, api *client.Client, _ []string) error {
			query, err := usageQuery(cmd, time.Now())
			if err != nil {
				return &misused{err, ""}
			}
			usage, err := api.Usage(ctx, query)
			if err != nil {
				return err
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				all := map[string]any{"total": usage.Total, "sums": usage.Sums}
				if len(usage.Unpriced) > 0 {
					all["unpriced"] = usage.Unpriced
				}
				return printJSONValue(cmd.OutOrStdout(), all)
			}
			if asCSV, _ := cmd.Flags().GetBool("csv"); asCSV {
				return accountview.UsageCSV(cmd.OutOrStdout(), query.Get("by"), usage)
			}
			wide, _ := cmd.Flags().GetBool("wide")
			if err := accountview.Usage(cmd.OutOrStdout(), query.Get("by"), wide, usage); err != nil {
				return err
			}
			if query.Has("since") || query.Has("until") {
				return nil
			}
			return printPace(ctx, cmd.OutOrStdout(), api, query.Get("thread"), time.Now().UTC())
		})
	cmd.Long = `Show what turns of the agent have used and cost up to now, failed ones included. IN is all
of the prompts, what came from the cache too. A cost that may be wrong is marked with ≈. The dollars of turns on a plan are notional: what the
tokens would cost with an API key. Days and hours are those of UTC. What a plugin causes is
summed up under its name: turns that it asks for, and answers to messages that it submits of
its own accord. cron is the scheduled job whose prompt was answered.`
	cmd.Flags().String("by", "", "what it is summed up by: "+strings.Join(usageBy, ", "))
	cmd.Flags().String("since", "", "from when on: so long ago (12h, 30d), a day (2006-01-02, UTC) or an instant (RFC 3339); without it, from the beginning")
	cmd.Flags().String("until", "", "before when, written as --since; without it, up to now")
	cmd.Flags().String("thread", "", "only turns of this thread, by its id")
	cmd.Flags().Int("limit", 0, "how many sums at most, up to 1000: of what cost the most; of days and hours the newest")
	cmd.Flags().Bool("json", false, "print all of it as JSON")
	cmd.Flags().Bool("csv", false, "print the sums as CSV, for a spreadsheet")
	cmd.Flags().Bool("wide", false, "with the tokens read from and written to the cache, which are part of IN, and the time; a wide terminal has them anyway")
	cmd.AddCommand(here(newUsagePrices(), "usage prices shows what a daemon would read that is started on this machine"))
	return cmd
}

// printPace prints what this day and this month come to at the pace so far.
func printPace(ctx context.Context, out io.Writer, api *client.Client, thread string, now time.Time) error {
	day, month := now.Truncate(24*time.Hour), time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for _, of := range []struct {
		name         string
		since, until time.Time
	}{{"Today", day, day.AddDate(0, 0, 1)}, {"This month", month, month.AddDate(0, 1, 0)}} {
		query := url.Values{"since": {of.since.Format(time.RFC3339)}}
		if thread != "" {
			query.Set("thread", thread)
		}
		usage, err := api.Usage(ctx, query)
		if err != nil {
			return err
		}
		accountview.Pace(out, of.name, usage.Total, of.since, now, of.until)
	}
	return nil
}

// usageBy is what usage is summed up by.
var usageBy = []string{"hour", "day", "model", "thread", "purpose", "task", "plugin", "cron", "account"}

// usageQuery is what the flags ask the API for. The error says what is wrong with the command line.
func usageQuery(cmd *cobra.Command, now time.Time) (url.Values, error) {
	query, flags := url.Values{}, cmd.Flags()
	if flags.Changed("json") && flags.Changed("csv") {
		return nil, errors.New("--json and --csv: one of them, not both")
	}
	if by, _ := flags.GetString("by"); flags.Changed("by") && !slices.Contains(usageBy, by) {
		return nil, fmt.Errorf("--by: %q is not accepted; it takes %s%s", by, strings.Join(usageBy, ", "), meant(by, usageBy, ""))
	}
	for _, name := range []string{"by", "thread"} {
		if text, _ := cmd.Flags().GetString(name); text != "" {
			query.Set(name, text)
		}
	}
	for _, name := range []string{"since", "until"} {
		text, _ := cmd.Flags().GetString(name)
		if text == "" {
			continue
		}
		at, err := momentOf(text, now)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
		query.Set(name, at.UTC().Format(time.RFC3339))
	}
	since, until := query.Get("since"), query.Get("until") // of one form, in UTC
	if since != "" && until != "" && until <= since {
		return nil, fmt.Errorf("--until: %s is not after --since, %s", until, since)
	}
	limit, _ := cmd.Flags().GetInt("limit")
	if cmd.Flags().Changed("limit") && (limit < 1 || limit > 1000) {
		return nil, errors.New("--limit: it is a number from 1 to 1000")
	}
	if limit > 0 {
		query.Set("limit", fmt.Sprint(limit))
	}
	return query, nil
}

// momentOf is the instant that a text means: so long ago, the beginning of a day in UTC, or an instant.
func momentOf(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	span, err := spanOf(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not accepted; it takes a time such as 12h or 30d, a day such as 2006-01-02, or an instant such as 2006-01-02T15:04:05Z", text)
	}
	return now.Add(-span), nil
}
