package operate

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Rows returns the registry as it holds now, without settings, which can hold
// secrets.
func (o *Operator) Rows(ctx context.Context) ([]ledger.Plugin, error) {
	rows, err := o.Plugins.All(ctx)
	running := o.Plugins.Running()
	for n := range rows {
		o.judge(ctx, &rows[n])
		observed(&rows[n], running)
	}
	return rows, err
}

// judge notes on a row what is wrong with its settings.
func (o *Operator) judge(ctx context.Context, row *ledger.Plugin) {
	if row.Problem == "" {
		row.Problem = o.Plugins.Problem(ctx, *row)
	}
}

// observed makes a row say what holds now: with the daemon down nothing serves.
func observed(row *ledger.Plugin, running bool) {
	if !row.RefusesSettings() {
		row.Refused = ledger.RefusedSettings{} // of settings that are not set any more
	}
	row.Settings = nil
	if !running {
		row.Serving = ""
	}
	switch {
	case row.Enabled && row.Quarantine != "":
		row.State = pluginsdk.PluginQuarantined
	case running:
	case row.Enabled:
		row.State = pluginsdk.PluginStopped
	default:
		row.State = pluginsdk.PluginDisabled
	}
}

// Overview prints a line a plugin.
func (o *Operator) Overview(rows []ledger.Plugin) error {
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tENABLED\tPOSITION\tVERSION\tRESTARTS\tFAILURES\tNEEDS\tLAST ERROR")
	for _, row := range rows {
		state := string(row.State)
		if len(failing(row)) > 0 {
			state += " (!)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%d\t%s\t%s\n", plain(row.Name, shortText), state, yes(row.Enabled), row.Position,
			cmp.Or(plain(row.Version, 16), "-"), row.Restarts, row.Failures, o.needs(row), lastError(row))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	lacking := o.Plugins.Unoffered(rows)
	for _, row := range rows {
		if lack := lacking[row.Name]; lack != "" {
			o.say("! %s", plain(lack, longText))
		}
		switch {
		case row.Refused.Mark != "" && row.Problem != "":
			o.say("! %s: %s", plain(row.Name, shortText), plain(row.Problem, 400))
		case row.Problem != "":
			o.say("! the row of %s is wrong, its last good values hold: %s", plain(row.Name, shortText), plain(row.Problem, 200))
		}
		for _, check := range failing(row) {
			o.say("! %s: %s is failing: %s%s", plain(row.Name, shortText), plain(check.Name, shortText), cmp.Or(plain(check.Detail, longText), "-"), old(row))
		}
		if row.State == pluginsdk.PluginQuarantined {
			o.say("! %s is in quarantine: `harness plugin info %s` says why", row.Name, row.Name)
		}
	}
	return nil
}

// lastError is what went wrong last, and how long ago, where that is known.
func lastError(row ledger.Plugin) string {
	words := cmp.Or(plain(row.LastError, 50), "-")
	if row.LastErrorAt.IsZero() {
		return words
	}
	return humanize.Time(row.LastErrorAt) + ": " + words
}

// needs names what was not granted, as far as there is room.
func (o *Operator) needs(row ledger.Plugin) string {
	left := o.Plugins.Missing(row)
	if left.None() {
		return "-"
	}
	return plain(left.String(), 24)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
