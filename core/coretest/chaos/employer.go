package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/core/coretest/chaos/courier"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// mostJobs is how many jobs the courier has at a time.
	mostJobs = 6
	jobPause = 250 * time.Millisecond
)

// employer has the courier ask for turns and make tasks.
type employer struct {
	world *world
	jobs  []courier.Job
}

// trades are the jobs that there are, which come in turn: each of them in every
// campaign.
var trades = []courier.Job{
	{SourceID: "W1"},
	{Task: true, SourceID: "W1"},
	{},
	{Task: true, SourceID: "W2", Rejections: 1, Wake: true},
	{SourceID: "W1", Session: pluginsdk.SessionThread},
	{Task: true, SourceID: "W1", Cancel: courier.AtWork, Wake: true},
	{SourceID: "T02-queue-courier", Session: pluginsdk.SessionThread},
	{Task: true, SourceID: "T02-queue-courier", Wake: true},
	{Task: true, SourceID: "W2", Cancel: courier.AtOnce},
	{SourceID: "W2", Session: pluginsdk.SessionThread},
	{Task: true, SourceID: "W2", Rejections: 1, Cancel: courier.InQuestion},
	{Task: true, SourceID: "W1", Cancel: courier.AtHandIn},
}

// hireAll goes on giving the courier jobs until quiet ends, and has given each kind of
// them once by then.
func (e *employer) hireAll(ctx, quiet context.Context) error {
	for n := 0; n < len(trades) || quiet.Err() == nil; n++ {
		job := trades[n%len(trades)]
		how := ""
		if n%3 == 1 {
			how = ", " + wordSlow
		}
		if err := e.hire(job, how); err != nil {
			return err
		}
		for {
			open, err := e.world.openJobs()
			if err != nil {
				return err
			}
			if open < mostJobs || quiet.Err() != nil {
				break
			}
			if err := pause(ctx, jobPause); err != nil {
				return err
			}
		}
		_ = pause(quiet, jobPause)
	}
	return nil
}

// hire gives the courier a job, under its key if it has one.
func (e *employer) hire(job courier.Job, how string) error {
	if job.Key == "" {
		job.Key = fmt.Sprintf("w-%04d", len(e.jobs)+1)
	}
	job.Prompt = fmt.Sprintf("Please answer%s: %s", how, job.Key)
	job.BusyMode = pluginsdk.BusyQueue
	if job.SourceID == "W2" {
		job.BusyMode = pluginsdk.BusyCollect
	}
	e.jobs = append(e.jobs, job)
	e.world.hired.Add(1)
	return courier.Employ(e.world.courierDir, job)
}

// openJobs is how many jobs are not over, as far as the courier knows.
func (w *world) openJobs() (int, error) {
	events, err := courier.Work(w.courierDir)
	over := map[string]bool{}
	for _, event := range events {
		if event.What == courier.Ended || event.What == courier.Refused {
			over[event.Key] = true
		}
	}
	return int(w.hired.Load()) - len(over), err
}

// work is the jobs with what the courier wrote down about them.
func (e *employer) work(records *check.Records) error {
	events, err := courier.Work(e.world.courierDir)
	if err != nil {
		return err
	}
	for _, job := range e.jobs {
		records.Jobs = append(records.Jobs, check.Job{
			Key: job.Key, Task: job.Task, Wake: job.Wake, Rejections: job.Rejections, Cancel: cancels[job.Cancel],
			Iterations: map[int]string{},
		})
	}
	records.Witness = courier.Name
	for _, event := range events {
		at := slices.IndexFunc(records.Jobs, func(job check.Job) bool { return job.Key == event.Key })
		if at < 0 {
			return fmt.Errorf("the courier's log names the job %q, which nobody gave it", event.Key)
		}
		job := &records.Jobs[at]
		switch event.What {
		case courier.Promised:
			job.Promised = append(job.Promised, event.ID)
		case courier.Iterated:
			if _, known := job.Iterations[event.Iteration]; !known {
				job.Iterations[event.Iteration] = event.ID
			}
		case courier.Asked:
			records.Calls = append(records.Calls, check.Call{TaskID: event.ID, Hook: phases[pluginsdk.Hook(event.Hook)], ID: event.CallID, At: event.At})
		case courier.Ended:
			job.Ended = append(job.Ended, check.End{State: event.State, Text: event.Text})
		case courier.Cancelled:
			if event.State == string(pluginsdk.TaskCancelled) { // as it was promised to be
				job.Cancel = check.Cancelled
			}
		case courier.Refused:
			job.Refused = append(job.Refused, event.Text)
		}
	}
	return nil
}

var cancels = map[courier.Cancel]check.Cancel{
	"": check.Kept, courier.AtOnce: check.Cancelled, courier.AtWork: check.Cancelled, courier.InQuestion: check.MayBe,
	courier.AtHandIn: check.MayBe,
}

// phases is what the database calls what is asked in each hook.
var phases = map[pluginsdk.Hook]string{
	pluginsdk.HookTaskCreate: "creating", pluginsdk.HookTaskComplete: "reviewing",
	pluginsdk.HookTaskValidated: "handing", pluginsdk.HookTaskFailed: "ending",
}
