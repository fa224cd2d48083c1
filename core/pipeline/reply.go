package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

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
				Call: call, Thread: t.labelled(), Message: wanted(plugin, pluginsdk.HookAfterInvoke, t.message), Result: result,
			}
		},
	}, func(plugin string, answer *pluginsdk.OnAfterInvokeResponse) { p.collect(t, plugin, answer.Effects) })
}

// beforeReply is step 9. It asks nothing when there is no reply.
func (p *Pipeline) beforeReply(ctx context.Context, t *trip) (err error) {
	p.config.Fault("beforeReply", t.run.ID)
	if t.reply == "" {
		return nil
	}
	t.reply, err = hooks.Chain(ctx, p.hooks, &t.on, t.reply, hooks.Link[string, pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
		Question: func(text string) hooks.Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse] {
			return hooks.Question[pluginsdk.OnBeforeReplyRequest, pluginsdk.OnBeforeReplyResponse]{
				Hook: pluginsdk.HookBeforeReply, Ask: hooks.Process.OnBeforeReply,
				Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnBeforeReplyRequest {
					return &pluginsdk.OnBeforeReplyRequest{
						Call: call, Thread: t.labelled(), Message: wanted(plugin, pluginsdk.HookBeforeReply, t.message), Text: text,
					}
				},
			}
		},
		Next: func(plugin *pluginsdk.PluginInfo, answer *pluginsdk.OnBeforeReplyResponse, text string) string {
			p.collect(t, plugin.Name, answer.Effects)
			if answer.Text == nil {
				return text
			}
			if *answer.Text == "" && text != "" {
				t.emptied = plugin.Name
			}
			return p.boundWords(*answer.Text, maxReply, plugin.Name, pluginsdk.HookBeforeReply)
		},
	})
	return err
}

// pipelineComplete is step 10. It comes before the reply is stored, so that thinking and
// tool rows come before the reply in the thread.
func (p *Pipeline) pipelineComplete(ctx context.Context, t *trip, outcome pluginsdk.PipelineOutcome, reason string) error {
	p.config.Fault("pipelineComplete", t.run.ID)
	complete := pluginsdk.OnPipelineCompleteRequest{
		Thread: t.thread.Thread, Outcome: outcome, Error: reason, Duration: p.config.Now().Sub(t.began),
	}
	if t.result != nil {
		complete.Usage = &t.result.Usage
		if !t.costTold {
			complete.CostUSD = t.result.CostUSD
		}
	}
	const hook = pluginsdk.HookPipelineComplete
	return hooks.Notify(ctx, p.hooks, &t.on, hooks.Question[pluginsdk.OnPipelineCompleteRequest, pluginsdk.OnPipelineCompleteResponse]{
		Hook: hook, Ask: hooks.Process.OnPipelineComplete,
		Request: func(call pluginsdk.Call, plugin *pluginsdk.PluginInfo) *pluginsdk.OnPipelineCompleteRequest {
			request := complete
			request.Call, request.Message = call, wanted(plugin, hook, t.message)
			if plugin.Manifest.Wants(hook, pluginsdk.PartSteps) {
				request.Steps = t.steps
			}
			if plugin.Manifest.Wants(hook, pluginsdk.PartEvents) {
				request.Events = t.events
			}
			return &request
		},
	}, func(plugin string, answer *pluginsdk.OnPipelineCompleteResponse) {
		p.collect(t, plugin, answer.Effects)
	})
}

// commitReply is step 11. It returns the id of the last row stored.
func (p *Pipeline) commitReply(t *trip) (int64, error) {
	if err := p.collectFiles(t); err != nil {
		return 0, err
	}
	p.config.Fault("commitReply", t.run.ID)
	reply, err := p.finish(t, "commit the reply", ledger.Finish{
		RunID: t.run.ID, State: pluginsdk.RunSucceeded, Steps: t.steps, Rows: t.replyRows(), Deliver: !t.run.QuietReply(),
	})
	if err == nil {
		p.config.Fault("clearFiles", t.run.ID)
		p.files.Clear(t.thread.ID, t.outbox.Taken)
	}
	return reply, err
}

// finish ends the run in the database, with the pending effects, and returns the id of
// the last row stored.
func (p *Pipeline) finish(t *trip, doing string, end ledger.Finish) (last int64, err error) {
	end.Hooks, end.Effects = t.calls.all(), t.pending.waiting()
	var done ledger.Finished
	err = p.insist(t, doing, func(ctx context.Context) (err error) {
		done, err = p.store.Finish(ctx, t.fence, end)
		return err
	})
	if err != nil {
		return 0, err
	}
	t.pending.stored(len(end.Effects))
	p.figures.over(t, end.State, p.config.Now())
	for _, lane := range done.Lanes {
		p.outbox.Wake(lane.Plugin, lane.Target)
	}
	if n := len(done.MessageIDs); n > 0 {
		last = done.MessageIDs[n-1]
	}
	return last, nil
}

