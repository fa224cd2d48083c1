// Package delegation is a draft of the plugin that gives work to other agents.
package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const name = "delegation"

// rules are put before a worker's first message.
const rules = "Work on this until it is done. End your last message with a line that begins with DONE: and says what you did, " +
	"or with BLOCKED: and what a person has to decide.\n\n"

// Plugin makes tasks, and takes them from iteration to iteration. It keeps
// nothing: what is due follows from what the host has of a task, and each step is
// one that the host makes once, however often it is asked for.
type Plugin struct {
	host pluginsdk.Host
}

// Manifest describes the plugin.
func (*Plugin) Manifest() pluginsdk.Manifest {
	schema := json.RawMessage(`{"type": "object", "required": ["task"], "properties": {"task": {"type": "string"}, "model": {"type": "string"}}}`)
	return pluginsdk.Manifest{
		Name: name, Version: "0.1.0", Description: "Gives work to other agents",
		Commands: []pluginsdk.CommandSpec{{Name: "delegate", Description: "give a task to another agent"}},
		Tools:    []pluginsdk.ToolSpec{{Name: "delegate", Description: "Give a task to another agent; its id is returned at once.", InputSchema: schema}},
		Events:   []string{"pipeline:complete", "pipeline:error", "task:*"},
		Capabilities: []pluginsdk.CapabilityRequest{
			{Capability: pluginsdk.CapTasksRead, Reason: "find the tasks that it has made"},
			{Capability: pluginsdk.CapTasksWrite, Reason: "make tasks and take them on"},
			{Capability: pluginsdk.CapRunsRead, Reason: "read what a worker said"},
		},
	}
}

// Start keeps the host.
func (p *Plugin) Start(_ context.Context, host pluginsdk.Host) error {
	p.host = host
	return nil
}

// Activate goes on with what was open.
func (p *Plugin) Activate(ctx context.Context) error { return p.resume(ctx) }

// Deactivate has nothing to end.
func (*Plugin) Deactivate(context.Context) error { return nil }

// OnCommand answers /delegate, of a person and of an agent.
func (p *Plugin) OnCommand(ctx context.Context, command *pluginsdk.OnCommandRequest) (*pluginsdk.OnCommandResponse, error) {
	id, err := p.delegate(ctx, command.Call.ID, pluginsdk.NewTask{
		ParentThreadID: command.Thread.ID, RequestedBy: command.Message.Author,
		OriginalMessage: command.Message.Content, Prompt: command.Body, Model: command.Attributes["model"],
	})
	if err != nil {
		return nil, err
	}
	return &pluginsdk.OnCommandResponse{Handled: true, Reply: "Delegated as " + id}, nil
}

// CallTool answers the tool delegate.
func (p *Plugin) CallTool(ctx context.Context, call *pluginsdk.CallToolRequest) (*pluginsdk.CallToolResponse, error) {
	var input struct{ Task, Model string }
	if err := json.Unmarshal(call.Input, &input); err != nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "input: %w", err)
	}
	id, err := p.delegate(ctx, call.Call.ID, pluginsdk.NewTask{
		ParentThreadID: call.ThreadID, ParentTaskID: call.TaskID, OriginalMessage: input.Task, Prompt: input.Task, Model: input.Model, Wake: true,
	})
	if err != nil {
		return nil, err
	}
	return &pluginsdk.CallToolResponse{Result: pluginsdk.ToolResult{Text: id}}, nil
}

// delegate makes a task, once for each call.
func (p *Plugin) delegate(ctx context.Context, key string, task pluginsdk.NewTask) (string, error) {
	made, err := p.host.Tasks.Create(ctx, &pluginsdk.CreateTaskRequest{Key: key, Task: task})
	if err != nil {
		return "", err
	}
	return made.Task.ID, p.advance(ctx, made.Task)
}

// OnBroadcast looks at all tasks, whatever has happened: an event may be lost, and
// what one could not do the next one does.
func (p *Plugin) OnBroadcast(ctx context.Context, _ *pluginsdk.OnBroadcastRequest) (*pluginsdk.OnBroadcastResponse, error) {
	return nil, p.resume(ctx)
}

func (p *Plugin) resume(ctx context.Context) (err error) {
	for after := ""; ; {
		page, listErr := p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{
			Plugin: name, Statuses: []pluginsdk.TaskStatus{pluginsdk.TaskRunning}, After: after,
		}})
		if listErr != nil || len(page.Tasks) == 0 {
			return errors.Join(err, listErr)
		}
		for _, task := range page.Tasks {
			err = errors.Join(err, p.advance(ctx, task))
			after = task.ID
		}
	}
}

