package operate

import (
	"cmp"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// checks prints what the plugin has said of its surroundings. All of it is a
// stranger's words.
func (o *Operator) checks(row ledger.Plugin) error {
	if len(row.Checks) == 0 {
		return nil
	}
	o.say("\nIts surroundings, as it said %s%s:", humanize.Time(row.CheckedAt), old(row))
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	for _, check := range row.Checks {
		mark := ""
		if check.State != pluginsdk.CheckOK {
			mark = "! "
		}
		fmt.Fprintf(table, "%s%s\t%s\t%s\n", mark, plain(check.Name, shortText), plain(string(check.State), shortText), cmp.Or(plain(check.Detail, longText), "-"))
		if check.State != pluginsdk.CheckOK && check.Remedy != "" {
			fmt.Fprintf(table, "\t\t→ %s\n", plain(check.Remedy, longText))
		}
	}
	return table.Flush()
}

// old marks checks that nobody should take for what holds.
func old(row ledger.Plugin) string {
	if time.Since(row.CheckedAt) > ledger.ChecksGood {
		return " (old: it has said nothing since)"
	}
	return ""
}

// failing are the checks of a plugin that serves that say that something does not
// work.
func failing(row ledger.Plugin) (checks []pluginsdk.Check) {
	if row.State != pluginsdk.PluginServing {
		return nil
	}
	for _, check := range row.Checks {
		if check.State == pluginsdk.CheckFailing {
			checks = append(checks, check)
		}
	}
	return checks
}
