package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What makes tasks, and goes on from one that is over: tools of the plugin delegation.
const (
	delegateTool   = "delegation__delegate"
	reDelegateTool = "delegation__re-delegate"
)

// TaskHistory is a task with what has become of it.
type TaskHistory struct {
	Task       pluginsdk.Task            `json:"task"`
	Iterations []pluginsdk.TaskIteration `json:"iterations" nullable:"false" doc:"The latest 1000, on each page; of an error its first KiB"`
	Answers    []pluginsdk.TaskAnswer    `json:"answers" nullable:"false" doc:"What plugins and people have said, oldest first"`
	More       bool                      `json:"more" doc:"There are answers after the last one"`
}

type taskOutput struct {
	Body pluginsdk.Task
}

type tasksInput struct {
	After    string                 `query:"after" maxLength:"100" doc:"Id of the last task of the page before"`
	Limit    int                    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	Statuses []pluginsdk.TaskStatus `query:"status,explode" enum:"pending,running,evaluating,completed,failed,cancelled,waiting" doc:"Only these statuses"`
	Thread   string                 `query:"thread" maxLength:"100" doc:"Only those whose parent is this thread"`
	Parent   string                 `query:"parent" maxLength:"100" doc:"Only those below this task"`
	In       string                 `query:"in" maxLength:"100" doc:"Only those that are worked on in this thread"`
	Plugin   string                 `query:"plugin" maxLength:"100" doc:"Only those that this plugin has made"`
	Newest   bool                   `query:"newest" doc:"The newest first"`
}

type tasksOutput struct {
	Body struct {
		Tasks []pluginsdk.Task `json:"tasks" nullable:"false"`
	}
}

type taskInput struct {
	ID    string `path:"id" maxLength:"100"`
	After int64  `query:"after" minimum:"0" doc:"Id of the last answer of the page before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"The most answers of a page"`
}

type taskHistoryOutput struct {
	Body TaskHistory
}

// CreateTaskRequest hands work on. What is absent is the plugin's to decide.
type CreateTaskRequest struct {
	ThreadID       string  `json:"threadId,omitempty" maxLength:"100" doc:"The thread that is told; the primary one when absent"`
	Text           string  `json:"text" minLength:"1" maxLength:"262144" doc:"What is to be done"`
	Model          string  `json:"model,omitempty" maxLength:"100"`
	Dir            string  `json:"dir,omitempty" maxLength:"4096" doc:"The directory to work in"`
	Account        string  `json:"account,omitempty" maxLength:"40" doc:"The account of the agent's that it uses; the thread's when absent"`
	Cost           float64 `json:"cost,omitempty" minimum:"0" doc:"What the task may cost, in USD"`
	Wake           string  `json:"wake,omitempty" maxLength:"20" doc:"Whether the thread's agent is run when the task is over: no or yes"`
	Join           string  `json:"join,omitempty" maxLength:"100" doc:"The thread's agent is run when all tasks of this name are over"`
	IdempotencyKey string  `json:"idempotencyKey,omitempty" maxLength:"200" doc:"Repeated with the same key, the first task is returned"`
}

type createTaskInput struct {
	Body CreateTaskRequest
}

// CancelTaskRequest says why a task is to end, and who wants it.
type CancelTaskRequest struct {
	Reason string `json:"reason,omitempty" maxLength:"60000" doc:"Its parent is told"`
	Author string `json:"author,omitempty" maxLength:"200" doc:"Who wants it. With a token, its name in place of this"`
}

type cancelTaskInput struct {
	ID   string             `path:"id" maxLength:"100"`
	Body *CancelTaskRequest // may be absent
}

// DecideTaskRequest is a person's word on a task that waits.
type DecideTaskRequest struct {
	Verdict   pluginsdk.Verdict `json:"verdict" enum:",accept,reject" doc:"accept: the work is handed over; reject, and the empty one: the worker goes on"`
	Iteration int               `json:"iteration,omitempty" minimum:"0" doc:"The iteration that was looked at: at another one, 409; any when absent"`
	Feedback  string            `json:"feedback,omitempty" maxLength:"65536" doc:"To the worker"`
	Author    string            `json:"author,omitempty" maxLength:"200" doc:"Who says it. With a token, its name in place of this"`
}

