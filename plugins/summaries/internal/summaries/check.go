package summaries

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-706843ae/harness/plugins/summaries/internal/memory"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// OnCheck says what is used of the day's budget, why the last turn has failed, and which file is too long. It asks no agent.
func (p *Plugin) OnCheck(ctx context.Context, _ *pluginsdk.OnCheckRequest) (*pluginsdk.OnCheckResponse, error) {
	c, w := *p.config.Load(), p.known.Load()
	if w == nil {
		return &pluginsdk.OnCheckResponse{}, nil
	}
	answer := &pluginsdk.OnCheckResponse{Checks: []pluginsdk.Check{w.check(c, p.now())}}
	if why := p.stuck.Load(); why != nil {
		answer.Checks = append(answer.Checks, pluginsdk.Check{Name: "summaries and memory", State: pluginsdk.CheckWarning, Detail: "what is to be done cannot be, and is tried again: " + *why, Remedy: "put right what it names"})
	}
	if w.Over > 0 && w.summarises(c) {
		answer.Checks = append(answer.Checks, pluginsdk.Check{
			Name: summariesFile, State: pluginsdk.CheckWarning,
			Detail: fmt.Sprintf("it has %d bytes, and is kept within %d: what people or the agent have written there is too long", w.Over, summariesBytes),
			Remedy: "shorten that, or move it to a file below notes/",
		})
	}
	if c.Memory {
		answer.Checks = append(answer.Checks, p.longMemory(ctx)...)
	}
	return answer, nil
}

// longMemory says that memory.md is too long, whoever has written it.
func (p *Plugin) longMemory(ctx context.Context) []pluginsdk.Check {
	is, err := p.read(ctx, memoryFile)
	if err != nil {
		return []pluginsdk.Check{{Name: memoryFile, State: pluginsdk.CheckWarning, Detail: "it cannot be read, so that it is not known how long it is: " + err.Error(), Remedy: "put right what it names"}}
	}
	lines := memory.Parse(is.text).Lines()
	if lines <= memory.MaxLines && len(is.text) <= memory.MaxBytes {
		return nil
	}
	return []pluginsdk.Check{{
		Name: memoryFile, State: pluginsdk.CheckWarning,
		Detail: fmt.Sprintf("it has %d lines and %d bytes; while it has more than %d lines or %d bytes, no consolidation adds anything that does not replace something", lines, len(is.text), memory.MaxLines, memory.MaxBytes),
		Remedy: "shorten it: `harness context edit " + memoryFile + "`",
	}}
}

// check is how summaries do.
func (w work) check(c config, now time.Time) pluginsdk.Check {
	check := pluginsdk.Check{Name: "summaries", State: pluginsdk.CheckOK}
	spent := fmt.Sprintf("$%.2f of $%.2f used today", w.Spent.of(now), c.DailyUSD)
	switch {
	case c.DailyUSD-w.Spent.of(now) < leastUSD && (w.summarises(c) || c.Memory):
		check.State, check.Detail = pluginsdk.CheckWarning, "the day's budget is used up ("+spent+"): the next turn is begun after midnight UTC"
		check.Remedy = "raise it: `harness plugin settings set summaries dailyUsd=2`"
	case w.Failed != nil:
		check.State, check.Detail = pluginsdk.CheckWarning, fmt.Sprintf("the last turn (%s) has failed, %d in a row: %s", w.Failed.At.UTC().Format(time.RFC3339), w.Failed.Times, w.Failed.Why)
		check.Remedy = "its run is on the page /runs of the dashboard; it is tried again by itself"
	case !w.summarises(c) && c.Summaries == nil:
		check.Detail = "off, because there were conversations before this plugin came: `harness plugin settings set summaries summaries=true` turns them on; " + spent
	case !w.summarises(c):
		check.Detail = "off; " + spent
	case w.Quiet:
		check.Detail = "the demo agent answers, and is asked for nothing"
	default:
		check.Detail = spent
	}
	return check
}
