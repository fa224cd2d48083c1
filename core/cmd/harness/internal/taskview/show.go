package taskview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How many lines are shown of what can be long.
const (
	resultLines   = 30
	feedbackLines = 20
	diffLines     = 60
	pathLines     = 20
)

// The labels by which a task's repository is known.
const (
	labelRepository = "worktree.repository"
	labelPath       = "worktree.path"
	labelBranch     = "worktree.branch"
	labelTarget     = "worktree.target"
)

// page is what is printed.
type page struct {
	terminal.Style
	out io.Writer
	client.TaskHistory
	now time.Time
}

// Show prints one task: where it stands and what to do next, what it is, its iterations,
// what was said of it by round, its result and what it has changed.
func Show(out io.Writer, style terminal.Style, history client.TaskHistory, now time.Time) error {
	p := &page{Style: style, out: out, TaskHistory: history, now: now}
	p.standing()
	for _, part := range []func() error{p.facts, p.iterations} {
		if err := part(); err != nil {
			return err
		}
	}
	p.verdicts()
	p.result()
	p.changes()
	return nil
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// standing says where the task is, why, and what a person can do.
func (p *page) standing() {
	task := p.Task
	p.line("%s %s", p.Bold(Title(task)), p.Dim("("+task.ID+")"))
	words := status(task)
	switch task.Status {
	case pluginsdk.TaskPending:
		words += ": it is being prepared"
	case pluginsdk.TaskRunning:
		who := "its agent"
		if task.CurrentIteration > 0 && task.RunID == "" {
			who = "the plugin " + terminal.Short(task.Plugin, titleLimit)
		}
		words += fmt.Sprintf(": %s is at iteration %d of %d", who, task.CurrentIteration, task.MaxIterations)
	case pluginsdk.TaskEvaluating:
		words += fmt.Sprintf(": the result of iteration %d is looked at", task.CurrentIteration)
	case pluginsdk.TaskWaiting:
		words += " for a person"
	case pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled:
		if task.CompletedAt.IsZero() {
			words += ": its agent and the tasks below it are being ended"
		}
	}
	paint := p.Yellow
	switch task.Status { //nolint:exhaustive // the others are neither good nor bad
	case pluginsdk.TaskCompleted:
		paint = p.Green
	case pluginsdk.TaskFailed:
		paint = p.Red
	}
	p.line("%s", paint(words))
	p.block("  ", task.Error, feedbackLines)
	p.line("")
	next := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, command := range remedies(task) {
		fmt.Fprintf(next, "  harness task %s\t%s\n", command.words, command.does)
	}
	_ = next.Flush()
	p.line("")
}

// remedy is a command that a person can give now.
type remedy struct{ words, does string }

func remedies(task pluginsdk.Task) (next []remedy) {
	seen := fmt.Sprintf("%s --iteration %d", task.ID, task.CurrentIteration)
	switch task.Status {
	case pluginsdk.TaskWaiting:
		if task.Result != "" {
			next = append(next, remedy{"approve " + seen, "accept its result as it is"})
		}
		next = append(next, remedy{"reject " + seen + " WORDS", "have its worker go on, with these words"})
		next = append(next, remedy{"cancel " + task.ID, "end it"})
	case pluginsdk.TaskPending, pluginsdk.TaskRunning, pluginsdk.TaskEvaluating:
		next = append(next, remedy{"log -f " + task.ID, "watch it"})
		next = append(next, remedy{"cancel " + task.ID, "end it"})
	case pluginsdk.TaskCompleted, pluginsdk.TaskFailed, pluginsdk.TaskCancelled:
		next = append(next, remedy{"log " + task.ID, "read what was said"})
		next = append(next, remedy{"retry " + task.ID + " WORDS", "have another go on from it"})
	}
	return next
}

var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// facts are what the task is.
func (p *page) facts() error {
	task, table := p.Task, tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		// On one line: who asked for it and the labels are others' words, and must not look like facts.
		fmt.Fprintf(table, "%s\t%s\n", name, oneLine.Replace(terminal.Clean(fmt.Sprintf(format, args...))))
	}
	row("thread", "%s", task.ThreadID)
	switch {
	case task.ParentTaskID != "":
		row("made for", "task %s, in thread %s", task.ParentTaskID, cmp.Or(task.ParentThreadID, "-"))
	case task.ParentThreadID != "":
		row("made for", "thread %s", task.ParentThreadID)
	}
	if task.FromTaskID != "" {
		row("goes on from", "task %s", task.FromTaskID)
	}
	by := cmp.Or(task.Plugin, "-")
	if task.RequestedBy != "" {
		by = task.RequestedBy + ", through " + by
	}
	if label := task.Label(); label.OfAgent() || label.Token != "" {
		by = label.String()
	}
	row("made", "%s, by %s", ago(task.CreatedAt, p.now), by)
	if !task.CompletedAt.IsZero() {
		row("over", "%s", ago(task.CompletedAt, p.now))
	}
	switch branch := task.Labels[labelBranch]; {
	case branch != "":
		row("branch", "%s, merged into %s of %s", branch, cmp.Or(task.Labels[labelTarget], "?"), cmp.Or(task.Labels[labelRepository], "?"))
		row("worktree", "%s", cmp.Or(task.Labels[labelPath], task.Cwd))
	case task.OwnDirectory:
		row("directory", "%s (its own)", task.Cwd)
	case task.Cwd != "":
		row("directory", "%s", task.Cwd)
	}
	if task.Model != "" {
		row("model", "%s", task.Model)
	}
	cost := fmt.Sprintf("%s of %.2f USD", costOf(task.CostUSD, 0, task.CostUnsure), task.CostCapUSD)
	if task.NotionalUSD > 0 {
		cost += fmt.Sprintf(", %.2f of it notional: on a plan, nobody is billed that", task.NotionalUSD)
	}
	row("cost", "%s", cost)
	row("rejections", "%d of %d", task.ValidationIterations, task.MaxValidationIterations)
	var other []string
	for name, value := range task.Labels {
		if !strings.HasPrefix(name, "worktree.") {
			other = append(other, name+"="+value)
		}
	}
	slices.Sort(other)
	if len(other) > 0 {
		row("labels", "%s", terminal.Short(strings.Join(other, " "), lineLimit))
	}
	return table.Flush()
}

