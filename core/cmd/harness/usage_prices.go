package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/core/daemon"
	"github.com/seed-706843ae/harness/core/invoker/prices"
)

func newUsagePrices() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prices",
		Short: "Show the prices that caps and budgets go by",
		Long: `Show what API calls cost as far as Harness knows, in US dollars for a million tokens:
the prices that a turn's cap and its budgets go by before the agent's program has reported
the cost. The shipped prices and those of the file prices.json in the data directory are
shown, with the day (UTC) from which on each holds and its source. docs/operating.md has the
form of the file. It works with the daemon up or down.`,
		Example: "  harness usage prices\n  harness usage prices --data /var/lib/harness",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showPrices(cmd, time.Now()) },
	}
	return cmd
}

func showPrices(cmd *cobra.Command, now time.Time) error {
	config, err := loadConfig(cmd)
	if err != nil {
		return err
	}
	table, path, err := daemon.Prices(config)
	if err != nil {
		return fmt.Errorf("the operator's prices cannot be used: %w", err)
	}
	return printPrices(cmd.OutOrStdout(), table, path, now)
}

func printPrices(out io.Writer, table *prices.Table, path string, now time.Time) error {
	rows := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "MODEL\tFROM\tIN\tOUT\tCACHE READ\tWRITE 5M\tWRITE 1H\tSOURCE")
	for _, entry := range table.Entries {
		for n, price := range entry.Prices {
			from := price.From.Format(time.DateOnly)
			switch {
			case price.From.After(now):
				from += " (not yet)"
			case n+1 < len(entry.Prices) && !entry.Prices[n+1].From.After(now):
				from += " (over)"
			}
			priceLine(rows, entry.Model, from, price.Price, price.Source)
			if price.Long != nil {
				priceLine(rows, "", "", *price.Long, fmt.Sprintf("of prompts above %d tokens", price.LongAbove))
			}
		}
	}
	if err := rows.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nUS dollars for a million tokens. The longest name counts that a model's name contains. Checked on %s.\n", table.Checked.Format(time.DateOnly))
	if _, err := os.Stat(path); err != nil {
		fmt.Fprintf(out, "Only the shipped prices: there is no %s.\n", path)
	} else {
		fmt.Fprintf(out, "With the prices in %s.\n", path)
	}
	return nil
}

func priceLine(out io.Writer, model, from string, p prices.Price, source string) {
	usd := func(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Short(model, 40), from,
		usd(p.Input), usd(p.Output), usd(p.CacheRead), usd(p.CacheWrite), usd(p.CacheWrite1h), terminal.Short(source, 32))
}
