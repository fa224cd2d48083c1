package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Run is a run as clients see it: without what only the dispatcher needs, and
// with durations in milliseconds, those of hook calls in microseconds.
type Run struct {
	ID            string                   `json:"id"`
	ThreadID      string                   `json:"threadId"`
	MessageID     int64                    `json:"messageId"`
	Kind          pluginsdk.RunKind        `json:"kind"`
	State         pluginsdk.RunState       `json:"state" enum:"queued,running,waiting,succeeded,failed,cancelled,merged"`
	Final         bool                     `json:"final" doc:"Nothing more happens to the run"`
	MergedInto    string                   `json:"mergedInto,omitempty" doc:"The run that answers this one's message too"`
	Absorbed      []int64                  `json:"absorbed,omitempty" nullable:"false" doc:"Ids of the messages of the runs merged into this one, in order"`
	CauseRunID    string                   `json:"causeRunId,omitempty"`
	Depth         int                      `json:"depth"`
	Attempt       int                      `json:"attempt" doc:"1 for the first"`
	NextAttemptAt time.Time                `json:"nextAttemptAt,omitzero" doc:"When a run that waits is tried again"`
	Failures      []pluginsdk.Failed       `json:"failures,omitempty" nullable:"false" doc:"The attempts that failed, the last few"`
	TraceID       string                   `json:"traceId,omitempty"`
	SessionID     string                   `json:"sessionId,omitempty"`
	Error         string                   `json:"error,omitempty"`
	Usage         pluginsdk.Usage          `json:"usage"`
	CostUSD       float64                  `json:"costUsd" doc:"Of all its turns of the agent"`
	NotionalUSD   float64                  `json:"notionalUsd,omitempty" doc:"What of costUsd is of turns on a plan: nobody is billed that"`
	CostUnsure    bool                     `json:"costUnsure,omitempty" doc:"costUsd may be wrong: that of at least one of its turns may"`
	Account       string                   `json:"account,omitempty" doc:"The account that its last turn of the agent was of"`
	Parked        *pluginsdk.Parked        `json:"parked,omitempty" doc:"Why and until when a queued run waits for a window of the account's plan"`
	Beside        bool                     `json:"beside,omitempty" doc:"The run is in no thread's queue: it waits for no other run of its thread, and none waits for it"`
	Override      *pluginsdk.RunOverride   `json:"override,omitempty" doc:"What a person has said of the run when it was parked"`
	QueuedAt      time.Time                `json:"queuedAt"`
	StartedAt     time.Time                `json:"startedAt,omitzero"`
	FinishedAt    time.Time                `json:"finishedAt,omitzero"`
	Steps         []pluginsdk.PipelineStep `json:"steps,omitempty" nullable:"false"`
	Outcomes      []pluginsdk.Outcome      `json:"outcomes,omitempty" nullable:"false"`
	Result        *Result                  `json:"result,omitempty" doc:"Only of a single run"`
	Events        []pluginsdk.StreamEvent  `json:"events,omitempty" nullable:"false" doc:"Only of a single run"`
	Hooks         []HookCall               `json:"hooks,omitempty" nullable:"false" doc:"What plugins were asked, in the order in which it began. Only of a single run"`
}

// HookCall is a call of a plugin in a run.
type HookCall struct {
	Hook           string              `json:"hook"`
	Plugin         string              `json:"plugin"`
	Attempt        int                 `json:"attempt"`
	StartedAt      time.Time           `json:"startedAt,omitzero"`
	DurationMicros int64               `json:"durationMicros" doc:"In microseconds"`
	State          pluginsdk.CallState `json:"state" doc:"answered, denied (by a gate), refused (a command, by the plugin that it is for), failed, passed_over (it was not asked), waiting (it has not answered yet, and the run waits for it)"`
	Error          string              `json:"error,omitempty" doc:"Why it was denied, refused, failed or passed over: the first 200 bytes"`
	Omitted        int                 `json:"omitted,omitempty" doc:"Of the last one, when it says nothing else: how many calls came after those that are kept"`
}

// Result is how the agent's turn ended.
type Result struct {
	Text             string             `json:"text"`
	Model            string             `json:"model,omitempty"`
	DurationMS       int64              `json:"durationMs"`
	Turns            int                `json:"turns"`
	StructuredOutput json.RawMessage    `json:"structuredOutput,omitempty"`
	Failure          *pluginsdk.Failure `json:"failure,omitempty"`

	Account    string                 `json:"account,omitempty"`
	Notional   bool                   `json:"notional,omitempty" doc:"This turn was on a plan: nobody is billed what it has cost"`
	CostUnsure bool                   `json:"costUnsure,omitempty" doc:"What this turn has cost may be wrong, as of one that was killed"`
	Models     []pluginsdk.ModelUsage `json:"models,omitempty" nullable:"false" doc:"What each model had, when more than one has answered"`
}

