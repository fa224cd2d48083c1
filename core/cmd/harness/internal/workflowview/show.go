// Package workflowview prints workflows for a person at a terminal: where they stand, what was said of their stages, what
// to do next, and what happens as it happens.
package workflowview

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

// The longest that words of agents are shown on a line, in characters.
const (
	titleLimit = 60
	lineLimit  = 200
)

// List prints workflows as a table.
func List(out io.Writer, all []client.Workflow, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tSTAGES\tCOST\tSTARTED\tWORKFLOW\tWAITS")
	for _, w := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", w.ID, State(w.State), progress(w.Stages), usd(w.Cost.USD, w.Cost.Unsure), age(w.StartedAt, now), Title(w), cmp.Or(terminal.Short(w.Waits, titleLimit), "-"))
	}
	return table.Flush()
}

// Title is what a workflow is called.
func Title(w client.Workflow) string {
	line, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(w.Title, w.Request)), "\n")
	return cmp.Or(terminal.Short(line, titleLimit), "-")
}

// State is the state of a workflow in words.
func State(state client.WorkflowState) string {
	switch state { //nolint:exhaustive // the others are words already
	case client.WorkflowWaiting:
		return "needs you"
	case client.WorkflowCancelled:
		return "abandoned"
	}
	return terminal.Short(string(state), titleLimit)
}

// progress is how many stages are done, of all.
func progress(all []client.WorkflowStage) string {
	done := 0
	for _, one := range all {
		if one.Status == "completed" {
			done++
		}
	}
	return fmt.Sprintf("%d/%d", done, len(all))
}

func usd(sum float64, unsure bool) string {
	if unsure {
		return fmt.Sprintf("≈ %.2f", sum)
	}
	return fmt.Sprintf("%.2f", sum)
}

func age(at, now time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return humanize.RelTime(at, now, "ago", "from now")
}

func took(seconds float64) string {
	return terminal.Took(time.Duration(seconds * float64(time.Second)))
}

// page is what is printed of one workflow.
type page struct {
	terminal.Style
	out io.Writer
	client.Workflow
	now time.Time
}

// Show prints one workflow: where it stands and what to do next, what it is and has cost, its stages, and what was said of
// those that are not approved.
func Show(out io.Writer, style terminal.Style, w client.Workflow, now time.Time) error {
	p := &page{Style: style, out: out, Workflow: w, now: now}
	p.standing()
	if err := p.facts(); err != nil {
		return err
	}
	if err := p.stages(); err != nil {
		return err
	}
	p.said()
	return nil
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// standing says where the workflow is, why, and what a person can do.
func (p *page) standing() {
	p.line("%s %s", p.Bold(Title(p.Workflow)), p.Dim("("+p.ID+")"))
	p.line("%s", paint(p.Style, p.State)(State(p.State)))
	for line := range strings.Lines(strings.TrimSpace(terminal.Clean(p.Waits))) {
		p.line("  %s", strings.TrimRight(line, "\n"))
	}
	next := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for n, one := range Remedies(p.Workflow) {
		if n == 0 {
			p.line("")
		}
		fmt.Fprintf(next, "  harness workflow %s\t%s\n", one.Words, one.Does)
	}
	_ = next.Flush()
	p.line("")
}

func paint(style terminal.Style, state client.WorkflowState) func(string) string {
	switch state { //nolint:exhaustive // the others are neither good nor bad
	case client.WorkflowCompleted:
		return style.Green
	case client.WorkflowFailed:
		return style.Red
	case client.WorkflowWaiting, client.WorkflowStopped:
		return style.Yellow
	}
	return style.Bold
}

// Remedy is a command that a person can give now.
type Remedy struct{ Words, Does string }

// Remedies are the commands that make sense of a workflow as it stands.
func Remedies(w client.Workflow) []Remedy {
	switch {
	case w.State.Moves():
		return []Remedy{{"log -f " + w.ID, "watch it"}, {"stop " + w.ID, "stop it; it can be continued"}}
	case w.State == client.WorkflowWaiting:
		return []Remedy{
			{"continue " + w.ID + " --more-rounds 1", "have it go on, with one more round for each batch; words for the agent may follow"},
			{"continue " + w.ID + " --accept", "accept what it waits with as it is"},
			{"abandon " + w.ID, "end it for good"},
		}
	case w.State == client.WorkflowStopped:
		return []Remedy{{"continue " + w.ID, "go on from here"}, {"abandon " + w.ID, "end it for good"}}
	}
	return nil
}

// facts are what the workflow is, and what is left of its limits.
func (p *page) facts() error {
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, terminal.OneLine(fmt.Sprintf(format, args...)))
	}
	row("directory", "%s", p.Dir)
	if p.Git {
		row("branch", "%s", p.Branch)
	} else {
		row("git", "not used")
	}
	row("started", "%s", age(p.StartedAt, p.now))
	if !p.EndedAt.IsZero() {
		row("ended", "%s", age(p.EndedAt, p.now))
	}
	cost := usd(p.Cost.USD, p.Cost.Unsure) + " USD"
	if p.Cost.CapUSD > 0 {
		cost = usd(p.Cost.USD, p.Cost.Unsure) + fmt.Sprintf(" of %.2f USD", p.Cost.CapUSD)
	}
	if p.Cost.NotionalUSD > 0 {
		cost += fmt.Sprintf(", %.2f of it notional: on a plan, nobody is billed that", p.Cost.NotionalUSD)
	}
	row("cost", "%s", cost)
	row("", "building %.2f, verifying %.2f%s", p.Cost.BuildingUSD, p.Cost.VerifyingUSD, share(p.Cost.VerifyingUSD, p.Cost.BuildingUSD))
	row("time", "building %s, verifying %s%s", took(p.Time.BuildingSeconds), took(p.Time.VerifyingSeconds), share(p.Time.VerifyingSeconds, p.Time.BuildingSeconds))
	row("limits", "%d rounds for each batch, %d of %d redesigns used, %d tries of a stage", p.Limits.Rounds, p.Redesigns, p.Limits.Redesigns, p.Limits.Tries)
	if p.Estimate != nil && p.Estimate.Text != "" && p.State.Moves() {
		row("left", "%s", terminal.Short(p.Estimate.Text, lineLimit))
	}
	if p.Why != "" {
		row("stages", "%s", terminal.Short(p.Why, lineLimit))
	}
	return table.Flush()
}

