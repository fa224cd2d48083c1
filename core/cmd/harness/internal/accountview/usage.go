package accountview

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// usageBar is how long the longest bar of a table is, in characters.
const usageBar = 24

// wideColumns is how wide a terminal is on which a table has all columns.
const wideColumns = 140

// Usage prints what turns have used and cost, on a terminal with bars of the cost, or of the turns
// when nothing has cost anything. A cost that may be wrong has ≈ before it, and what nobody is billed
// is called notional. A wide table has the tokens of the cache and the time too; so has that on a wide
// terminal.
func Usage(out io.Writer, by string, wide bool, usage pluginsdk.UsageResponse) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	columns := terminal.Columns(out)
	wide = wide || columns != nil && columns() >= wideColumns
	named := by == string(pluginsdk.UsageByThread) || by == string(pluginsdk.UsageByTask)
	most := largest(usage.Sums)
	line := func(of, name, bar string, sum pluginsdk.UsageSum) {
		if named {
			of += "\t" + cmp.Or(terminal.Short(name, 40), "-")
		}
		of += "\t" + usageLine(wide, sum)
		if columns != nil {
			of += "\t" + bar
		}
		fmt.Fprintln(table, of)
	}
	fmt.Fprintln(table, usageHead(by, named, wide, columns != nil))
	for _, sum := range usage.Sums {
		line(cmp.Or(terminal.Short(sum.Of, 60), "-"), sum.Name, usageBarOf(weight(sum, most.CostUSD > 0), weight(most, most.CostUSD > 0), usageBar), sum)
	}
	line("all", "", "", usage.Total)
	if err := table.Flush(); err != nil {
		return err
	}
	if why := usage.WhyUnsure(); why != "" {
		fmt.Fprintf(out, "\n≈ %s\n", terminal.Clean(why))
	}
	if usage.Total.NotionalUSD > 0 {
		fmt.Fprintln(out, "\nNotional: what turns on a plan would have cost with an API key. Nobody is billed for them.")
	}
	return nil
}

func usageHead(by string, named, wide, bars bool) string {
	head := cmp.Or(strings.ToUpper(by), "OF")
	if named {
		head += "\tNAME"
	}
	if head += "\tTURNS\tFAILED\tIN\tOUT"; wide {
		head += "\tCACHE READ\tCACHE WRITE\tTIME"
	}
	if head += "\tCOST"; bars {
		head += "\t"
	}
	return head
}

// Pace prints what a time has cost so far, and what it comes to if the rest of it costs as much.
func Pace(out io.Writer, name string, sum pluginsdk.UsageSum, since, now, until time.Time) {
	fmt.Fprintf(out, "\n%s (UTC) so far: %s", name, costOf(sum))
	if whole, ok := sum.AtThisPace(since, now, until); ok {
		fmt.Fprintf(out, "; $%.2f at this pace", whole)
	}
	fmt.Fprintln(out, ".")
}

// largest has the most of cost and of turns that one of the sums has.
func largest(sums []pluginsdk.UsageSum) (most pluginsdk.UsageSum) {
	for _, sum := range sums {
		most.CostUSD, most.Turns = max(most.CostUSD, sum.CostUSD), max(most.Turns, sum.Turns)
	}
	return most
}

func weight(sum pluginsdk.UsageSum, cost bool) float64 {
	if cost {
		return sum.CostUSD
	}
	return float64(sum.Turns)
}

// usageBarOf is a bar for a part of the most, which is width characters long.
func usageBarOf(part, most float64, width int) string {
	if part <= 0 || most <= 0 {
		return ""
	}
	eighths := max(1, int(part/most*float64(width)*8+0.5))
	return strings.Repeat("█", eighths/8) + []string{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"}[eighths%8]
}

func costOf(sum pluginsdk.UsageSum) string {
	cost := fmt.Sprintf("$%.2f", sum.CostUSD)
	if sum.Unsure > 0 {
		cost = "≈ " + cost
	}
	switch {
	case sum.NotionalUSD >= sum.CostUSD && sum.NotionalUSD > 0:
		cost += " notional"
	case sum.NotionalUSD > 0:
		cost += fmt.Sprintf(", $%.2f of it notional", sum.NotionalUSD)
	}
	return cost
}

func usageLine(wide bool, sum pluginsdk.UsageSum) string {
	in := sum.Usage.InputTokens + sum.Usage.CacheReadTokens + sum.Usage.CacheWriteTokens
	line := fmt.Sprintf("%d\t%d\t%d\t%d", sum.Turns, sum.Failed, in, sum.Usage.OutputTokens)
	if wide {
		line += fmt.Sprintf("\t%d\t%d\t%s", sum.Usage.CacheReadTokens, sum.Usage.CacheWriteTokens, sum.Duration.Round(time.Second))
	}
	return line + "\t" + costOf(sum)
}

// UsageCSV writes the sums, or the total when there are none, with a line of names first. Dollars are
// written whole, and what of them is notional beside them.
func UsageCSV(out io.Writer, by string, usage pluginsdk.UsageResponse) error {
	table := csv.NewWriter(out)
	sums := usage.Sums
	if by == "" {
		sums = []pluginsdk.UsageSum{usage.Total}
	}
	lines := [][]string{{
		cmp.Or(by, "of"), "turns", "failed", "unsure", "duration_seconds", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_usd", "notional_usd", "name",
	}}
	number, usd := func(n int64) string { return strconv.FormatInt(n, 10) }, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	for _, sum := range sums {
		lines = append(lines, []string{
			plainCell(sum.Of), number(sum.Turns), number(sum.Failed), number(sum.Unsure), usd(sum.Duration.Round(time.Millisecond).Seconds()), number(sum.Usage.InputTokens),
			number(sum.Usage.CacheReadTokens), number(sum.Usage.CacheWriteTokens), number(sum.Usage.OutputTokens), usd(sum.CostUSD), usd(sum.NotionalUSD), plainCell(sum.Name),
		})
	}
	return table.WriteAll(lines)
}

// plainCell is a name that a spreadsheet does not take for a formula.
func plainCell(name string) string {
	if name != "" && strings.ContainsRune("=+-@\t\r", rune(name[0])) {
		return "'" + name
	}
	return name
}
