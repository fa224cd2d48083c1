package cron

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// mostNotices is how often a run may tell people something.
const mostNotices = 8

// quietWords tell the agent, with the prompt, who reads what it answers.
func quietWords(report pluginsdk.CronReport) string {
	switch report { //nolint:exhaustive // the reply of the others is read by people
	case pluginsdk.ReportOnNotify:
		return "\n\n(Nobody reads what you answer to this. If there is something that people are to know, give it to the tool " + name + "__" + toolNotify +
			"; if there is nothing, do not call it.)"
	case pluginsdk.ReportNever:
		return "\n\n(Nobody reads what you answer to this, and you cannot tell people anything from here.)"
	}
	return ""
}

// fireOf finds the fire that a run is of, and its job's id; nil: it is of none that is open. The lock is
// held.
func (p *Plugin) fireOf(runID string) (jobID string, fire *pluginsdk.CronFire) {
	for id, open := range p.open {
		for i := range open {
			if open[i].RunID == runID && runID != "" {
				return id, &open[i]
			}
		}
	}
	return "", nil
}

// notice is the metadata of what a schedule tells people.
type notice struct {
	Event    string `json:"event"`
	Schedule string `json:"schedule"`
	Urgency  string `json:"urgency,omitempty"`
	pluginsdk.RowMetadata
}

// notify carries the words of a schedule's run to the schedule's people.
func (p *Plugin) notify(ctx context.Context, call *pluginsdk.CallToolRequest, in input) (string, error) {
	if in.Text == "" {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "text: say what people are to know")
	}
	job, err := p.notifies(ctx, call)
	if err != nil {
		return "", err
	}
	text := in.Text
	switch {
	case in.Urgency == urgent:
		text = "**Urgent** (" + job.Spec.Name + "): " + text
	case tellsThread(job.Spec) != "":
		text = "Schedule " + job.Spec.Name + ": " + text
	}
	told, err := p.tellFor(ctx, job.Spec, call.ThreadID, "notice:"+call.Call.ID, text, notice{Event: "schedule_notice", Schedule: job.Spec.Name, Urgency: in.Urgency})
	if err != nil {
		p.takeBack(call)
		return "", err
	}
	return notifiedWords(job.Spec, told), nil
}

// notifiedWords tell the agent whom it has told something, which stands in the thread told.
func notifiedWords(spec pluginsdk.CronSpec, told string) string {
	switch to := tellsThread(spec); {
	case to != "" && to == told:
		return "The people of the thread " + to + " are told."
	case to != "":
		return "It stands in the thread of this schedule, and nobody is told elsewhere: the thread " + to + ", to which the schedule reports, is not there any more."
	case spec.ThreadID != "":
		return "The people of this thread are told."
	case spec.ReportTo.Plugin != "":
		return "It is told at " + spec.ReportTo.String() + "."
	}
	return "It stands in the thread of this schedule, and nobody is told elsewhere: the schedule has no report_to."
}

// notifies is the job whose run calls the tool notify, once the call is counted.
func (p *Plugin) notifies(ctx context.Context, call *pluginsdk.CallToolRequest) (job pluginsdk.CronJob, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(ctx); err != nil {
		return job, err
	}
	id, fire := p.fireOf(call.Call.RunID)
	if fire == nil {
		return job, pluginsdk.Errorf(pluginsdk.CodeStale, "only the run of a schedule tells people something in this way; here, say it in your answer")
	}
	jobs, err := p.jobs(ctx)
	if err != nil {
		return job, err
	}
	i := slices.IndexFunc(jobs, func(one pluginsdk.CronJob) bool { return one.ID == id })
	switch {
	case i < 0:
		return job, pluginsdk.Errorf(pluginsdk.CodeStale, "the schedule %s is not there any more", fire.Job)
	case jobs[i].Spec.Report == pluginsdk.ReportNever:
		return job, pluginsdk.Errorf(pluginsdk.CodeDenied, "the schedule %s is set to tell people nothing (report: never)", fire.Job)
	}
	given := p.notices[call.Call.RunID]
	if !slices.Contains(given, call.Call.ID) {
		if len(given) >= mostNotices {
			return job, pluginsdk.Errorf(pluginsdk.CodeExhausted, "this run has told people something %d times, as often as it may: say the rest in one notice of the next run", mostNotices)
		}
		p.notices[call.Call.RunID] = append(given, call.Call.ID)
	}
	return jobs[i], nil
}

// takeBack has a notice not count that was not given.
func (p *Plugin) takeBack(call *pluginsdk.CallToolRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.notices[call.Call.RunID]
	p.notices[call.Call.RunID] = slices.DeleteFunc(given, func(id string) bool { return id == call.Call.ID })
}

// tellFailure tells the people of a job that it has begun to fail. Of those that follow it they are not
// told, but that the job is turned off.
func (p *Plugin) tellFailure(ctx context.Context, job pluginsdk.CronJob, fire pluginsdk.CronFire) error {
	words := fmt.Sprintf("The schedule %[1]s has failed: %[2]s", job.Spec.Name, fire.Reason)
	var action pluginsdk.RowAction
	switch {
	case !job.Spec.FireAt.IsZero():
		action = pluginsdk.RowAction{Label: "Try again", Command: typed("run", job)}
		words += "\n\nTo try it again: " + action.Command
	case !job.Enabled:
		action = turnOn(job)
		words += "\n\nIt is off. To turn it on: " + action.Command
	default:
		action = turnOff(job)
		words += fmt.Sprintf("\n\nIt goes on, and is turned off after %s, which you would be told. What became of it: %s\n\nTo turn it off: %s", failuresWords(p.pauseAfter()), typed("history", job), action.Command)
	}
	err := p.tell(ctx, job, "failed:"+submitKey(job.ID, fire.Due), words, action)
	if err != nil && final(err) {
		p.host.Log.Warn("nobody could be told that a schedule has failed", "job", job.Spec.Name, "err", err)
		return nil
	}
	return err
}

// tell tells the people of a job something, with actions, once for the key.
func (p *Plugin) tell(ctx context.Context, job pluginsdk.CronJob, key, words string, actions ...pluginsdk.RowAction) error {
	threadID, err := p.thread(ctx, job)
	if err != nil {
		return err
	}
	_, err = p.tellFor(ctx, job.Spec, threadID, key, words, notice{Event: "schedule_failed", Schedule: job.Spec.Name, RowMetadata: offering(actions...)})
	return err
}