type runOutput struct {
	Body Run
}

// RunsPage says which runs are listed. It is exported because huma passes over
// embedded structs that are not.
type RunsPage struct {
	After  string               `query:"after" maxLength:"100" doc:"Id of the last run of the page before"`
	Limit  int                  `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page. A page may be shorter although more follow: the end is an empty page"`
	States []pluginsdk.RunState `query:"state,explode" enum:"queued,running,waiting,succeeded,failed,cancelled,merged" doc:"Only these states"`
	IDs    []string             `query:"id,explode" maxItems:"100" doc:"Only these; those that are not there are left out"`
	Cause  string               `query:"cause" maxLength:"100" doc:"Only those that this run caused"`
	Newest bool                 `query:"newest" doc:"The newest first"`
}

func (p RunsPage) query(threadID string) pluginsdk.RunQuery {
	return pluginsdk.RunQuery{
		IDs: p.IDs, ThreadID: threadID, States: p.States, CauseRunID: p.Cause, Newest: p.Newest, After: p.After, Limit: p.Limit,
	}
}

type runsInput struct {
	Thread string `query:"thread" maxLength:"100" doc:"Only those of this thread"`
	RunsPage
}

type threadRunsInput struct {
	ID string `path:"id" maxLength:"100"`
	RunsPage
}

type cancelInput struct {
	ID   string         `path:"id" maxLength:"100"`
	Body *CancelRequest // may be absent
}

type retryInput struct {
	ID   string        `path:"id" maxLength:"100"`
	Body *RetryRequest // may be absent
}

// RetryRequest says who wants a run's message handed in once more.
type RetryRequest struct {
	Author string `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the new message's metadata says so. With a token, its name in place of this"`
}

// CancelRequest says who wants a run cancelled.
type CancelRequest struct {
	Author string `json:"author,omitempty" maxLength:"200" doc:"Who wants it; the run says so. With a token, its name in place of this"`
}

type resumeInput struct {
	ID   string         `path:"id" maxLength:"100"`
	Body *ResumeRequest // may be absent
}

// ResumeRequest says how a parked run goes on now.
type ResumeRequest struct {
	Model    string `json:"model,omitempty" maxLength:"100" doc:"With this model; with the one that it has when absent"`
	Fallback bool   `json:"fallback,omitempty" doc:"With the fallback of the account that it is parked for"`
	Author   string `json:"author,omitempty" maxLength:"200" doc:"Who wants it. With a token, its name in place of this"`
}

type runsOutput struct {
	Body struct {
		Runs []Run `json:"runs" nullable:"false"`
	}
}

func (h *handlers) registerRuns(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-runs", "/api/runs", "Runs")), h.listRuns)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-thread-runs", "/api/threads/{id}/runs", "Runs of a thread")), h.listThreadRuns)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-run", "/api/runs/{id}", "A run")), h.getRun)
	huma.Register(api, needs(pluginsdk.ScopeChat, post("cancel-run", "/api/runs/{id}/cancel", "End a run that waits, or interrupt one that executes", http.StatusOK)), h.cancelRun)
	huma.Register(api, needs(pluginsdk.ScopeChat, post("resume-run", "/api/runs/{id}/resume", "Have a run that waits for a plan go on now", http.StatusOK)), h.resumeRun)
	huma.Register(api, needs(pluginsdk.ScopeChat, post("retry-run", "/api/runs/{id}/retry", "Hand the message of a run that failed or was cancelled in once more", http.StatusAccepted)), h.retryRun)
}

func (h *handlers) listRuns(ctx context.Context, input *runsInput) (*runsOutput, error) {
	return h.runs(ctx, "list-runs", input.query(input.Thread))
}

func (h *handlers) listThreadRuns(ctx context.Context, input *threadRunsInput) (*runsOutput, error) {
	output, err := h.runs(ctx, "list-thread-runs", input.query(input.ID))
	if err == nil && len(output.Body.Runs) == 0 {
		err = h.mustExist(ctx, "list-thread-runs", input.ID)
	}
	if err != nil {
		return nil, err
	}
	return output, nil
}

