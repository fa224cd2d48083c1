package pipeline

import (
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

// callName tells the calls of a hook apart that is fired for each message that a
// run answers.
func (t *trip) callName(hook pluginsdk.Hook, message pluginsdk.Message) string {
	if message.ID == t.message.ID {
		return string(hook)
	}
	return fmt.Sprintf("%s:%d", hook, message.ID)
}

// onMessage is step 2.
func (p *Pipeline) onMessage(ctx context.Context, t *trip) error {
	p.config.Fault("onMessage", t.run.ID)
	p.step(t, "onMessage", "")
	if err := p.incoming(ctx, t, &t.on, t.message); err != nil {
		return err
	}
	for _, further := range t.absorbed {
		if err := p.incoming(ctx, t, &t.on, further); err != nil {
			return err
		}
	}
	return nil
}

// incoming tells of one message that the run answers, or that was steered into
// its turn: beside it.
func (p *Pipeline) incoming(ctx context.Context, t *trip, on *hooks.Occasion, message pluginsdk.Message) error {
	return hooks.Notify(ctx, p.hooks, on, hooks.Question[pluginsdk.OnMessageRequest, pluginsdk.OnMessageResponse]{
		Hook: pluginsdk.HookMessage, Name: t.callName(pluginsdk.HookMessage, message), Ask: hooks.Process.OnMessage,
		Request: func(call pluginsdk.Call, _ *pluginsdk.PluginInfo) *pluginsdk.OnMessageRequest {
			return &pluginsdk.OnMessageRequest{Call: call, Thread: t.thread.Thread, Message: message, Steered: on.Beside}
		},
	}, func(plugin string, answer *pluginsdk.OnMessageResponse) { p.collect(t, plugin, answer.Effects) })
}

// beforeInvoke is step 4.
func (p *Pipeline) beforeInvoke(ctx context.Context, t *trip) (err error) {
	p.config.Fault("beforeInvoke", t.run.ID)
	p.step(t, "onBeforeInvoke", "")
	name := string(pluginsdk.HookBeforeInvoke)
	if t.sessionDropped {
		name += ":new" // what is asked now is another prompt, which needs the history
	}
	t.prompt, err = hooks.Chain(ctx, p.hooks, &t.on, t.prompt,
		func(prompt string) hooks.Question[pluginsdk.OnBeforeInvokeRequest, pluginsdk.OnBeforeInvokeResponse] {
			return hooks.Question[pluginsdk.OnBeforeInvokeRequest, pluginsdk.OnBeforeInvokeResponse]{
				Hook: pluginsdk.HookBeforeInvoke, Name: name, Ask: hooks.Process.OnBeforeInvoke,
				Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnBeforeInvokeRequest {
					return &pluginsdk.OnBeforeInvokeRequest{
						Call: call, Thread: t.thread.Thread, Message: wanted(plugin, pluginsdk.HookBeforeInvoke, t.message), Prompt: prompt,
					}
				},
			}
		}, func(plugin string, answer *pluginsdk.OnBeforeInvokeResponse, prompt string) string {
			p.collect(t, plugin, answer.Effects)
			if answer.Prompt != nil {
				prompt = p.boundPrompt(t, *answer.Prompt, plugin)
			}
			return prompt
		})
	return err
}

// commitIntent is step 5a.
func (p *Pipeline) commitIntent(ctx context.Context, t *trip) error {
	if err := p.startTold(t); err != nil {
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
	told := &stream{publish: func(event pluginsdk.StreamEvent) {
		p.events.Publish(pluginsdk.EventPipelineStream, t.thread.ID, pluginsdk.StreamPayload{
			ThreadID: t.thread.ID, RunID: t.run.ID, Event: event,
		})
	}}
	defer told.end()
	result := p.agent.Invoke(ctx, request, func(event pluginsdk.StreamEvent) {
		p.config.Fault("invoking", t.run.ID)
		p.turnRuns(ctx, t)
		event = bounded(event)
		if t.keep(event) {
			progress.more(t.events)
		}
		told.add(event)
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
		// What commands do in the world must not outlive them.
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

// afterInvoke is step 6.
func (p *Pipeline) afterInvoke(ctx context.Context, t *trip) error {
	p.config.Fault("afterInvoke", t.run.ID)
	p.stepOnce(t, "onAfterInvoke", fmt.Sprintf("%d tokens in, %d out", t.result.Usage.InputTokens, t.result.Usage.OutputTokens))
	return hooks.Notify(ctx, p.hooks, &t.on, hooks.Question[pluginsdk.OnAfterInvokeRequest, pluginsdk.OnAfterInvokeResponse]{
		Hook: pluginsdk.HookAfterInvoke, Ask: hooks.Process.OnAfterInvoke,
		Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnAfterInvokeRequest {
			result := *t.result
			if !plugin.Manifest.Wants(pluginsdk.HookAfterInvoke, pluginsdk.PartResult) {
				result.Text, result.StructuredOutput = "", nil
			}
			return &pluginsdk.OnAfterInvokeRequest{
				Call: call, Thread: t.thread.Thread, Message: wanted(plugin, pluginsdk.HookAfterInvoke, t.message), Result: result,
			}
		},
	}, func(plugin string, answer *pluginsdk.OnAfterInvokeResponse) { p.collect(t, plugin, answer.Effects) })
}

// beforeReply is step 9. Nothing is asked when there is nothing to say.
func (p *Pipeline) beforeReply(ctx context.Context, t *trip) (err error) {
	p.config.Fault("beforeReply", t.run.ID)
	if t.reply == "" {
		return nil
	}
	t.reply, err = hooks.Chain(ctx, p.hooks, &t.on, t.reply,
		func(text string) hooks.Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse] {
			return hooks.Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
				Hook: pluginsdk.HookBeforeReply, Ask: hooks.Process.OnBeforeReply,
				Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnBeforeReplyRequest {
					return &pluginsdk.OnBeforeReplyRequest{
						Call: call, Thread: t.thread.Thread, Message: wanted(plugin, pluginsdk.HookBeforeReply, t.message), Text: text,
					}
				},
			}
		}, func(plugin string, answer *pluginsdk.OnBeforeReplyResponse, text string) string {
			p.collect(t, plugin, answer.Effects)
			if answer.Text == nil {
				return text
			}
			if *answer.Text == "" && text != "" {
				t.emptied = plugin
			}
			return p.boundWords(*answer.Text, maxReply, plugin, pluginsdk.HookBeforeReply)
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