// advance makes the step that is due. A task that is not running is somebody
// else's: the gate's, or a person's.
func (p *Plugin) advance(ctx context.Context, task pluginsdk.Task) error {
	if task.Status != pluginsdk.TaskRunning {
		return nil
	}
	if task.CurrentIteration == 0 {
		return p.iterate(ctx, task, rules+task.Prompt)
	}
	run, err := p.run(ctx, task.RunID)
	if err != nil || !run.State.Final() {
		return err // its end will be told
	}
	task, next, err := p.settle(ctx, task, run)
	if err != nil || task.Status != pluginsdk.TaskRunning {
		return err
	}
	return p.iterate(ctx, task, next)
}

// run is what answers a message: of a run that was merged into another, that one.
func (p *Plugin) run(ctx context.Context, id string) (pluginsdk.Run, error) {
	answer, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: id})
	switch {
	case err != nil:
		return pluginsdk.Run{}, err
	case answer.Run.State == pluginsdk.RunMerged:
		return p.run(ctx, answer.Run.MergedInto)
	}
	return answer.Run, nil
}

// settle hands in what an iteration came to. When the task is running afterwards,
// the next iteration is due: nothing was handed in, or it was once before, and the
// gate has rejected it or a person has decided.
func (p *Plugin) settle(ctx context.Context, task pluginsdk.Task, run pluginsdk.Run) (_ pluginsdk.Task, next string, err error) {
	verdict, rest := "", ""
	if run.State == pluginsdk.RunSucceeded && run.Result != nil {
		verdict, rest = lastLine(run.Result.Text)
	}
	switch {
	case verdict == "DONE":
		answer, err := p.host.Tasks.Evaluate(ctx, &pluginsdk.EvaluateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Result: run.Result.Text})
		if err != nil {
			return task, "", err
		}
		return answer.Task, "This was not accepted:\n" + answer.Task.Feedback, nil
	case verdict == "BLOCKED", run.State == pluginsdk.RunCancelled:
		request := &pluginsdk.SuspendTaskRequest{ID: task.ID, Iteration: task.CurrentIteration, Reason: rest, Mark: "blocked"}
		if verdict == "BLOCKED" {
			request.Result = run.Result.Text // a person may find it good enough
		}
		answer, err := p.host.Tasks.Suspend(ctx, request)
		if err != nil {
			return task, "", err
		}
		return answer.Task, "A person says:\n" + answer.Task.Feedback, nil
	case run.State == pluginsdk.RunFailed:
		return task, "The last turn failed (" + run.Error + "). Go on.", nil
	}
	return task, "Go on. When there is nothing left to do, say so with DONE: or BLOCKED: in your last line.", nil
}

// iterate begins the next iteration. A task that may have none any more is given up; one
// for which there is only no room now is tried again with the next event.
func (p *Plugin) iterate(ctx context.Context, task pluginsdk.Task, content string) error {
	_, err := p.host.Tasks.Iterate(ctx, &pluginsdk.IterateTaskRequest{ID: task.ID, Iteration: task.CurrentIteration + 1, Content: content})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted {
		usedUp, readErr := p.usedUp(ctx, task.ID)
		if readErr != nil {
			err = errors.Join(err, readErr)
		} else if usedUp {
			_, err = p.host.Tasks.Fail(ctx, &pluginsdk.FailTaskRequest{ID: task.ID, Reason: err.Error()})
		}
	}
	if err != nil {
		return fmt.Errorf("task %s: %w", task.ID, err)
	}
	return nil
}

// usedUp reports whether a task has had all its iterations, or has cost all that it may,
// or one above it has, which pays for it too.
func (p *Plugin) usedUp(ctx context.Context, id string) (bool, error) {
	for above := false; id != ""; above = true {
		answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
		if above && pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return false, nil // it was deleted, and pays for nothing
		}
		if err != nil {
			return false, err
		}
		task := answer.Task
		if task.CostUSD >= task.CostCapUSD || !above && task.CurrentIteration >= task.MaxIterations {
			return true, nil
		}
		id = task.ParentTaskID
	}
	return false, nil
}

// lastLine reads how a worker ended: DONE or BLOCKED and what follows; empty: it
// said neither.
func lastLine(text string) (verdict, rest string) {
	text = strings.TrimSpace(text)
	verdict, rest, found := strings.Cut(text[strings.LastIndexByte(text, '\n')+1:], ":")
	if !found || verdict != "DONE" && verdict != "BLOCKED" {
		return "", ""
	}
	return verdict, strings.TrimSpace(rest)
}