func (h *handlers) runs(ctx context.Context, operation string, query pluginsdk.RunQuery) (*runsOutput, error) {
	answer, err := h.host.Runs.List(ctx, &pluginsdk.ListRunsRequest{Query: query})
	if err != nil {
		return nil, h.fail(operation, err)
	}
	output := &runsOutput{}
	output.Body.Runs = make([]Run, 0, len(answer.Runs))
	for _, run := range answer.Runs {
		output.Body.Runs = append(output.Body.Runs, summary(run))
	}
	return output, nil
}

func (h *handlers) getRun(ctx context.Context, input *idInput) (*runOutput, error) {
	answer, err := h.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("get-run", err)
	}
	return &runOutput{Body: whole(answer.Run)}, nil
}

func (h *handlers) cancelRun(ctx context.Context, input *cancelInput) (*runOutput, error) {
	var named string
	if input.Body != nil {
		named = input.Body.Author
	}
	request := &pluginsdk.CancelRunRequest{ID: input.ID, Author: cmp.Or(author(ctx, named), somebody)}
	answer, err := h.host.Runs.Cancel(ctx, request)
	if err != nil {
		return nil, h.fail("cancel-run", err)
	}
	return &runOutput{Body: whole(answer.Run)}, nil
}

func (h *handlers) resumeRun(ctx context.Context, input *resumeInput) (*runOutput, error) {
	var how ResumeRequest
	if input.Body != nil {
		how = *input.Body
	}
	request := &pluginsdk.ResumeRunRequest{
		RunID: input.ID, Model: how.Model, Fallback: how.Fallback, Author: cmp.Or(author(ctx, how.Author), somebody), Scope: access.From(ctx).Scope(),
	}
	if err := admits(ctx, pluginsdk.ScopeApprove, field{"model", how.Model != ""}, field{"fallback", how.Fallback}); err != nil {
		return nil, err
	}
	answer, err := h.host.Runs.Resume(ctx, request)
	if err != nil {
		return nil, h.fail("resume-run", err)
	}
	return &runOutput{Body: whole(answer.Run)}, nil
}

// retryRun answers once the new message and its run are durable, with their
// ids; repeated, with the same ones.
func (h *handlers) retryRun(ctx context.Context, input *retryInput) (*chatOutput, error) {
	var named string
	if input.Body != nil {
		named = input.Body.Author
	}
	request := &pluginsdk.RetryRunRequest{ID: input.ID, Author: cmp.Or(author(ctx, named), somebody), Scope: access.From(ctx).Scope()}
	answer, err := h.host.Runs.Retry(ctx, request)
	if err != nil {
		return nil, h.fail("retry-run", err)
	}
	return &chatOutput{Body: answer.Accepted}, nil
}

// summary is a run without what can be long.
func summary(run pluginsdk.Run) Run {
	return Run{
		ID: run.ID, ThreadID: run.ThreadID, MessageID: run.MessageID,
		Kind: run.Kind, State: run.State, Final: run.State.Final(),
		MergedInto: run.MergedInto, Absorbed: run.Absorbed, Failures: run.Failures,
		CauseRunID: run.CauseRunID, Depth: run.Depth, Attempt: run.Attempt, NextAttemptAt: run.NextAttemptAt,
		TraceID: run.TraceID, SessionID: run.SessionID, Error: run.Error, Usage: run.Usage,
		CostUSD: run.CostUSD, NotionalUSD: run.NotionalUSD, CostUnsure: run.CostUnsure,
		Account: run.Account, Parked: run.Parked, Beside: run.Beside, Override: run.Override,
		QueuedAt: run.QueuedAt, StartedAt: run.StartedAt, FinishedAt: run.FinishedAt,
		Steps: run.Steps, Outcomes: run.Outcomes,
	}
}

func whole(run pluginsdk.Run) Run {
	view := summary(run)
	view.Events = run.Events
	for _, call := range run.Hooks {
		view.Hooks = append(view.Hooks, HookCall{
			Hook: string(call.Hook), Plugin: call.Plugin, Attempt: call.Attempt, StartedAt: call.StartedAt,
			DurationMicros: call.Duration.Microseconds(), State: call.State, Error: call.Error, Omitted: call.Omitted,
		})
	}
	if result := run.Result; result != nil {
		view.Result = &Result{
			Text: result.Text, Model: result.Model, DurationMS: result.Duration.Milliseconds(),
			Turns: result.Turns, StructuredOutput: result.StructuredOutput, Failure: result.Failure,
			Account: result.Account, Notional: result.Notional, CostUnsure: result.CostUnsure, Models: result.Models,
		}
	}
	return view
}
