package cron

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostHops is how many threads on it is followed where something goes; the host follows no more.
const mostHops = 8

// toldIn returns the threads whose people are told what an agent has done to a job: the one in which it calls, and the job's
// own, unless what is told there goes to the same place.
func (p *Plugin) toldIn(ctx context.Context, call *pluginsdk.CallToolRequest, job pluginsdk.CronJob) []string {
	threads := []string{call.ThreadID}
	own, err := p.peopleOf(ctx, call, job)
	if err != nil || own == "" || own == call.ThreadID {
		if err != nil {
			p.host.Log.Warn("the people of a schedule are not told what the agent has done to it", "tool", call.Name, "job", job.Spec.Name, "err", err)
		}
		return threads
	}
	here, _, err := p.goesTo(ctx, call.ThreadID)
	if err != nil {
		p.host.Log.Warn("it is not known where a thread's replies go", "thread", call.ThreadID, "err", err)
	}
	there, apart, err := p.goesTo(ctx, own)
	switch {
	case err != nil:
		p.host.Log.Warn("the people of a schedule are not told what the agent has done to it", "tool", call.Name, "job", job.Spec.Name, "err", err)
	case !apart && there != here: // those of a thread apart are not to know what the schedule says
		threads = append(threads, own)
	}
	return threads
}

// peopleOf is the thread in which a job's people are told of it; empty: there is none. It makes no thread for a job that
// was removed before it has fired and whose reports go nowhere.
func (p *Plugin) peopleOf(ctx context.Context, call *pluginsdk.CallToolRequest, job pluginsdk.CronJob) (string, error) {
	spec := job.Spec
	switch {
	case spec.ThreadID != "":
		return spec.ThreadID, nil
	case spec.ReportTo.ThreadID != "":
		return spec.ReportTo.ThreadID, nil
	case spec.ReportTo == pluginsdk.Target{} && job.Status.LastRun.IsZero() && call.Name == toolDelete:
		return "", nil
	}
	return p.thread(ctx, job)
}

// goesTo is the place to which the replies of a thread go, as a text to be compared, and whether a thread on the way there
// is apart.
func (p *Plugin) goesTo(ctx context.Context, threadID string) (place string, apart bool, err error) {
	for range mostHops {
		answer, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: threadID})
		if err != nil {
			return "", apart, err
		}
		thread := answer.Thread
		apart = apart || thread.Apart
		switch to := thread.ReportTo; {
		case to == pluginsdk.Target{} || to.ThreadID == threadID: // those of a thread that reports to itself go nowhere else
			return "thread " + threadID, apart, nil
		case to.ThreadID == "":
			return fmt.Sprintf("plugin %s: %s", to.Plugin, to.Place), apart, nil
		default:
			threadID = to.ThreadID
		}
	}
	return "thread " + threadID, apart, nil
}