// share is how much verifying is of building.
func share(verifying, building float64) string {
	if building <= 0 {
		return ""
	}
	return fmt.Sprintf(" (%.0f %% of that)", 100*verifying/building)
}

func (p *page) stages() error {
	if len(p.Stages) == 0 {
		return nil
	}
	p.line("")
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STAGE\tAGENT\tBATCH\tSTATUS\tATTEMPT\tCOST\tTOOK\tVERDICT")
	for n, one := range p.Stages {
		verdict, attempt, spent, worked := "-", "-", "-", "-"
		if last := len(one.Verdicts) - 1; last >= 0 {
			verdict = Verdict(one.Verdicts[last])
		}
		if one.Attempt > 0 {
			attempt, spent, worked = fmt.Sprint(one.Attempt), usd(one.CostUSD, false), took(one.Seconds)
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n+1, terminal.Short(one.Agent, titleLimit), cmp.Or(terminal.Short(one.Batch, titleLimit), "-"), terminal.Short(one.Status, titleLimit), attempt, spent, worked, verdict)
	}
	return table.Flush()
}

// Verdict is a verdict in words, with its score.
func Verdict(v client.WorkflowVerdict) string {
	words := terminal.Short(v.Verdict, titleLimit)
	switch v.Verdict {
	case "APPROVE":
		words = "approved"
	case "REVISE":
		words = "changes requested"
	case "REDESIGN":
		words = "redesign requested"
	}
	switch {
	case v.By != "":
		return "accepted as is by " + terminal.Short(v.By, titleLimit)
	case v.Score > 0:
		words += fmt.Sprintf(", %d/10", v.Score)
	}
	return words
}

// said is what was said last of each stage that was not approved, and of the whole change.
func (p *page) said() {
	for n, one := range p.Stages {
		if last := len(one.Verdicts) - 1; last >= 0 && one.Verdicts[last].Verdict != "APPROVE" {
			p.verdict(fmt.Sprintf("Stage %d, %s", n+1, name(one)), one.Verdicts[last])
		}
	}
	if last := len(p.Final) - 1; last >= 0 {
		p.verdict("Review of the whole change", p.Final[last])
	}
}

func (p *page) verdict(of string, v client.WorkflowVerdict) {
	p.line("\n%s", p.Bold(of+": "+Verdict(v)))
	for line := range strings.Lines(strings.TrimSpace(terminal.Clean(v.Summary))) {
		p.line("  %s", strings.TrimRight(line, "\n"))
	}
	for _, issue := range v.Issues {
		p.line("  - %s", terminal.Short(issue, 2*lineLimit))
	}
	for _, check := range v.Checks {
		p.line("  %s", p.Dim("· "+terminal.Short(check, lineLimit)))
	}
}

// name is a stage's agent and batch.
func name(stage client.WorkflowStage) string {
	words := terminal.Short(stage.Agent, titleLimit)
	if stage.Batch != "" {
		words += " of " + terminal.Short(stage.Batch, titleLimit)
	}
	return words
}
