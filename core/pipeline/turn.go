package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// walkTurn is the way of a turn that a plugin asked for: steps 0, 1 (the gate), 5a, 5,
// 5b, 11, 12, and no message. One that is in the session of its thread is part of the
// conversation, so its prompt is made in steps 3 and 4.
func (p *Pipeline) walkTurn(ctx context.Context, t *trip) error {
	if t.run.Step == pluginsdk.StepInvoked {
		t.takeUpResult()
	} else {
		if err := p.beforeRun(ctx, t); err != nil {
			return err
		}
		p.events.Publish(pluginsdk.EventPipelineStart, t.thread.ID, pluginsdk.RunRef{
			ThreadID: t.thread.ID, RunID: t.run.ID, Attempt: t.run.Attempt,
		})
		if err := p.converse(ctx, t); err != nil {
			return err
		}
	}
	p.config.Fault("commitReply", t.run.ID)
	_, err := p.finish(t, "end the turn", ledger.Finish{RunID: t.run.ID, State: pluginsdk.RunSucceeded, Steps: t.steps})
	if err != nil {
		return err
	}
	p.broadcastComplete(t, 0)
	return nil
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

// progressEvery is how often what the agent has done in a turn is stored while the turn
// runs. Most are over before.
const progressEvery = 2 * time.Second

// progress stores, beside a turn that runs, the blocks that it has come to, so that who
// opens the run sees them, and an attempt that is killed leaves a record. What cannot be
// stored is left: the result has all of it.
type progress struct {
	blocks chan []pluginsdk.StreamEvent // the newest state, when it is not stored yet
	done   chan struct{}
	over   chan struct{} // closed when nothing is stored any more
}

func (p *Pipeline) newProgress(t *trip) *progress {
	running := &progress{blocks: make(chan []pluginsdk.StreamEvent, 1), done: make(chan struct{}), over: make(chan struct{})}
	go func() {
		defer close(running.over)
		guard.Try(p.config.Log.With("run", t.run.ID), "the record of a running turn", func() { running.keep(p, t) })
	}()
	return running
}

// more says what the turn has come to by now.
func (r *progress) more(events []pluginsdk.StreamEvent) {
	events = slices.Clip(events) // what is appended later is not seen through it
	select {
	case <-r.blocks:
	default:
	}
	r.blocks <- events
}

// stop waits for what is being stored: the result comes after it.
func (r *progress) stop() {
	close(r.done)
	<-r.over
}

// keep stores at most every ProgressEvery, and less often what takes long to store.
func (r *progress) keep(p *Pipeline, t *trip) {
	timer := time.NewTimer(p.config.ProgressEvery)
	defer timer.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-timer.C:
		}
		began := time.Now()
		select {
		case events := <-r.blocks:
			if err := p.store.SaveProgress(t.work, t.fence, t.run.ID, events); err != nil {
				p.config.Log.Debug("what a turn has come to cannot be stored yet", "run", t.run.ID, "err", err)
			}
		default:
		}
		timer.Reset(max(p.config.ProgressEvery, 50*time.Since(began)))
	}
}
