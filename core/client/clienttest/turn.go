package clienttest

import (
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Turn is a message that waits for its answer.
type Turn struct {
	Accepted  pluginsdk.Accepted
	Said      string
	Cancelled <-chan struct{} // closed when somebody asks for the run's end

	daemon *Daemon
}

// Begin says that the run has started.
func (t *Turn) Begin() {
	t.change(func(run *client.Run) { run.State = pluginsdk.RunRunning })
	t.publish(pluginsdk.EventPipelineStart, pluginsdk.RunRef{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, MessageID: t.Accepted.MessageID, Attempt: 1,
	})
}

// Step says which step of the pipeline the run is at.
func (t *Turn) Step(step string) {
	t.publish(pluginsdk.EventPipelineStep, pluginsdk.StepEvent{ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Step: step})
}

// Stream says what the agent does.
func (t *Turn) Stream(events ...pluginsdk.StreamEvent) {
	for _, event := range events {
		t.publish(pluginsdk.EventPipelineStream, pluginsdk.StreamPayload{
			ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Event: event,
		})
	}
}

// Deltas streams a text in pieces, without the whole block.
func (t *Turn) Deltas(pieces ...string) {
	offset := 0
	for _, piece := range pieces {
		t.Stream(pluginsdk.StreamEvent{Type: pluginsdk.StreamTextDelta, Text: piece, Offset: offset})
		offset += len(piece)
	}
}

// Row stores a row of the run.
func (t *Turn) Row(role pluginsdk.Role, kind pluginsdk.MessageKind, content, metadata string) int64 {
	return t.last("", role, kind, content, metadata)
}

// last stores a row under a key, as the rows of a run's end are.
func (t *Turn) last(key string, role pluginsdk.Role, kind pluginsdk.MessageKind, content, metadata string) int64 {
	if key != "" {
		key = t.Accepted.RunID + ":" + key
	}
	return t.daemon.AddMessage(pluginsdk.Message{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Key: key, Role: role, Kind: kind,
		Content: content, Metadata: []byte(metadata),
	})
}

// Reply ends the run with the agent's words.
func (t *Turn) Reply(text string) { t.Rewritten(text, text) }

// Rewritten ends the run with what plugins made of the agent's words, and with
// what became of the commands in them. Nothing is sent when sent is empty.
func (t *Turn) Rewritten(written, sent string, commands ...pluginsdk.Outcome) {
	t.change(func(run *client.Run) { run.Result, run.Outcomes = &client.Result{Text: written}, commands })
	var row int64
	if sent == "" {
		row = t.last("reply", pluginsdk.RoleSystem, pluginsdk.MessageStatus, "There is no reply.", `{"event":"pipeline_empty"}`)
	} else {
		row = t.last("reply", pluginsdk.RoleAssistant, pluginsdk.MessageText, sent, "{}")
	}
	t.End(pluginsdk.RunSucceeded, "")
	t.Tell(row)
}

// Answer ends the run with a command's answer.
func (t *Turn) Answer(state pluginsdk.RunState, text string) {
	row := t.Row(pluginsdk.RoleSystem, pluginsdk.MessageText, text, "{}")
	t.End(state, "")
	t.Tell(row)
}

// Refuse ends the run of a typed command that a plugin has refused.
func (t *Turn) Refuse(why string) {
	t.change(func(run *client.Run) {
		run.Kind = pluginsdk.RunCommand
		run.Outcomes = []pluginsdk.Outcome{{Name: "refused", Plugin: "a", Error: why, Refused: true}}
	})
	t.Answer(pluginsdk.RunSucceeded, why)
}

// Fail ends the run with a status row.
func (t *Turn) Fail(state pluginsdk.RunState, text string) {
	event := "pipeline_error"
	if state == pluginsdk.RunCancelled {
		event = "pipeline_cancelled"
	}
	row := t.last("error", pluginsdk.RoleSystem, pluginsdk.MessageStatus, text, `{"event":"`+event+`"}`)
	t.End(state, text)
	t.publish(pluginsdk.EventPipelineError, pluginsdk.ErrorPayload{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, MessageID: row, Error: text,
	})
}

// End ends the run in the database without telling anybody.
func (t *Turn) End(state pluginsdk.RunState, reason string) {
	t.change(func(run *client.Run) { run.State, run.Error = state, reason })
}

// Merge ends the run by handing its message to another, and says so.
func (t *Turn) Merge(into string) {
	t.change(func(run *client.Run) { run.State, run.MergedInto = pluginsdk.RunMerged, into })
	t.publish(pluginsdk.EventPipelineMerged, pluginsdk.MergedPayload{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Into: into,
	})
}

// Tell broadcasts that the run is complete.
func (t *Turn) Tell(row int64) {
	t.publish(pluginsdk.EventPipelineComplete, pluginsdk.CompletePayload{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, MessageID: row,
	})
}

// Retry says that an attempt failed and another follows after a while.
func (t *Turn) Retry(attempt int, reason string, wait time.Duration) {
	t.publish(pluginsdk.EventPipelineRetry, pluginsdk.RetryPayload{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Attempt: attempt, Error: reason,
		NextAt: time.Now().Add(wait),
	})
}

// WaitFor says that the turn waits for a plugin.
func (t *Turn) WaitFor(plugin string, hook pluginsdk.Hook) {
	t.publish(pluginsdk.EventPipelineWaiting, pluginsdk.WaitingPayload{
		ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Plugin: plugin, Hook: hook, Since: time.Now(),
	})
}

// Park says that the run waits for a plan or a budget, and in words to the thread why; without words to nobody but
// who asks.
func (t *Turn) Park(parked pluginsdk.Parked, words string) {
	t.change(func(run *client.Run) { run.State, run.Parked = pluginsdk.RunQueued, &parked })
	if words != "" {
		t.Row(pluginsdk.RoleSystem, pluginsdk.MessageNotification, words, `{"event":"pipeline_parked"}`)
	}
	t.publish(pluginsdk.EventPipelineParked, pluginsdk.ParkedPayload{ThreadID: t.Accepted.ThreadID, RunID: t.Accepted.RunID, Parked: parked})
}

// Unpark has the run be at work again.
func (t *Turn) Unpark() {
	t.change(func(run *client.Run) { run.Parked = nil })
	t.Begin()
}

func (t *Turn) publish(kind pluginsdk.EventType, payload any) {
	t.daemon.mu.Lock()
	defer t.daemon.mu.Unlock()
	t.daemon.publish(kind, t.Accepted.ThreadID, payload)
}

func (t *Turn) change(set func(*client.Run)) {
	t.daemon.mu.Lock()
	defer t.daemon.mu.Unlock()
	for n := range t.daemon.runs {
		if t.daemon.runs[n].ID == t.Accepted.RunID {
			set(&t.daemon.runs[n])
		}
	}
}