func ago(at, now time.Time) string { return humanize.RelTime(at, now, "ago", "from now") }

func (p *page) iterations() error {
	if len(p.Iterations) == 0 {
		return nil
	}
	p.line("")
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ITERATION\tSTATE\tCOST\tTOOK\tAGE\tRUN\tERROR")
	for _, one := range p.Iterations {
		took, cost, run := "-", costOf(one.CostUSD, one.NotionalUSD, one.CostUnsure), one.RunID
		if one.Own {
			cost, run = "-", "none: work of "+terminal.Short(p.Task.Plugin, titleLimit)
		}
		if !one.FinishedAt.IsZero() {
			took = terminal.Took(one.FinishedAt.Sub(one.QueuedAt))
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", one.Iteration, one.State, cost, took,
			age(one.QueuedAt, p.now), run, cmp.Or(terminal.Short(one.Error, reasonLimit), "-"))
	}
	return table.Flush()
}

// verdicts is what plugins and people have said, by round. Who only took note of a task,
// or had no opinion, is left out.
func (p *page) verdicts() {
	round := -1
	for _, answer := range p.Answers {
		opinion := answer.Author != "" || answer.Answer == "passed"
		switch answer.Hook { //nolint:exhaustive // the others are only told
		case pluginsdk.HookTaskComplete:
			opinion = opinion || answer.Answer != ""
		case pluginsdk.HookTaskValidated:
			opinion = opinion || answer.Answer != string(pluginsdk.HandoverDone) || answer.Feedback != ""
		}
		if !opinion {
			continue
		}
		if answer.Round != round {
			round = answer.Round
			p.line("")
			p.line("%s", p.Bold(fmt.Sprintf("Round %d (iteration %d)", answer.Round, answer.Iteration)))
		}
		p.verdict(answer)
	}
}

func (p *page) verdict(answer pluginsdk.TaskAnswer) {
	who := cmp.Or(terminal.Short(answer.Plugin, titleLimit), "-")
	if answer.Author != "" {
		who = terminal.Short(answer.Author, titleLimit) + ", through " + who
		if answer.Origin.Token != "" {
			who = terminal.OneLine(answer.Label().String())
		}
	}
	words, paint := answer.Answer, p.Yellow
	switch {
	case answer.Author != "" && words == "":
		words = "go on"
	case words == "passed":
		words = "was passed over: it has failed as often as it may"
	case words == string(pluginsdk.VerdictAccept):
		paint = p.Green
	case words == string(pluginsdk.VerdictReject):
		paint = p.Red
	case words == string(pluginsdk.HandoverAgain):
		words = "again: what it was made for has moved"
	case words == string(pluginsdk.HandoverWait):
		words = "a person has to do something first"
	}
	p.line("  %s: %s %s", who, paint(terminal.Short(words, lineLimit)), p.Dim(ago(answer.At, p.now)))
	p.block("    ", answer.Feedback, feedbackLines)
	for _, evidence := range answer.Evidence {
		if text := shown(evidence); text != "" {
			p.line("    %s", p.Dim("· ")+text)
		}
	}
}

