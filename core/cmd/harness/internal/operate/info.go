package operate

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/core/registry"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Report is all that there is to know of a plugin.
type Report struct {
	ledger.Plugin
	// Missing is what it wants and was not granted.
	Missing    []pluginsdk.Capability `json:"missing"`
	MissingEnv []string               `json:"missingEnv"`
	// Damage says what differs from its pin; empty: nothing.
	Damage string `json:"damage,omitempty"`
	// Conflicts are its commands and sources that somebody else has.
	Conflicts []string `json:"conflicts"`
	// Unoffered says which of its tools the agent is not offered; empty: none.
	Unoffered string `json:"unoffered,omitempty"`
}

// Report returns what is known of a plugin now.
func (o *Operator) Report(ctx context.Context, name string) (Report, error) {
	row, err := o.Plugins.Plugin(ctx, name)
	if err != nil {
		return Report{}, err
	}
	o.judge(ctx, &row)
	observed(&row, o.Plugins.Running())
	left := o.Plugins.Missing(row)
	report := Report{
		Plugin: row, Missing: append([]pluginsdk.Capability{}, left.Capabilities...), MissingEnv: append([]string{}, left.Env...),
		Conflicts: []string{},
	}
	if row.Attach == "" {
		report.Damage = o.Plugins.Damage(ctx, row)
	}
	rows, err := o.Plugins.All(ctx)
	for _, conflict := range o.Plugins.Taken(row, rows) {
		report.Conflicts = append(report.Conflicts, fmt.Sprintf("%s is %s's", conflict.What, cmp.Or(conflict.Owner, "the core")))
	}
	report.Unoffered = o.Plugins.Unoffered(rows)[name]
	return report, err
}

// comparing is how long somebody waits to be told what is wrong with a plugin's
// files.
const comparing = 5 * time.Second

// Info prints a report for people.
func (o *Operator) Info(r Report) error {
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "plugin\t%s %s\n", plain(r.Name, shortText), cmp.Or(plain(r.Version, shortText), "-"))
	fmt.Fprintf(table, "\t%s\n", cmp.Or(plain(r.Manifest.Description, longText), "-"))
	fmt.Fprintf(table, "state\t%s\n", stateText(r.Plugin))
	fmt.Fprintf(table, "position\t%d\n", r.Position)
	fmt.Fprintf(table, "origin\t%s\n", originText(r.Plugin))
	fmt.Fprintf(table, "path\t%s\n", cmp.Or(r.Path, "-"))
	fmt.Fprintf(table, "sha256\t%s\n", cmp.Or(r.SHA256, "-"))
	if r.Serving != "" && r.Serving != r.SHA256 {
		fmt.Fprintf(table, "serves\t%s\n", servingText(r.Plugin))
	}
	if r.Attach != "" {
		fmt.Fprintf(table, "attached\tto a process that runs under a debugger\n")
	}
	fmt.Fprintf(table, "granted\t%s\n", registry.RightsOf(r.Plugin))
	if left := (registry.Rights{Capabilities: r.Missing, Env: r.MissingEnv}); !left.None() {
		fmt.Fprintf(table, "lacks\t%s; %s\n", left, hint(r.Name, left))
	}
	fmt.Fprintf(table, "limits\t%s\n", registry.ProcessLimitsText(r.Limits))
	fmt.Fprintf(table, "quotas\t%s\n", registry.QuotasText(r.Limits))
	showManifest(table, r.Manifest)
	for n, version := range r.Previous {
		fmt.Fprintf(table, "%s\t%s (%s%s), %s\n", only(n == 0, "earlier"), plain(version.Version, shortText), short(version.SHA256),
			added(version.InstalledAt), signedText(version.Publisher))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	o.trouble(r)
	if err := o.checks(r.Plugin); err != nil {
		return err
	}
	return o.figures(r)
}

func added(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return ", added " + at.Local().Format("2006-01-02 15:04")
}

// servingText names the version that serves although it is not the one that is
// to.
func servingText(row ledger.Plugin) string {
	text := "still " + short(row.Serving)
	for _, version := range row.Previous {
		if version.SHA256 == row.Serving {
			text = fmt.Sprintf("still %s (%s)", plain(version.Version, shortText), short(row.Serving))
		}
	}
	if row.Rejected == row.SHA256 {
		text += "; the one that was to take over could not"
	}
	return text
}

func signedText(publisher string) string {
	if publisher == "" {
		return "not signed"
	}
	return "signed by " + publisher
}

