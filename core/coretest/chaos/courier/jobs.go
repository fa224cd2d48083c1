package courier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Job is work that somebody has the courier see to: a turn of the agent, or a task. Its
// key is under which the courier asks for it, until it knows how it ended.
type Job struct {
	Key      string                `json:"key"`
	Task     bool                  `json:"task"`     // a task, not a turn
	SourceID string                `json:"sourceId"` // whose thread it is for, or below; empty: no thread
	BusyMode pluginsdk.BusyMode    `json:"busyMode"`
	Session  pluginsdk.TurnSession `json:"session"` // of a turn
	Prompt   string                `json:"prompt"`  // of a task's iteration with the iteration's number behind it

	// Of a task:
	Wake       bool   `json:"wake"`
	Rejections int    `json:"rejections"` // of its work, by OnTaskComplete
	Cancel     Cancel `json:"cancel"`
}

// Cancel says when a task is cancelled by who has made it.
type Cancel string

// The moments at which a task is cancelled; the empty one is never.
const (
	AtOnce     Cancel = "at once"     // before its first iteration
	AtWork     Cancel = "at work"     // while the agent has it
	InQuestion Cancel = "in question" // once its result is handed in: it may be completed before
	AtHandIn   Cancel = "at hand-in"  // at the moment in which its result is handed in, by another call
)

// Event is one thing that has happened with a job, as the courier writes it down.
type Event struct {
	Key       string    `json:"key"`
	What      string    `json:"what"`
	ID        string    `json:"id"`                  // of the run, or the task
	Iteration int       `json:"iteration,omitempty"` // of a task
	State     string    `json:"state,omitempty"`     // as the courier was told it
	Text      string    `json:"text,omitempty"`      // the answer, or why there is none
	Hook      string    `json:"hook,omitempty"`      // of a call
	CallID    string    `json:"callId,omitempty"`
	At        time.Time `json:"at"`
}

// What can happen with a job.
const (
	Promised  = "promised"  // its run or its task was named
	Iterated  = "iterated"  // the run of an iteration was named
	Asked     = "asked"     // a hook of its task was called; written down before the answer
	Cancelled = "cancelled" // its end was asked for, and that was accepted
	Ended     = "ended"     // its end was told
	Refused   = "refused"   // it was refused for good
)

// about is what a call's conduct depends on.
func (e Event) about() string { return fmt.Sprintf("%s\x00%s\x00%d", e.Key, e.Hook, e.Iteration) }

// Employ gives the courier in dir a job.
func Employ(dir string, job Job) error { return write(filepath.Join(jobs(dir), job.Key), job) }

// takeJobs begins to see to each job that is new.
func (p *Plugin) takeJobs(ctx context.Context) {
	found, err := os.ReadDir(jobs(p.settings.Dir))
	if err != nil {
		p.host.Log.Error("the jobs cannot be read", "err", err)
		return
	}
	for _, entry := range found {
		key := entry.Name()
		if strings.HasSuffix(key, partial) || !p.begin(key) {
			continue
		}
		p.ended.Go(func() { p.see(ctx, key) })
	}
}

// begin reports whether nobody sees to the job yet.
func (p *Plugin) begin(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.busy[key]
	p.busy[key] = true
	return !known
}