// shown is a piece of evidence on one line; empty: it is shown elsewhere, or is for
// programs.
func shown(e pluginsdk.Evidence) string {
	switch e.Kind {
	case "tree", "base", "paths", "diff", "patch-id", "verdict":
		return ""
	case "command":
		return fmt.Sprintf("%s: exit code %d", terminal.Short(e.Command, lineLimit), e.ExitCode)
	case "file":
		return fmt.Sprintf("%s:%d: %s", terminal.Short(e.File, lineLimit), e.Line, terminal.Short(e.Output, lineLimit))
	case "answer":
		return fmt.Sprintf("%s: %s", terminal.Short(e.Command, titleLimit), terminal.Short(e.Output, lineLimit))
	}
	parts := []string{terminal.Short(e.Kind, titleLimit)}
	for _, part := range []string{e.Command, e.File, e.Output} {
		if part != "" {
			parts = append(parts, terminal.Short(part, lineLimit))
		}
	}
	return strings.Join(parts, ": ")
}

func (p *page) result() {
	if p.Task.Result == "" {
		return
	}
	p.line("")
	p.line("%s", p.Bold(fmt.Sprintf("Result of iteration %d", p.Task.CurrentIteration)))
	p.block("  ", p.Task.Result, resultLines)
}

// changes is what the work changes in its repository, as it was last looked at.
func (p *page) changes() {
	found := make(map[string]pluginsdk.Evidence)
	round := -1
	for _, answer := range slices.Backward(p.Answers) {
		if len(found) > 0 && answer.Round != round {
			break
		}
		if maker := p.Task.CwdPlugin; maker != "" && answer.Plugin != maker {
			continue // what others say of the work is not believed
		}
		for _, e := range answer.Evidence {
			switch e.Kind {
			case "tree", "base", "paths", "diff":
				if _, ok := found[e.Kind]; !ok {
					found[e.Kind], round = e, answer.Round
				}
			}
		}
	}
	if len(found) == 0 {
		return
	}
	p.line("")
	p.line("%s", p.Bold(fmt.Sprintf("Changes, as they were in round %d", round)))
	all := "git"
	if repository := p.Task.Labels[labelRepository]; repository != "" {
		all += " -C " + quoted(repository)
	}
	all += fmt.Sprintf(" diff %s %s", terminal.Short(found["base"].Tree, lineLimit), terminal.Short(found["tree"].Tree, lineLimit))
	if paths := strings.TrimSpace(found["paths"].Output); paths != "" {
		p.block("  ", paths, pathLines)
		p.line("")
	}
	cut := p.diff(found["diff"].Diff)
	if found["base"].Tree != "" && found["tree"].Tree != "" {
		if cut > 0 {
			p.line("  %s", p.Yellow(fmt.Sprintf("… %d lines more; all of it: %s", cut, all)))
		} else {
			p.line("  %s", p.Dim("once more: "+all))
		}
	}
}

// diff prints the beginning of a patch, and returns how many lines are left out.
func (p *page) diff(patch string) (cut int) {
	lines := strings.Split(strings.TrimRight(terminal.Clean(patch), "\n"), "\n")
	if patch == "" {
		return 0
	}
	for _, line := range lines[:min(len(lines), diffLines)] {
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
			line = p.Bold(line)
		case strings.HasPrefix(line, "+"):
			line = p.Green(line)
		case strings.HasPrefix(line, "-"):
			line = p.Red(line)
		}
		p.line("  %s", line)
	}
	return max(0, len(lines)-diffLines)
}

// block prints at most so many lines of a text, indented.
func (p *page) block(indent, text string, most int) {
	text = strings.TrimSpace(terminal.Clean(text))
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[:min(len(lines), most)] {
		p.line("%s", strings.TrimRight(indent+line, " "))
	}
	if more := len(lines) - most; more > 0 {
		p.line("%s%s", indent, p.Dim(fmt.Sprintf("… %d lines more; --json has all of them", more)))
	}
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	word = terminal.Clean(word)
	if !strings.ContainsAny(word, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