func originText(row ledger.Plugin) string {
	switch row.Origin {
	case pluginsdk.OriginStore:
		return "installed, " + signedText(row.Publisher)
	case pluginsdk.OriginDev:
		return "worked on by its author"
	case pluginsdk.OriginDirectory:
		return "the daemon's own directory"
	}
	return cmp.Or(plain(string(row.Origin), shortText), "-")
}

func stateText(row ledger.Plugin) string {
	enabled := "disabled"
	if row.Enabled {
		enabled = "enabled"
	}
	if string(row.State) == enabled {
		return enabled
	}
	return fmt.Sprintf("%s, %s", row.State, enabled)
}

// trouble prints what is wrong with the plugin, and what to do.
func (o *Operator) trouble(r Report) {
	if r.Damage != "" {
		o.say("\n! It may not start: %s", plain(r.Damage, 2000))
	}
	for _, conflict := range r.Conflicts {
		o.say("\n! %s; the one that is earlier in the order has it", plain(conflict, longText))
	}
	if r.Unoffered != "" {
		o.say("\n! %s", plain(r.Unoffered, longText))
	}
	switch {
	case r.Refused.Mark != "" && r.Problem != "":
		o.say("\n! %s", plain(r.Problem, 2000))
	case r.Problem != "":
		o.say("\n! Its row is wrong, the last good values hold: %s", plain(r.Problem, 2000))
	}
	if r.LastError != "" {
		o.say("\nlast error%s: %s", since(r.LastErrorAt), plain(r.LastError, 2000))
	}
	if r.Quarantine == "" {
		return
	}
	o.say("\n! It is in quarantine and is not started. `harness plugin enable %s`, or another version, ends that. The reason:", r.Name)
	for line := range strings.Lines(r.Quarantine) {
		o.say("  %s", strings.TrimRight(visible(line), " "))
	}
}

// since says when something was, in brackets; nothing where that is not known.
func since(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", at.Local().Format("2006-01-02 15:04:05"), humanize.Time(at))
}

// figures prints what the plugin has done and used.
func (o *Operator) figures(r Report) error {
	f := r.Figures
	if f.Since.IsZero() {
		o.say("\nIt has not been called yet.")
		return nil
	}
	o.say("\nSince %s, as of %s: %s of memory and %.1f s of CPU in %s, %d restarts",
		f.Since.Local().Format("2006-01-02 15:04:05"), f.At.Local().Format("15:04:05"),
		humanize.IBytes(uint64(max(f.RSSBytes, 0))), f.CPUSeconds, processes(f.Processes), f.Restarts) //nolint:gosec // not negative
	if f.Slow > 0 {
		o.say("! Runs had to wait for it for more than a second: %d times", f.Slow)
	}
	if f.RowsDropped > 0 {
		o.say("! Rows that its hooks wanted stored and that were not: %d; `harness plugin logs %s` says why", f.RowsDropped, r.Name)
	}
	if f.HeldBack > 0 {
		o.say("! Calls of the core that were refused because it is over its quotas: %d; `harness plugin limits %s` shows and sets them", f.HeldBack, r.Name)
	}
	table := tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOOK\tCALLS\tERRORS\tTIMEOUTS\tP50\tP99")
	hooks := slices.SortedFunc(maps.Keys(f.Hooks), func(a, b pluginsdk.Hook) int {
		return cmp.Compare(hookPlace(a), hookPlace(b))
	})
	for _, hook := range hooks {
		figureRow(table, string(hook), f.Hooks[hook])
	}
	fmt.Fprintf(table, "all\t%d\t%d\t%d\t\t\n", f.Calls, f.Errors, f.Timeouts)
	if err := table.Flush(); err != nil || len(f.Host) == 0 {
		return err
	}
	o.say("")
	table = tabwriter.NewWriter(o.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ASKED OF THE CORE\tCALLS\tERRORS\tTIMEOUTS\tP50\tP99")
	for _, method := range slices.Sorted(maps.Keys(f.Host)) {
		figureRow(table, method, f.Host[method])
	}
	return table.Flush()
}

func figureRow(out io.Writer, name string, f pluginsdk.CallFigures) {
	fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%s\t%s\n", plain(name, shortText), f.Calls, f.Errors, f.Timeouts, figure(f.P50), figure(f.P99))
}

// hookPlace sorts hooks as the contract lists them; others come last.
func hookPlace(hook pluginsdk.Hook) int {
	if place := slices.Index(pluginsdk.AllHooks(), hook); place >= 0 {
		return place
	}
	return len(pluginsdk.AllHooks())
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// figure is a duration with the digits that matter.
func figure(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
