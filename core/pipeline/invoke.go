package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// capTurn sets what the agent may still come to: the lowest cap that the gate or the
// request have set is the run's, so what its attempts before have cost is taken off. When
// nothing is left, the agent is not asked. A run of a task may come to no more than the
// task and those above it have left, which its attempts before have been taken off already.
func (p *Pipeline) capTurn(ctx context.Context, t *trip) error {
	if err := t.capRun(); err != nil || t.on.Origin.TaskID == "" {
		return err
	}
	least, err := p.store.TaskCap(ctx, t.on.Origin.TaskID)
	switch {
	case err != nil:
		return storeError("read what the task may cost", err)
	case least.TaskID != "" && least.Left() == 0:
		return &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: fmt.Sprintf(
			"task %s, which pays for it, has cost $%.2f and may cost $%.2f in all", least.TaskID, least.CostUSD, least.CapUSD)}
	}
	t.capLeft = lower(t.capLeft, least.Left())
	return nil
}

func (t *trip) capRun() error {
	limit := t.costCap
	if t.run.Turn != nil {
		limit = lower(limit, t.run.Turn.CostCapUSD)
	}
	if t.capLeft = 0; limit == 0 {
		return nil
	}
	if t.capLeft = limit - t.run.CostUSD; t.capLeft > 0 {
		return nil
	}
	return &pluginsdk.Failure{Kind: pluginsdk.FailureBudget, Message: fmt.Sprintf(
		"the attempts before have cost $%.2f, and the turn may cost $%.2f in all", t.run.CostUSD, limit)}
}

// lower is the lower of two caps, of which 0 is none.
func lower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// commitIntent is step 5a.
func (p *Pipeline) commitIntent(ctx context.Context, t *trip) error {
	if err := p.startAnswered(t); err != nil {
		return err
	}
	p.config.Fault("commitIntent", t.run.ID)
	if !t.resume {
		t.sessionID = uuid.NewString()
	}
	hash := sha256.Sum256([]byte(t.prompt))
	effects := t.pending.waiting()
	err := p.store.SaveIntent(ctx, t.fence, ledger.Intent{
		RunID: t.run.ID, SessionID: t.sessionID, PromptHash: hex.EncodeToString(hash[:]), Steps: t.steps, Effects: effects,
		Reservations: t.reserved,
	})
	var over *ledger.OverLimit
	if errors.As(err, &over) {
		return &hooks.Denied{Plugin: over.Reservation.Plugin, Reason: over.Error()}
	}
	if err != nil {
		return storeError("commit the intent", err)
	}
	t.pending.stored(len(effects))
	return nil
}

// invoke is step 5.
func (p *Pipeline) invoke(ctx context.Context, t *trip) {
	p.config.Fault("invoke", t.run.ID)
	request := p.agentRequest(t)
	p.step(t, "invoking", request.Model)
	t.invokedAt = p.config.Now()
	defer t.turnOver()
	defer p.tools.Begin(t.on.Origin)()
	progress := p.newProgress(t)
	defer progress.stop()
	shown := &stream{publish: func(event pluginsdk.StreamEvent) {
		p.events.Publish(pluginsdk.EventPipelineStream, t.thread.ID, pluginsdk.StreamPayload{
			ThreadID: t.thread.ID, RunID: t.run.ID, Event: event,
		})
	}}
	defer shown.end()
	result := p.agent.Invoke(ctx, request, func(event pluginsdk.StreamEvent) {
		p.config.Fault("invoking", t.run.ID)
		p.turnRuns(ctx, t)
		event = bounded(event)
		if t.keep(event) {
			progress.more(t.events)
		}
		shown.add(event)
	})
	t.result = &result
}

