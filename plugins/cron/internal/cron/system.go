package cron

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	systemPath = "context/system.md"
	blockHead  = "<!-- schedules that are on, kept current by the plugin cron -->"
	blockEnd   = "<!-- end of the schedules -->"
	blockTitle = "## Schedules"
	// moreWords end the line of a block that counts the schedules which are not in it.
	moreWords = " more: the tool " + toolList + " lists all"
)

// block is what the agent is told of the schedules in each prompt: those that will fire, by name. Times that pass are
// not in it, so that it changes only with the schedules.
func block(jobs []pluginsdk.CronJob) string {
	var lines []string
	for _, job := range jobs {
		if n := noteOf(job); !job.Enabled || n.Bad != "" || n.Of != "" && !job.Spec.FireAt.IsZero() && job.Status.NextRun.IsZero() {
			continue // it does not fire: it is off, wrong, not confirmed, or over
		}
		line := fmt.Sprintf("- %s: %s (%s)", oneLine(job.Spec.Name), whenWords(job.Spec), job.Spec.Timezone)
		if job.Spec.Report != "" && job.Spec.Report != pluginsdk.ReportAlways {
			line += ", report " + string(job.Spec.Report)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	const most = 50
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("- and %d%s", more, moreWords))
	}
	return blockHead + "\n" + blockTitle + "\n\n" + strings.Join(lines, "\n") + "\n" + blockEnd
}

// oneLine is a name that neither begins a line nor a mark of the block.
func oneLine(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("<", " ", ">", " ").Replace(name)), " ")
}

// withBlock is a text whose block of schedules is another one; what stands around it stays. ours says of a line that looks
// like one of a block whether the plugin has written it.
func withBlock(text, block string, ours func(line string) bool) string {
	before, rest, there := strings.Cut(text, blockHead)
	if there {
		_, after, closed := strings.Cut(rest, blockEnd)
		if !closed { // somebody has taken the end away: of what follows the head the lines of its list are the plugin's
			before, after = strings.ReplaceAll(before+withoutList(rest, ours), blockHead, ""), ""
		}
		return strings.TrimRight(before, "\n") + gap(before, block) + block + after
	}
	if block == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + gap(text, block) + block + "\n"
}

// listed is how a line of a block below its head looks.
var listed = lazy.Regexp(`^(## Schedules|- .+: .+ \([^()]+\)(, report \w+)?|- and \d+ more: the tool .+)$`)

// withoutList is what follows the head of a block without the lines of its list: those that ours knows, up to the first
// line that does not look like one of a list.
func withoutList(rest string, ours func(line string) bool) string {
	lines := strings.SplitAfter(rest, "\n")
	last := 0
	var others []string
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !listed.MatchString(line) {
			break
		}
		switch {
		case line == "":
		case ours(line):
			last = i + 1
		default:
			others, last = append(others, line+"\n"), i+1
		}
	}
	if last == 0 {
		return rest
	}
	return "\n" + strings.Join(others, "") + strings.Join(lines[last:], "")
}

// oursIn knows the lines that the plugin has written into a block: those of the block that it has written last, and those
// that begin with the name of a schedule.
func oursIn(written string, jobs []pluginsdk.CronJob) func(line string) bool {
	lines := strings.Split(written, "\n")
	return func(line string) bool {
		if line == blockTitle || strings.HasPrefix(line, "- and ") && strings.HasSuffix(line, moreWords) || slices.Contains(lines, line) {
			return true
		}
		return slices.ContainsFunc(jobs, func(job pluginsdk.CronJob) bool { return strings.HasPrefix(line, "- "+oneLine(job.Spec.Name)+": ") })
	}
}

// gap is what stands between a text and a block.
func gap(text, block string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return ""
	case block == "":
		return "\n"
	}
	return "\n\n"
}

// tellAgent keeps the block of system.md current. What somebody else writes at the same moment is not
// lost: the host refuses the write, and the next look tries again.
func (p *Plugin) tellAgent(ctx context.Context, jobs []pluginsdk.CronJob) error {
	want := block(jobs)
	if p.written != nil && *p.written == want {
		return nil
	}
	err := p.writeBlock(ctx, want, jobs)
	switch {
	case err != nil && !final(err):
		return err
	case pluginsdk.CodeOf(err) == pluginsdk.CodeConflict && p.refused < mostRefused: // somebody writes at the same moment
		p.refused++
		return err
	case err != nil:
		p.host.Log.Warn("the agent is not told in "+systemPath+" which schedules are on", "err", err)
	}
	p.written, p.refused = &want, 0
	return nil
}

// mostRefused is how often in a row a write is tried again that was refused.
const mostRefused = 5

func (p *Plugin) writeBlock(ctx context.Context, want string, jobs []pluginsdk.CronJob) error {
	read, err := p.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: systemPath})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		read, err = &pluginsdk.ReadWorkspaceResponse{}, nil
	}
	if err != nil {
		return err
	}
	written := ""
	if p.written != nil {
		written = *p.written
	}
	text := withBlock(read.Text, want, oursIn(written, jobs))
	if text == read.Text {
		return nil
	}
	_, err = p.host.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{Path: systemPath, Text: text, Version: read.File.Version})
	return err
}
