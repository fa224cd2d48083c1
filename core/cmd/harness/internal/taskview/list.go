// Package taskview prints tasks for a person at a terminal: where they stand, what was said
// of them, and what to do next.
package taskview

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The longest that words of agents and strangers are shown on a line, in characters.
const (
	titleLimit  = 60
	reasonLimit = 60
	lineLimit   = 100
)

// List prints tasks as a table.
func List(out io.Writer, tasks []pluginsdk.Task, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATUS\tITERATION\tCOST\tAGE\tTASK\tREASON")
	for _, task := range tasks {
		fmt.Fprintf(table, "%s\t%s\t%d/%d\t%s\t%s\t%s\t%s\n", task.ID, status(task), task.CurrentIteration, task.MaxIterations,
			costOf(task.CostUSD, task.NotionalUSD, task.CostUnsure), age(task.CreatedAt, now), Title(task), cmp.Or(terminal.Short(task.Error, reasonLimit), "-"))
	}
	return table.Flush()
}

// costOf is a cost in USD: with ≈ when it may be wrong, and with what of it nobody is billed, that
// of turns on a plan.
func costOf(sum, notional float64, unsure bool) string {
	words := fmt.Sprintf("%.2f", sum)
	if unsure {
		words = "≈ " + words
	}
	switch {
	case notional <= 0:
		return words
	case notional >= sum:
		return words + " notional"
	}
	return words + fmt.Sprintf(" (%.2f notional)", notional)
}

// age is how long ago something was.
func age(at, now time.Time) string { return strings.TrimSpace(humanize.RelTime(at, now, "", "")) }

// Title is how people know a task: the first line of what was asked for.
func Title(task pluginsdk.Task) string {
	text := strings.TrimSpace(cmp.Or(task.OriginalMessage, task.Prompt))
	line, _, _ := strings.Cut(text, "\n")
	return cmp.Or(terminal.Short(line, titleLimit), "-")
}

// status is where a task is, with its marks.
func status(task pluginsdk.Task) string {
	words := string(task.Status)
	if len(task.Marks) > 0 {
		words += " (" + terminal.Short(strings.Join(task.Marks, ", "), titleLimit) + ")"
	}
	return words
}