// agentRequest is what the agent is asked: what the thread says, and before it what a
// turn's request does.
func (p *Pipeline) agentRequest(t *trip) ledger.AgentRequest {
	request := ledger.AgentRequest{
		RunID: t.run.ID, ThreadID: t.thread.ID, SessionID: t.sessionID, Resume: t.resume, Prompt: t.prompt,
		Purpose: t.purpose(), Model: cmp.Or(t.thread.Model, p.config.Model), Effort: t.thread.Effort,
		PermissionMode: t.thread.PermissionMode, Cwd: t.thread.Cwd, AllowedTools: t.tools, CostCapUSD: t.capLeft,
	}
	asked := t.run.Turn
	if asked == nil {
		return request
	}
	request.Fresh = t.fence.Beside()
	request.Model = cmp.Or(asked.Model, request.Model)
	request.Effort = cmp.Or(asked.Effort, request.Effort)
	request.PermissionMode = cmp.Or(asked.PermissionMode, request.PermissionMode)
	request.Cwd = cmp.Or(asked.Cwd, request.Cwd)
	request.AppendSystemPrompt, request.JSONSchema = asked.SystemPrompt, asked.JSONSchema
	request.AllowedTools, request.DisallowedTools = slices.Concat(t.tools, asked.AllowedTools), asked.DisallowedTools
	request.Timeout = asked.Timeout
	return request
}

// purposeOfMessages is what the turns are for in which the agent answers messages.
const purposeOfMessages = "pipeline"

// purpose is what the run's turn is for: what its usage is counted under.
func (t *trip) purpose() string {
	if t.run.Kind == pluginsdk.RunTurn {
		return cmp.Or(t.run.Purpose, "turn")
	}
	return purposeOfMessages
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
	if t.fence.Beside() { // an attempt that was released has the number of the next one
		claim = t.run.ID + ":" + t.sessionID
	}
	effects := t.pending.waiting()
	commit := ledger.ResultCommit{
		RunID: t.run.ID, Key: claim, Step: t.nextStep(failure), Result: *t.result, Events: t.events, Steps: t.steps,
		AgentRun: ledger.AgentRun{
			RunID: t.run.ID, TaskID: t.on.Origin.TaskID, ThreadID: t.thread.ID, Purpose: t.purpose(), Model: t.result.Model,
			Usage: t.result.Usage, CostUSD: t.result.CostUSD, Duration: t.result.Duration,
			Success: failure == nil, StartedAt: t.invokedAt,
		},
		SessionID: t.keptSession(), RunSessionID: t.sessionID, SeenMessageID: t.thread.SeenMessageID,
		Absorbed: t.covered(),
		Rows:     deniedRows(t), Effects: effects,
	}
	if failure != nil {
		commit.AgentRun.Error = failure.Message
	} else {
		commit.SeenMessageID = t.seen
		if t.run.Kind != pluginsdk.RunTurn {
			commit.Commands = p.parseCommands(t, t.result.Text)
			t.run.Commands = commit.Commands
		}
		// Commands are on disk before one is carried out: what it has done must not be
		// forgotten by a power cut.
		commit.Soon = len(commit.Commands) == 0
	}
	// The turn has been paid for: its record is written even when the daemon
	// is stopping or a person gave up on it.
	err := p.insist(t, "commit the result", func(ctx context.Context) error {
		return p.store.SaveResult(ctx, t.fence, commit)
	})
	if err != nil {
		return err
	}
	t.pending.stored(len(effects))
	p.figures.turned(t)
	if failure != nil {
		return failure
	}
	t.reply, t.answered = t.result.Text, true
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
func deniedRows(t *trip) []ledger.Row {
	if t.run.Kind == pluginsdk.RunTurn {
		return nil // who has asked reads it in the result
	}
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
	return []ledger.Row{t.row(fmt.Sprintf("denied:%d", t.fence.Epoch), pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "core", Metadata: metadata,
		Content: "The agent was not allowed to use: " + strings.Join(tools, ", ") +
			". Allow it with HARNESS_ALLOWED_TOOLS if it should be.",
	})}
}