type decideTaskInput struct {
	ID   string `path:"id" maxLength:"100"`
	Body DecideTaskRequest
}

// RetryTaskRequest says what is to be done now.
type RetryTaskRequest struct {
	Text           string `json:"text,omitempty" maxLength:"65536" doc:"What is to be done now"`
	Iteration      int    `json:"iteration,omitempty" minimum:"0" doc:"Of one that waits, the iteration that was looked at: at another one, 409"`
	Author         string `json:"author,omitempty" maxLength:"200" doc:"Who wants it. With a token, its name in place of this"`
	IdempotencyKey string `json:"idempotencyKey,omitempty" maxLength:"200" doc:"Of one that is over: repeated with the same key, the first new task is returned"`
}

type retryTaskInput struct {
	ID   string            `path:"id" maxLength:"100"`
	Body *RetryTaskRequest // may be absent
}

func (h *handlers) registerTasks(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-tasks", "/api/tasks", "Tasks")), h.listTasks)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-task", "/api/tasks/{id}", "A task, with its iterations and what was said of it")), h.getTask)
	huma.Register(api, needs(pluginsdk.ScopeWork, post("create-task", "/api/tasks", "Hand work on", http.StatusAccepted)), h.createTask)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("cancel-task", "/api/tasks/{id}/cancel", "End a task, whatever it is doing", http.StatusOK)), h.cancelTask)
	huma.Register(api, needs(pluginsdk.ScopeApprove, post("decide-task", "/api/tasks/{id}/decide", "A person's word on a task that waits", http.StatusOK)), h.decideTask)
	huma.Register(api, needs(pluginsdk.ScopeWork, post("retry-task", "/api/tasks/{id}/retry", "Have a task that waits go on, or another go on from one that is over", http.StatusAccepted)), h.retryTask)
}

// listTasks leaves out what can be long: a single task has it.
func (h *handlers) listTasks(ctx context.Context, input *tasksInput) (*tasksOutput, error) {
	answer, err := h.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{
		Plugin: input.Plugin, ParentThreadID: input.Thread, ParentTaskID: input.Parent, ThreadID: input.In,
		Statuses: input.Statuses, Newest: input.Newest, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-tasks", err)
	}
	output := &tasksOutput{}
	output.Body.Tasks = list(answer.Tasks)
	for i := range output.Body.Tasks {
		task := &output.Body.Tasks[i]
		task.Prompt, task.Context, task.Result = "", "", ""
	}
	return output, nil
}

func (h *handlers) getTask(ctx context.Context, input *taskInput) (*taskHistoryOutput, error) {
	task, err := h.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("get-task", err)
	}
	history, err := h.host.Tasks.History(ctx, &pluginsdk.TaskHistoryRequest{ID: input.ID, After: input.After, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("get-task", err)
	}
	return &taskHistoryOutput{Body: TaskHistory{
		Task: task.Task, Iterations: list(history.Iterations), Answers: list(history.Answers), More: history.More,
	}}, nil
}

func (h *handlers) createTask(ctx context.Context, input *createTaskInput) (*taskOutput, error) {
	request := input.Body
	if err := admits(ctx, pluginsdk.ScopeAdmin, field{"dir", request.Dir != ""}, field{"account", request.Account != ""}); err != nil {
		return nil, err
	}
	call := map[string]any{"task": request.Text}
	for name, value := range map[string]string{
		"thread": request.ThreadID, "model": request.Model, "dir": request.Dir, "account": request.Account, "wake": request.Wake,
		"join": request.Join, "key": request.IdempotencyKey,
	} {
		if value != "" {
			call[name] = value
		}
	}
	if request.Cost > 0 {
		call["cost"] = request.Cost
	}
	return h.delegated(ctx, "create-task", delegateTool, call)
}

