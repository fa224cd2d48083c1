package cron

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	systemPath = "context/system.md"
	blockHead  = "<!-- schedules that are on, kept current by the plugin cron -->"
	blockEnd   = "<!-- end of the schedules -->"
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
		lines = append(lines[:most], fmt.Sprintf("- and %d more: the tool %s lists all", more, toolList))
	}
	return blockHead + "\n## Schedules\n\n" + strings.Join(lines, "\n") + "\n" + blockEnd
}

// oneLine is a name that neither begins a line nor a mark of the block.
func oneLine(name string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("<", " ", ">", " ").Replace(name)), " ")
}

// withBlock is a text whose block of schedules is another one; what stands around it stays.
func withBlock(text, block string) string {
	before, rest, there := strings.Cut(text, blockHead)
	if there {
		_, after, closed := strings.Cut(rest, blockEnd)
		if !closed { // somebody has taken the end away: what follows the head is the plugin's as far as it looks like its list
			before, after = strings.ReplaceAll(before+withoutList(rest), blockHead, ""), ""
		}
		return strings.TrimRight(before, "\n") + gap(before, block) + block + after
	}
	if block == "" {
		return text
	}
	return strings.TrimRight(text, "\n") + gap(text, block) + block + "\n"
}

// listed is a line of a block below its head.
var listed = lazy.Regexp(`^(## Schedules|- .+: .+ \([^()]+\)(, report \w+)?|- and \d+ more: the tool .+)$`)

// withoutList is what follows the head of a block without the lines of its list.
func withoutList(rest string) string {
	lines := strings.SplitAfter(rest, "\n")
	last := 0
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && !listed.MatchString(line) {
			break
		}
		if line != "" {
			last = i + 1
		}
	}
	if last == 0 {
		return rest
	}
	return "\n" + strings.Join(lines[last:], "")
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
	err := p.writeBlock(ctx, want)
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

func (p *Plugin) writeBlock(ctx context.Context, want string) error {
	read, err := p.host.Workspace.Read(ctx, &pluginsdk.ReadWorkspaceRequest{Path: systemPath})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		read, err = &pluginsdk.ReadWorkspaceResponse{}, nil
	}
	if err != nil {
		return err
	}
	text := withBlock(read.Text, want)
	if text == read.Text {
		return nil
	}
	_, err = p.host.Workspace.Write(ctx, &pluginsdk.WriteWorkspaceRequest{Path: systemPath, Text: text, Version: read.File.Version})
	return err
}
