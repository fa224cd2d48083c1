package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// beforeRun is step 1's gate, asked about every message that the run answers.
func (p *Pipeline) beforeRun(ctx context.Context, t *trip) error {
	p.config.Fault("beforeRun", t.run.ID)
	if err := p.mayRun(ctx, t, t.message); err != nil {
		return err
	}
	for _, further := range t.absorbed {
		if err := p.mayRun(ctx, t, further); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pipeline) mayRun(ctx context.Context, t *trip, message pluginsdk.Message) error {
	verdict, err := p.gate(ctx, t, p.hookOf(pluginsdk.HookBeforeRun, p.config.Deadlines.Gate, t, message),
		func(ctx context.Context, hooks Hooks, call pluginsdk.Call) (pluginsdk.Verdict, error) {
			return hooks.OnBeforeRun(ctx, pluginsdk.RunStart{Call: call, Thread: t.thread, Message: message, Run: t.run})
		})
	if err != nil {
		return err
	}
	if !verdict.Allow {
		return &deniedError{reason: verdict.Reason}
	}
	return nil
}

// hookOf is a hook that is fired for each message that a run answers.
func (p *Pipeline) hookOf(hook pluginsdk.Hook, deadline time.Duration, t *trip, message pluginsdk.Message) invocation {
	h := p.hook(hook, deadline)
	if message.ID != t.message.ID {
		h.call = fmt.Sprintf("%s:%d", h.call, message.ID)
	}
	return h
}

// deniedError is a gate's word that a run may not happen.
type deniedError struct{ reason string }

func (e *deniedError) Error() string { return e.reason }

func (p *Pipeline) pipelineStart(ctx context.Context, t *trip) error {
	p.config.Fault("pipelineStart", t.run.ID)
	t.started = true
	p.events.Publish(pluginsdk.EventPipelineStart, t.thread.ID, pluginsdk.RunRef{
		ThreadID: t.thread.ID, RunID: t.run.ID, MessageID: t.message.ID, Attempt: t.run.Attempt,
	})
	p.announceMerged(t, t.absorbed)
	return p.notify(ctx, t, p.hook(pluginsdk.HookPipelineStart, p.config.Deadlines.Notify),
		func(ctx context.Context, hooks Hooks, call pluginsdk.Call) error {
			return hooks.OnPipelineStart(ctx, pluginsdk.PipelineStart{Call: call, Thread: t.thread, Message: t.message})
		})
}

// onMessage is step 2.
func (p *Pipeline) onMessage(ctx context.Context, t *trip) error {
	p.config.Fault("onMessage", t.run.ID)
	p.step(t, "onMessage", "")
	if err := p.incoming(ctx, t, t.message); err != nil {
		return err
	}
	for _, further := range t.absorbed {
		if err := p.incoming(ctx, t, further); err != nil {
			return err
		}
	}
	return nil
}

// incoming tells of one message that the run answers.
func (p *Pipeline) incoming(ctx context.Context, t *trip, message pluginsdk.Message) error {
	h := p.hookOf(pluginsdk.HookMessage, p.config.Deadlines.Notify, t, message)
	return p.notify(ctx, t, h, func(ctx context.Context, hooks Hooks, call pluginsdk.Call) error {
		return hooks.OnMessage(ctx, pluginsdk.IncomingMessage{Call: call, Thread: t.thread, Message: message})
	})
}

// beforeInvoke is step 4.
func (p *Pipeline) beforeInvoke(ctx context.Context, t *trip) (err error) {
	p.config.Fault("beforeInvoke", t.run.ID)
	p.step(t, "onBeforeInvoke", "")
	t.prompt, err = p.chain(ctx, t, p.hook(pluginsdk.HookBeforeInvoke, p.config.Deadlines.Chain), t.prompt,
		func(ctx context.Context, hooks Hooks, call pluginsdk.Call, text string) (string, error) {
			return hooks.OnBeforeInvoke(ctx, pluginsdk.Prompt{Call: call, Thread: t.thread, Message: t.message, Text: text})
		})
	return err
}

// commitIntent is step 5a.
func (p *Pipeline) commitIntent(ctx context.Context, t *trip) error {
	p.config.Fault("commitIntent", t.run.ID)
	if !t.resume {
		t.sessionID = uuid.NewString()
	}
	hash := sha256.Sum256([]byte(t.prompt))
	err := p.store.SaveIntent(ctx, t.fence, ledger.Intent{
		RunID: t.run.ID, SessionID: t.sessionID, PromptHash: hex.EncodeToString(hash[:]), Steps: t.steps,
	})
	if err != nil {
		return storeError("commit the intent", err)
	}
	return nil
}

// purpose is what the pipeline's turns of the agent are for.
const purpose = "pipeline"

// invoke is step 5.
func (p *Pipeline) invoke(ctx context.Context, t *trip) {
	p.config.Fault("invoke", t.run.ID)
	model := t.thread.Model
	if model == "" {
		model = p.config.Model
	}
	p.step(t, "invoking", model)
	t.invokedAt = p.config.Now()
	defer t.turnOver()
	defer p.tools.Begin(purpose, t.origin())()
	result := p.agent.Invoke(ctx, pluginsdk.AgentRequest{
		ThreadID: t.thread.ID, SessionID: t.sessionID, Resume: t.resume, Prompt: t.prompt,
		Purpose: purpose, Model: model, Effort: t.thread.Effort,
		PermissionMode: t.thread.PermissionMode, Cwd: t.thread.Cwd,
	}, func(event pluginsdk.StreamEvent) {
		p.config.Fault("invoking", t.run.ID)
		p.turnRuns(ctx, t)
		event = bounded(event)
		t.keep(event)
		p.events.Publish(pluginsdk.EventPipelineStream, t.thread.ID, pluginsdk.StreamPayload{
			ThreadID: t.thread.ID, RunID: t.run.ID, Event: event,
		})
	})
	t.result = &result
}

// commitResult is step 5b. A turn without an answer is recorded too, and
// becomes the error that it is.
func (p *Pipeline) commitResult(t *trip) error {
	p.config.Fault("commitResult", t.run.ID)
	failure := t.result.Failure
	if failure != nil && failure.Kind == pluginsdk.FailureUnknownSession {
		return failure
	}
	claim := fmt.Sprintf("%s:%d", t.run.ID, t.fence.Epoch)
	commit := ledger.ResultCommit{
		RunID: t.run.ID, Key: claim, Step: t.nextStep(failure), Result: *t.result, Events: t.events, Steps: t.steps,
		AgentRun: pluginsdk.AgentRun{
			RunID: t.run.ID, ThreadID: t.thread.ID, Purpose: purpose, Model: t.result.Model,
			Usage: t.result.Usage, CostUSD: t.result.CostUSD, Duration: t.result.Duration,
			Success: failure == nil, StartedAt: t.invokedAt,
		},
		SessionID: t.keptSession(), RunSessionID: t.sessionID, SeenMessageID: t.thread.SeenMessageID,
		Absorbed: t.covered(),
		Rows:     deniedRows(t), RowsKey: fmt.Sprintf("%s:denied:%d", t.run.ID, t.fence.Epoch),
	}
	if failure != nil {
		commit.AgentRun.Error = failure.Message
	} else {
		commit.SeenMessageID = t.seen
	}
	// The turn has been paid for: its record is written even when the daemon
	// is stopping or a person gave up on it.
	err := p.insist(t, "commit the result", func(ctx context.Context) error {
		return p.store.SaveResult(ctx, t.fence, commit)
	})
	if err != nil {
		return err
	}
	if failure != nil {
		return failure
	}
	t.reply = t.result.Text
	return nil
}

// nextStep says where a run stands after a turn. An agent that has used a tool,
// or whose process ended in mid-turn, may have acted: the run stays at
// StepInvoking, and the next attempt resumes the session and says so.
func (t *trip) nextStep(failure *pluginsdk.Failure) pluginsdk.RunStep {
	if failure == nil {
		return pluginsdk.StepInvoked
	}
	if slices.ContainsFunc(t.events, func(e pluginsdk.StreamEvent) bool { return e.Type == pluginsdk.StreamToolCall }) {
		return pluginsdk.StepInvoking
	}
	switch failure.Kind {
	case pluginsdk.FailureCrashed, pluginsdk.FailureSilent, pluginsdk.FailureTimeout, pluginsdk.FailureInterrupted:
		return pluginsdk.StepInvoking
	case pluginsdk.FailureAPI, pluginsdk.FailureMissing, pluginsdk.FailureBudget,
		pluginsdk.FailureUnknownSession, pluginsdk.FailureOther:
	}
	return pluginsdk.StepAccepted
}

// keptSession returns the session that the thread has after the turn.
func (t *trip) keptSession() string {
	if t.result.Failure == nil || t.result.Failure.Kind == pluginsdk.FailureInterrupted {
		if t.result.SessionID != "" {
			return t.result.SessionID
		}
	}
	if t.result.Failure == nil {
		return t.sessionID
	}
	return t.thread.SessionID
}

// deniedRows tells the person, in one status row, what the agent was not
// allowed to do.
func deniedRows(t *trip) []pluginsdk.NewMessage {
	var tools []string
	for _, event := range t.events {
		if event.Type == pluginsdk.StreamDenied {
			tools = append(tools, event.ToolName)
		}
	}
	if len(tools) == 0 {
		return nil
	}
	metadata, _ := json.Marshal(map[string]any{"event": "permission_denied", "tools": tools}) //nolint:errchkjson // strings
	return []pluginsdk.NewMessage{{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core", RunID: t.run.ID, Metadata: metadata,
		Content: "The agent was not allowed to use: " + strings.Join(tools, ", ") +
			". Allow it with HARNESS_ALLOWED_TOOLS if it should be.",
	}}
}

// afterInvoke is step 6.
func (p *Pipeline) afterInvoke(ctx context.Context, t *trip) error {
	p.config.Fault("afterInvoke", t.run.ID)
	p.stepOnce(t, "onAfterInvoke", fmt.Sprintf("%d tokens in, %d out", t.result.Usage.InputTokens, t.result.Usage.OutputTokens))
	return p.notify(ctx, t, p.hook(pluginsdk.HookAfterInvoke, p.config.Deadlines.Notify),
		func(ctx context.Context, hooks Hooks, call pluginsdk.Call) error {
			return hooks.OnAfterInvoke(ctx, pluginsdk.Invocation{Call: call, Thread: t.thread, Message: t.message, Result: *t.result})
		})
}

// beforeReply is step 9. Nothing is asked when there is nothing to say.
func (p *Pipeline) beforeReply(ctx context.Context, t *trip) (err error) {
	p.config.Fault("beforeReply", t.run.ID)
	if t.reply == "" {
		return nil
	}
	t.reply, err = p.chain(ctx, t, p.hook(pluginsdk.HookBeforeReply, p.config.Deadlines.Chain), t.reply,
		func(ctx context.Context, hooks Hooks, call pluginsdk.Call, text string) (string, error) {
			return hooks.OnBeforeReply(ctx, pluginsdk.Reply{Call: call, Thread: t.thread, Message: t.message, Text: text})
		})
	return err
}

// step records that the run came past a step, and broadcasts it.
func (p *Pipeline) step(t *trip, name, detail string) {
	step := pluginsdk.PipelineStep{Step: name, Detail: detail, Timestamp: p.config.Now()}
	t.steps = append(t.steps, step)
	p.events.Publish(pluginsdk.EventPipelineStep, t.thread.ID, pluginsdk.StepEvent{
		ThreadID: t.thread.ID, RunID: t.run.ID, Step: name, Detail: detail, Timestamp: step.Timestamp,
	})
}

// stepOnce is step for a run that may have recorded it before it died.
func (p *Pipeline) stepOnce(t *trip, name, detail string) {
	for _, step := range t.steps {
		if step.Step == name {
			return
		}
	}
	p.step(t, name, detail)
}