// replyRows returns the rows that people will see: one for each command with an answer,
// then the reply, or a status row when there is none.
func (t *trip) replyRows() []ledger.Row {
	var rows []ledger.Row
	for _, outcome := range t.outcomes {
		if text := t.outcomeText(outcome); text != "" {
			source := outcome.Plugin
			if source == "" {
				source = "core"
			}
			line := t.row(fmt.Sprintf("command:%d", outcome.Index), pluginsdk.NewMessage{
				Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: source, Content: text,
			})
			line.Plugin = outcome.Plugin
			rows = append(rows, line)
		}
	}
	rows = append(rows, t.outboxRows()...)
	switch {
	case t.run.Kind == pluginsdk.RunCommand && len(rows) == 0:
		rows = append(rows, t.row("reply", pluginsdk.NewMessage{
			Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageText, Source: "core", Content: t.message.Content + ": done.",
		}))
	case t.run.Kind == pluginsdk.RunCommand:
	case t.reply != "":
		rows = append(rows, t.row("reply", pluginsdk.NewMessage{
			Role: pluginsdk.RoleAssistant, Kind: pluginsdk.MessageText, Source: "agent",
			Content: t.reply, Model: t.result.Model, Attachments: t.outbox.Attachments,
		}))
	case len(t.outbox.Attachments) > 0:
		files := statusRow("pipeline_files", "The agent has written no reply, and left files.")
		files.Attachments = t.outbox.Attachments
		rows = append(rows, t.row("reply", files))
	case t.emptied != "":
		rows = append(rows, t.row("reply", statusRow("pipeline_emptied", "The agent has answered, and the plugin "+t.emptied+" took the reply out.")))
	default:
		rows = append(rows, t.row("reply", statusRow("pipeline_empty", "There is no reply: the agent wrote nothing to show.")))
	}
	return rows
}

func (t *trip) row(key string, message pluginsdk.NewMessage) ledger.Row {
	return ledger.Row{Key: t.run.ID + ":" + key, Message: message}
}

// outcomeText is what people read of a command. That one was refused is the whole answer to who has typed it; of the
// agent's the command is named.
func (t *trip) outcomeText(outcome pluginsdk.Outcome) string {
	switch {
	case outcome.Refused && t.run.Kind == pluginsdk.RunCommand:
		return outcome.Error
	case outcome.Refused:
		return fmt.Sprintf("The command %s was refused: %s", outcome.Name, outcome.Error)
	case outcome.Error != "" && outcome.Plugin != "":
		return fmt.Sprintf("The command %s failed in the plugin %s: %s", outcome.Name, outcome.Plugin, outcome.Error)
	case outcome.Error != "":
		return fmt.Sprintf("The command %s was refused: %s", outcome.Name, outcome.Error)
	case !outcome.Handled:
		return fmt.Sprintf("Nobody answers the command %q.", outcome.Name)
	}
	return outcome.Reply
}

// deniedRow says that a plugin did not let the run happen, and which one, to who reads the thread and to plugins.
func deniedRow(denied *hooks.Denied) pluginsdk.NewMessage {
	row := statusRow("pipeline_error", "Not run: "+denied.Reason)
	row.Metadata, _ = json.Marshal(map[string]string{"event": "pipeline_error", "denied": denied.Plugin}) //nolint:errchkjson // strings
	return row
}

func statusRow(event, text string) pluginsdk.NewMessage {
	metadata, _ := json.Marshal(map[string]string{"event": event}) //nolint:errchkjson // strings
	return pluginsdk.NewMessage{
		Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageStatus, Source: "pipeline", Content: text, Metadata: metadata,
	}
}

// broadcastComplete is step 12. It comes after the commit, never before.
func (p *Pipeline) broadcastComplete(t *trip, reply int64) {
	p.config.Fault("broadcastComplete", t.run.ID)
	handled := 0
	for _, outcome := range t.outcomes {
		if outcome.Handled {
			handled++
		}
	}
	p.events.Publish(pluginsdk.EventPipelineComplete, t.thread.ID, pluginsdk.CompletePayload{
		ThreadID: t.thread.ID, RunID: t.run.ID, MessageID: reply, CommandsHandled: handled,
		DurationMS: p.config.Now().Sub(t.began).Milliseconds(), Kind: t.run.Kind,
	})
}

// abandon handles an attempt that failed. It ends a run that was denied or cancelled. Any
// other run stays open, and the error's code tells the inbox what to do. ctx ends with
// whatever may end the run; once there is an answer, with the daemon only.
func (p *Pipeline) abandon(ctx context.Context, t *trip, err error) error {
	var denied *hooks.Denied
	var failure *pluginsdk.Failure
	switch cause := context.Cause(ctx); {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeStale:
		return err
	case pluginsdk.CodeOf(cause) == pluginsdk.CodeCancelled:
		p.complete(t, pluginsdk.OutcomeCancelled, cause.Error())
		return p.cancelled(t, cause)
	case cause != nil:
		return err // the daemon stops: as after a crash here
	case errors.As(err, &denied):
		p.complete(t, pluginsdk.OutcomeDenied, denied.Reason)
		return p.close(t, pluginsdk.RunFailed, deniedRow(denied), denied.Reason)
	case errors.As(err, &failure) && failure.Kind == pluginsdk.FailureParked:
		return failure // the attempt has not failed: the run waits
	case errors.As(err, &failure) && (failure.Kind == pluginsdk.FailurePlan || failure.Parked != nil):
		p.complete(t, pluginsdk.OutcomeParked, failure.Message)
		return err // the inbox parks the run
	case errors.As(err, &failure):
		p.complete(t, pluginsdk.OutcomeFailed, failure.Message)
		if failure.Retryable {
			return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w", failure)
		}
		return pluginsdk.Errorf(pluginsdk.CodeInternal, "%w", failure)
	}
	p.complete(t, pluginsdk.OutcomeFailed, err.Error())
	return err
}

