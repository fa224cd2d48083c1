package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
)

// print shows the table, then violations on lines of their own, which it returns: of each
// column at most mostShown.
func print(o options, name string, report check.Report, took time.Duration) (violations []string) {
	table := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n%s\t\n", name)
	for _, kind := range check.Kinds() {
		missed := ""
		if n := report.Missed[kind]; n > 0 {
			missed = fmt.Sprintf("  (%d more hit a daemon instead)", n)
		}
		fmt.Fprintf(table, "  kills: %s\t%d%s\n", kind, report.Strikes[kind], missed)
	}
	fmt.Fprintf(table, "  accepted\t%d\n  answered\t%d\n  merged\t%d\n  cancelled\t%d\n  carried\t%d\n  turns\t%d\n  tasks\t%d\n  works\t%d\n  approvals answered\t%d\n  deeds\t%d (%d by rule)\n",
		report.Accepted, report.Answered, report.Merged, report.Cancelled, report.Carried, report.Turns, report.Tasks, report.Works, report.Decided, report.Deeds, report.Ruled)
	fmt.Fprintf(table, "  fires\t%d (%d missed or skipped)\n  cost\t$%.4f\n", report.Fires, report.NotMade, report.CostUSD)
	fmt.Fprintf(table, "  discord: said\t%d\n  discord: read\t%d (%d long, %d live)\n", report.Said, report.Read, report.Long, report.Live)
	for _, kind := range check.TroubleKinds() {
		fmt.Fprintf(table, "  discord: %s\t%d\n", kind, report.Troubles[kind])
	}
	for _, column := range report.Columns {
		if column.LeftOut != "" {
			fmt.Fprintf(table, "  %s\t-  (%s)\n", column.Name, column.LeftOut)
			continue
		}
		fmt.Fprintf(table, "  %s\t%d\n", column.Name, len(column.Violations))
	}
	fmt.Fprintf(table, "  took\t%s\n", took.Round(time.Second))
	_ = table.Flush()
	fmt.Fprintln(o.out)
	for _, column := range report.Columns {
		for i, violation := range column.Violations {
			if i == mostShown {
				violations = append(violations, line(o, name, column, fmt.Sprintf("and %d more, in violations.log", len(column.Violations)-i)))
				break
			}
			violations = append(violations, line(o, name, column, violation))
		}
	}
	for _, violation := range violations {
		fmt.Fprintln(o.out, violation)
	}
	return violations
}

// mostShown is how many violations of a column are printed.
const mostShown = 15

func line(o options, name string, column check.Column, violation string) string {
	return fmt.Sprintf("%s, seed %d: %s: %s", name, o.seed, column.Name, violation)
}

// writeViolations keeps all of them in a file.
func writeViolations(o options, name string, report check.Report, path string) error {
	var lines []string
	for _, column := range report.Columns {
		for _, violation := range column.Violations {
			lines = append(lines, line(o, name, column, violation))
		}
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}
