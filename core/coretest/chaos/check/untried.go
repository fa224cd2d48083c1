package check

import (
	"fmt"
	"slices"
)

// untried names what has to happen in a campaign and did not: a promise that
// nobody made cannot be broken.
func (j *judge) untried(report Report) (violations []string) {
	for _, part := range []struct {
		missing bool
		what    string
	}{
		{report.Accepted == 0, "no message was accepted"},
		{report.Answered == 0, "no message was answered"},
		{report.Carried == 0 && j.anyDelivered(), "nothing was carried, although a thread is delivered"},
		{len(j.Asked) == 0 && !j.AskedUnknown, "the agent's log has nothing that it was asked"},
		{len(j.Turns) == 0, "no turn of the agent was recorded"},
		{report.Turns == 0, "no turn that a plugin asked for was answered"},
		{!slices.ContainsFunc(j.Jobs, func(job Job) bool { return job.Task && job.Cancel == Kept }), "no task was made"},
		{!slices.ContainsFunc(j.Jobs, func(job Job) bool { return job.Rejections > 0 }), "no work of a task was rejected"},
		{!slices.ContainsFunc(j.Jobs, func(job Job) bool { return job.Cancel == Cancelled }), "no task was cancelled"},
		{report.Fires == 0, "no scheduled job has fired"},
		{!slices.ContainsFunc(j.Schedules, func(s Schedule) bool { return s.Away }), "no scheduled job was made while no daemon was there"},
		{!slices.ContainsFunc(j.Schedules, func(s Schedule) bool { return len(s.Promised) > 0 }), "nobody was promised a fire"},
		{len(j.Usages) == 0, "what turns have cost was not told"},
		{len(j.Budgets) == 0, "no budget was kept"},
		{j.Summed == 0, "no turn was in the sums of usage"},
		{report.CostUSD == 0 && !j.AskedUnknown, "no turn has cost anything"},
		{j.Places == 0, "the places were not tried"},
		{len(j.Closings) > 0 && !slices.ContainsFunc(j.Closings, func(c Closing) bool { return c.Refused > 0 }), "no call met a used-up window of the plan"},
		{len(j.Works) == 0 && !j.AskedUnknown, "no work was handed on"},
	} {
		if part.missing {
			violations = append(violations, part.what)
		}
	}
	if !j.AskedUnknown {
		violations = append(violations, j.unasking(report)...)
	}
	violations = append(violations, j.unwritten(report)...)
	for _, kind := range j.Wanted {
		if report.Strikes[kind] == 0 {
			violations = append(violations, fmt.Sprintf("no strike hit what it was meant for: %s (%d hit a daemon instead)", kind, report.Missed[kind]))
		}
	}
	return violations
}

func (j *judge) anyDelivered() bool {
	return slices.ContainsFunc(j.Threads, func(t Thread) bool { return t.Delivered })
}

// delivers reports whether there is anything by which deliveries can be judged.
func (j *judge) delivers() bool {
	return j.anyDelivered() || len(j.Deliveries)+len(j.Carried) > 0
}