// see tries a job again and again until it is over, or ctx ends.
func (p *Plugin) see(ctx context.Context, key string) {
	var job Job
	content, err := os.ReadFile(filepath.Join(jobs(p.settings.Dir), key))
	if err == nil {
		err = json.Unmarshal(content, &job)
	}
	if err != nil {
		p.host.Log.Error("a job cannot be read", "key", key, "err", err)
		return
	}
	for ctx.Err() == nil {
		if job.Task {
			err = p.seeToTask(ctx, job)
		} else {
			err = p.seeToTurn(ctx, job)
		}
		switch pluginsdk.CodeOf(err) { //nolint:exhaustive // every other code is tried again
		case "":
			return
		case pluginsdk.CodeConflict, pluginsdk.CodeInvalid, pluginsdk.CodeNotFound, pluginsdk.CodeDenied:
			if err := p.note(Event{Key: key, What: Refused, Text: err.Error()}); err == nil {
				return
			}
		}
		p.host.Log.Info("a job is tried again", "key", key, "err", err)
		rest(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, key)
}

// jobPause is how long the courier waits before it looks again.
const jobPause = 100 * time.Millisecond

func rest(ctx context.Context) {
	timer := time.NewTimer(jobPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// note writes an event down.
func (p *Plugin) note(event Event) error {
	event.At = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return record(p.settings.Dir, workFile, event)
}

// seeToTurn asks for a turn, waits for its end, and asks once more: with its key it is the
// same.
func (p *Plugin) seeToTurn(ctx context.Context, job Job) (err error) {
	request := &pluginsdk.StartTurnRequest{Key: job.Key, Purpose: "chaos", Session: job.Session, Prompt: job.Prompt}
	if job.SourceID != "" {
		if request.ThreadID, err = p.thread(ctx, job.SourceID, job.BusyMode); err != nil {
			return err
		}
	}
	ended := Event{Key: job.Key, What: Ended}
	for range 2 {
		turn, err := p.host.Agent.Start(ctx, request)
		if err != nil {
			return err
		}
		if err := p.note(Event{Key: job.Key, What: Promised, ID: turn.RunID}); err != nil {
			return err
		}
		answer, err := p.host.Agent.Wait(ctx, &pluginsdk.WaitTurnRequest{RunID: turn.RunID})
		if err != nil {
			return err
		}
		ended.ID, ended.State, ended.Text = turn.RunID, string(answer.State), answer.Error
		if answer.Result != nil {
			ended.Text += answer.Result.Text
		}
	}
	return p.note(ended)
}

// seeToTask makes a task and takes it from step to step.
func (p *Plugin) seeToTask(ctx context.Context, job Job) error {
	threadID, err := p.thread(ctx, job.SourceID, job.BusyMode)
	if err != nil {
		return err
	}
	made, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: job.Key, Task: pluginsdk.NewTask{
		ParentThreadID: threadID, OriginalMessage: "some work", Prompt: job.Prompt, Wake: job.Wake,
		Labels: map[string]string{rejections: strconv.Itoa(job.Rejections)},
	}})
	if err != nil {
		return err
	}
	if err := p.note(Event{Key: job.Key, What: Promised, ID: made.Task.ID}); err != nil {
		return err
	}
	for task := made.Task; ; rest(ctx) {
		if !task.CompletedAt.IsZero() {
			return p.note(Event{Key: job.Key, What: Ended, ID: task.ID, State: string(task.Status), Iteration: task.CurrentIteration, Text: task.Error})
		}
		if err := p.advance(ctx, job, task); err != nil {
			return err
		}
		answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: task.ID})
		if err != nil {
			return err
		}
		task = answer.Task
	}
}

// rejections is the label that says how often a task's work is rejected.
const rejections = "rejections"

// advance makes the step that is due. What it has made before changes nothing when it
// makes it again.
func (p *Plugin) advance(ctx context.Context, job Job, task pluginsdk.Task) (err error) {
	due := map[Cancel]bool{
		AtOnce: true, AtWork: task.CurrentIteration > 0, InQuestion: task.Status == pluginsdk.TaskEvaluating,
		AtHandIn: task.Status == pluginsdk.TaskEvaluating, // the call has failed
	}
	if due[job.Cancel] && !task.Status.Final() {
		return p.cancel(ctx, task)
	}
	if task.Status != pluginsdk.TaskRunning {
		return nil
	}
	if task.CurrentIteration > 0 {
		ended, err := p.host.Runs.Wait(ctx, &pluginsdk.WaitRunRequest{ID: task.RunID})
		if err != nil {
			return err
		}
		result := ""
		if ended.Run.Result != nil {
			result = ended.Run.Result.Text
		}
		if job.Cancel == AtHandIn {
			cancelled := make(chan error, 1)
			go func() { cancelled <- p.cancel(ctx, task) }()
			defer func() { err = errors.Join(err, <-cancelled) }()
		}
		answer, err := p.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Result: result})
		if job.Cancel == AtHandIn && pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
			return nil // it was cancelled before
		}
		if err != nil || answer.Task.Status != pluginsdk.TaskRunning || answer.Task.CurrentIteration != task.CurrentIteration {
			return err
		}
	}
	iteration := task.CurrentIteration + 1
	answer, err := p.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{
		ID: task.ID, Iteration: iteration, Content: fmt.Sprintf("%s-%d", job.Prompt, iteration),
	})
	if err != nil {
		return err
	}
	return p.note(Event{Key: job.Key, What: Iterated, ID: answer.Accepted.RunID, Iteration: iteration})
}

func (p *Plugin) cancel(ctx context.Context, task pluginsdk.Task) error {
	answer, err := p.host.Tasks.Cancel(ctx, &pluginsdk.CancelTaskRequest{ID: task.ID, Reason: "nobody wants it any more"})
	if err != nil {
		return err
	}
	return p.note(Event{Key: task.Key, What: Cancelled, ID: task.ID, State: string(answer.Task.Status)})
}