// delegated calls a tool that answers with the id of a task, and returns that task.
func (h *handlers) delegated(ctx context.Context, operation, tool string, input map[string]any) (*taskOutput, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, h.fail(operation, err)
	}
	answer, err := h.host.Tools.Call(ctx, &pluginsdk.InvokeToolRequest{Name: tool, Input: raw})
	switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others are as of any call
	case pluginsdk.CodeNotFound:
		return nil, huma.Error409Conflict("there is no tool " + tool + ": no plugin makes tasks; `harness plugin enable delegation` turns it on")
	case pluginsdk.CodeUnavailable:
		return nil, h.fail(operation, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the plugin that makes tasks does not serve: %w; "+
			"if it is disabled: `harness plugin enable delegation`", err))
	case pluginsdk.CodeInternal:
		return nil, huma.NewError(http.StatusBadGateway, err.Error())
	}
	if err != nil {
		return nil, h.fail(operation, err)
	}
	if answer.Result.IsError {
		return nil, huma.Error422UnprocessableEntity(answer.Result.Text)
	}
	id, err := taskIn(answer.Result)
	if err != nil {
		return nil, huma.NewError(http.StatusBadGateway, err.Error())
	}
	task, err := h.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: id})
	if err != nil {
		return nil, h.fail(operation, err)
	}
	return &taskOutput{Body: task.Task}, nil
}

// taskIn reads the id of the task that a tool has made: it answers with a JSON object,
// structured or as its text.
func taskIn(result pluginsdk.ToolResult) (string, error) {
	raw := result.Structured
	if len(raw) == 0 {
		raw = json.RawMessage(result.Text)
	}
	var answer struct {
		Task string `json:"task"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Task == "" {
		return "", fmt.Errorf("the plugin delegation has answered without the task's id: %.200q", raw)
	}
	return answer.Task, nil
}

func (h *handlers) cancelTask(ctx context.Context, input *cancelTaskInput) (*taskOutput, error) {
	var body CancelTaskRequest
	if input.Body != nil {
		body = *input.Body
	}
	request := &pluginsdk.CancelTaskRequest{ID: input.ID, Author: cmp.Or(author(ctx, body.Author), somebody)}
	request.Reason = "cancelled by " + request.Author
	if body.Reason != "" {
		request.Reason += ": " + body.Reason
	}
	answer, err := h.host.Tasks.Cancel(ctx, request)
	if err != nil {
		return nil, h.fail("cancel-task", err)
	}
	return &taskOutput{Body: answer.Task}, nil
}

func (h *handlers) decideTask(ctx context.Context, input *decideTaskInput) (*taskOutput, error) {
	return h.decide(ctx, "decide-task", pluginsdk.DecideTaskRequest{
		ID: input.ID, Iteration: input.Body.Iteration, Verdict: input.Body.Verdict, Feedback: input.Body.Feedback,
		Author: input.Body.Author,
	})
}

func (h *handlers) decide(ctx context.Context, operation string, request pluginsdk.DecideTaskRequest) (*taskOutput, error) {
	request.Author = cmp.Or(author(ctx, request.Author), somebody)
	answer, err := h.host.Tasks.Decide(ctx, &request)
	if err != nil {
		return nil, h.fail(operation, err)
	}
	return &taskOutput{Body: answer.Task}, nil
}

// retryTask answers with the task that goes on: the same, or the one that was made to go on
// from it.
func (h *handlers) retryTask(ctx context.Context, input *retryTaskInput) (*taskOutput, error) {
	var request RetryTaskRequest
	if input.Body != nil {
		request = *input.Body
	}
	answer, err := h.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("retry-task", err)
	}
	switch task := answer.Task; {
	case task.Status == pluginsdk.TaskWaiting:
		return h.decide(ctx, "retry-task", pluginsdk.DecideTaskRequest{
			ID: task.ID, Iteration: request.Iteration, Feedback: request.Text, Author: request.Author,
		})
	case task.Status.Final():
		call := map[string]any{"task": task.ID, "words": cmp.Or(request.Text, "Go on: it is to be done all the same.")}
		if request.IdempotencyKey != "" {
			call["key"] = request.IdempotencyKey
		}
		return h.delegated(ctx, "retry-task", reDelegateTool, call)
	default:
		return nil, huma.Error409Conflict(fmt.Sprintf("task %s is %s: it goes on by itself; cancel it first, or say something in its thread %s",
			task.ID, task.Status, task.ThreadID))
	}
}