// cancelled ends a run that was cancelled.
func (p *Pipeline) cancelled(t *trip, cause error) error {
	return p.close(t, pluginsdk.RunCancelled, statusRow("pipeline_cancelled", sentence(cause)), cause.Error())
}

// sentence returns an error's text as a sentence.
func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// complete asks OnPipelineComplete for an attempt that was started and failed. An error
// of the hook is only logged: the attempt has failed already.
func (p *Pipeline) complete(t *trip, outcome pluginsdk.PipelineOutcome, reason string) {
	if !t.started {
		return
	}
	t.on.Held = nil // an attempt that has failed waits for no grant
	if err := p.pipelineComplete(t.work, t, outcome, reason); err != nil {
		p.config.Log.Warn("end of a failed attempt could not be told", "run", t.run.ID, "err", err)
	}
}

// Fail ends a run that will not be attempted again, and answers the person: as cancelled
// when the cause is CodeCancelled, else as failed. left is what Handle
// returned.
func (p *Pipeline) Fail(ctx context.Context, claim ledger.Claim, cause error, left ledger.Left) error {
	if left.Hooks != nil {
		claim.Run.Hooks = left.Hooks
	}
	t := newTrip(ctx, p.config.Now(), claim)
	defer t.steering.endTurn()
	t.pending.effects = left.Effects
	var err error
	if pluginsdk.CodeOf(cause) == pluginsdk.CodeCancelled {
		err = p.cancelled(t, cause)
	} else {
		text := "I could not answer this message: " + cause.Error() + "\n\nTo try it again: /retry"
		err = p.close(t, pluginsdk.RunFailed, statusRow("pipeline_error", text), cause.Error())
	}
	if err == nil {
		p.questionsOver(t)
	}
	return err
}

func (p *Pipeline) close(t *trip, state pluginsdk.RunState, row pluginsdk.NewMessage, reason string) error {
	end := ledger.Finish{RunID: t.run.ID, State: state, Error: reason, Steps: t.steps}
	if t.run.Kind != pluginsdk.RunTurn { // the plugin that asked for a turn reads it in the run
		end.Rows, end.Deliver = []ledger.Row{t.row("error", row)}, !t.run.QuietNotices()
	}
	id, err := p.finish(t, "end the run", end)
	if err != nil {
		return err
	}
	p.events.Publish(pluginsdk.EventPipelineError, t.thread.ID, pluginsdk.ErrorPayload{
		ThreadID: t.thread.ID, RunID: t.run.ID, MessageID: id, Error: reason, Kind: t.run.Kind,
	})
	return nil
}

// The waits between the tries of insist.
const (
	insistFirst = 50 * time.Millisecond
	insistMax   = 2 * time.Second
)

// insist makes a commit with something that cannot be had again: an answer that was paid
// for, what a command did. While the database does not answer, insist repeats the commit
// until the daemon stops. A repeated commit changes nothing.
func (p *Pipeline) insist(t *trip, doing string, commit func(context.Context) error) error {
	backoff := guard.Backoff{Base: insistFirst, Max: insistMax}
	for failures := 1; ; failures++ {
		err := commit(context.WithoutCancel(t.work))
		if err == nil || pluginsdk.CodeOf(err) != pluginsdk.CodeUnavailable {
			return storeError(doing, err)
		}
		wait := backoff.After(failures)
		p.config.Log.Warn("the database does not answer; trying again", "doing", doing, "err", err, "in", wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-t.work.Done():
			timer.Stop()
			return storeError(doing, err)
		}
	}
}

// storeError adds to an error of the store what the pipeline was doing. Its code decides
// about the run. CodeUnavailable: the database did not answer, and another attempt is
// made. CodeStale: another attempt has the claim, and the run does not end. Any other:
// the database would refuse again, so the run ends, and the agent is not asked once more.
func storeError(doing string, err error) error {
	code := pluginsdk.CodeOf(err)
	switch code { //nolint:exhaustive // the others are kept
	case "", pluginsdk.CodeStale:
		return err
	case pluginsdk.CodeDeadline, pluginsdk.CodeCancelled: // the call was given up: the database has not refused it
		code = pluginsdk.CodeUnavailable
	}
	return pluginsdk.Errorf(code, "%s: %w", doing, err)
}
