// Package askview prints what the agent asks people for a person at a terminal: what is
// open, one thing with all that belongs to it, and the rules that answers have made.
package askview

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

// nameLimit is how much is shown of a thread's name and of an author's, in characters.
const nameLimit = 30

// List prints approvals as a table. names are those of threads, by id.
func List(out io.Writer, approvals []pluginsdk.Approval, names map[string]string, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tAGE\tEXPIRES\tTHREAD\tTITLE")
	for _, approval := range approvals {
		expires := "-"
		if approval.State == pluginsdk.ApprovalOpen {
			expires = "in " + span(approval.ExpiresAt, now)
		}
		thread := cmp.Or(terminal.Short(names[approval.ThreadID], nameLimit), approval.ThreadID)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", approval.ID, approval.State, span(approval.CreatedAt, now), expires, thread, terminal.TitleOf(approval))
	}
	return table.Flush()
}

// span is how far two times are apart.
func span(at, now time.Time) string { return strings.TrimSpace(humanize.RelTime(at, now, "", "")) }

// Show prints one approval: what is asked, what can be answered or was, and when.
func Show(out io.Writer, style terminal.Style, approval pluginsdk.Approval, now time.Time) error {
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	line("%s %s", style.Bold(terminal.TitleOf(approval)), style.Dim("("+terminal.Clean(approval.ID)+")"))
	paint := style.Yellow
	switch approval.State { //nolint:exhaustive // the others are neither good nor bad
	case pluginsdk.ApprovalAllowed:
		paint = style.Green
	case pluginsdk.ApprovalDenied, pluginsdk.ApprovalExpired:
		paint = style.Red
	}
	words := terminal.Decided(approval)
	switch {
	case approval.State == pluginsdk.ApprovalOpen:
		words = "open: it waits for an answer, and is denied in " + span(approval.ExpiresAt, now)
	case approval.State == pluginsdk.ApprovalAllowed && approval.SpentAt.IsZero():
		words += "; the agent has not been told yet"
	}
	line("%s\n", paint(words))
	for _, text := range terminal.Asked(style, approval, "") {
		line("%s", text)
	}
	for n, question := range approval.Questions {
		line("  %s", style.Bold(fmt.Sprintf("%d. %s", n+1, terminal.OneLine(question.Text))))
		if question.Multiple {
			line("     %s", style.Dim("several may be taken"))
		}
		for o, option := range question.Options {
			about := ""
			if option.Description != "" {
				about = style.Dim(" - " + terminal.OneLine(option.Description))
			}
			line("     %d  %s%s", o+1, terminal.OneLine(option.Label), about)
		}
		if n < len(approval.Answers) {
			line("     %s", style.Green("→ "+terminal.OneLine(answered(approval.Answers[n]))))
		}
	}
	line("")
	facts := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(facts, "thread\t%s\nrun\t%s\ntool\t%s\nasked\t%s\n", terminal.Clean(approval.ThreadID), terminal.Clean(approval.RunID),
		terminal.OneLine(approval.Tool), humanize.RelTime(approval.CreatedAt, now, "ago", "from now"))
	if !approval.DecidedAt.IsZero() {
		fmt.Fprintf(facts, "over\t%s\n", humanize.RelTime(approval.DecidedAt, now, "ago", "from now"))
	}
	if err := facts.Flush(); err != nil || approval.State != pluginsdk.ApprovalOpen {
		return err
	}
	line("")
	for _, command := range remedies(approval) {
		line("  harness approvals %s", command[0])
		line("      %s", style.Dim(command[1]))
	}
	return nil
}

// answered is an answer to a question in words.
func answered(answer pluginsdk.QuestionAnswer) string {
	return strings.Join(append(append([]string{}, answer.Labels...), strings.Fields(answer.Text)...), " ")
}

// RulePrefix is what the ids of choices begin with that make a rule.
const RulePrefix = "rule:"

// remedies are the commands that answer, each with what it does.
func remedies(approval pluginsdk.Approval) (next [][2]string) {
	id := terminal.Clean(approval.ID)
	if len(approval.Questions) > 0 {
		next = append(next, [2]string{"answer " + id + " ANSWER...", "a number, several with commas, or words; one for each question"})
	}
	for _, choice := range approval.Choices {
		name, lasting := strings.CutPrefix(choice.ID, RulePrefix)
		switch label := terminal.OneLine(choice.Label); {
		case lasting:
			if !strings.Contains(choice.Label, choice.Rule) {
				label += "; from now on, unasked: " + terminal.OneLine(choice.Rule)
			}
			next = append(next, [2]string{"allow " + id + " --rule " + terminal.Clean(name), label})
		case choice.ID == "allow":
			next = append(next, [2]string{"allow " + id, label})
		case choice.ID == "deny":
			next = append(next, [2]string{"deny " + id + " [WORDS]", label + "; the words are for the agent"})
		}
	}
	return next
}

// Rules prints rules as a table. names are those of threads, by id.
func Rules(out io.Writer, rules []pluginsdk.ApprovalRule, names map[string]string, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAGE\tTHREAD\tBY\tALLOWS")
	for _, rule := range rules {
		thread := cmp.Or(terminal.Short(names[rule.ThreadID], nameLimit), rule.ThreadID)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", rule.ID, span(rule.CreatedAt, now), thread, cmp.Or(terminal.Short(rule.Author, nameLimit), "-"),
			terminal.OneLine(cmp.Or(rule.Text, rule.Tool+" "+rule.Value)))
	}
	return table.Flush()
}
