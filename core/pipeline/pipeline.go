// Package pipeline is THE message pipeline: numbered steps in one function. It asks
// plugins through package hooks. Package inbox gives it one run of a thread at a time, and what is beside that.
package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Config holds what an operator can set, and what tests use.
type Config struct {
	Model string // the model of threads that name none
	// Forbidden lists commands that the agent may not give in threads of a
	// kind: a task may not schedule work.
	Forbidden map[pluginsdk.ThreadKind][]string
	Log       *slog.Logger
	// ProgressEvery is how often the blocks of a running turn are stored; default 2 s.
	ProgressEvery time.Duration
	// HeldTold is how long a run that has given its place back waits for a plugin before
	// its thread is told; default 9 s.
	HeldTold time.Duration
	// Fault, when set, is called before every step with the step's name and the run's id.
	// Tests end the process there.
	Fault func(step, runID string)
	Now   func() time.Time
}

func (c Config) withDefaults() Config {
	if c.Forbidden == nil {
		c.Forbidden = map[pluginsdk.ThreadKind][]string{pluginsdk.ThreadTask: {"cron_create", "cron_update"}}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.ProgressEvery == 0 {
		c.ProgressEvery = progressEvery
	}
	if c.HeldTold == 0 {
		c.HeldTold = heldTold
	}
	if c.Fault == nil {
		c.Fault = func(string, string) {}
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Now().UTC() }
	}
	return c
}

// Pipeline takes runs through their steps.
type Pipeline struct {
	config    Config
	store     Store
	agent     Agent
	plugins   Plugins
	hooks     *hooks.Runner
	effects   Effects
	tools     Tools
	files     Files
	outbox    Outbox
	events    Events
	notifier  Notifier
	approvals Approvals
	plan      Plan
	places    Places
	figures   *figures

	mu    sync.Mutex
	trips map[string]*trip // under way, by run
}

// New returns a Pipeline.
func New(config Config, doors Doors) *Pipeline {
	return &Pipeline{
		config: config.withDefaults(), store: doors.Store, agent: doors.Agent, plugins: doors.Plugins, hooks: doors.Hooks,
		effects: doors.Effects, tools: doors.Tools, files: doors.Files, outbox: doors.Outbox, events: doors.Events, notifier: doors.Notifier, approvals: doors.Approvals, plan: doors.Plan, places: doors.Places,
		figures: newFigures(), trips: make(map[string]*trip),
	}
}

// FaultPoints are the names that Config.Fault is called with, in the order in
// which a run passes them.
var FaultPoints = []string{
	"beforeRun", "pipelineStart", "onMessage", "assemble", "beforeInvoke",
	"commitIntent", "invoke", "invoking", "commitResult", "afterInvoke", "takeCommands",
	"runCommands", "betweenCommands", "beforeReply", "pipelineComplete", "collectFiles", "commitReply", "clearFiles", "broadcastComplete",
}

// TurnFaultPoints are the names for a turn that a plugin asked for, in a session of its
// own.
var TurnFaultPoints = []string{"beforeRun", "commitIntent", "invoke", "invoking", "commitResult", "commitReply", "broadcastComplete"}

// Handle takes a claimed run through its steps. Nil means that the run is over. After
// an error it is open: the inbox decides by the error's code what happens to it, and
// stores the effects that are left. ctx ends when a person stops the run or the daemon
// stops, work only when the daemon stops. The steps after the agent's answer, which was
// paid for, use only work, so a person's stop cannot end them.
//
//	 0  the claim holds the thread, its message and the run; a plan that is used up parks it
//	 1  OnBeforeRun         gate    may this run at all
//	    OnPipelineStart     notify  beside 2 to 4 where no plugin gets two calls at once
//	 2  OnMessage           notify
//	 3  assemble the prompt         what the session has not seen, the message
//	 4  OnBeforeInvoke      chain
//	 5a commit the intent           before the agent gets a byte
//	 5  invoke the agent
//	 5b commit the result           from here on the agent is not called again; the
//	                                commands in it are stored as they are parsed now
//	 6  OnAfterInvoke       notify
//	 7  take the commands from the output   as 5b has stored them
//	 8  OnCommand           first   each outcome stored in the run's row, by its index
//	 9  OnBeforeReply       chain
//	10  OnPipelineComplete  notify  before the reply is stored
//	11  commit reply, thread, run, delivery; what the agent has left for people goes with it
//	12  broadcast pipeline:complete
//
// The effects of hooks, and the record of their calls, are stored with the next of these
// commits: 5a, 5b, 8, 11, or with the end of the attempt.
func (p *Pipeline) Handle(work, ctx context.Context, claim ledger.Claim) (left ledger.Left, err error) {
	t := newTrip(work, p.config.Now(), claim) // 0
	t.on.Held = func(call pluginsdk.HookCall) (over func(context.Context) error) { return p.hold(t, call) }
	t.on.Keeps = t.run.Step == pluginsdk.StepInvoked // what has its answer is not kept waiting for a place
	defer p.enter(t)()
	p.plugins.Hold(t.run.ID)
	defer p.plugins.Release(t.run.ID)
	defer func() { t.steering.endTurn() }()
	// A panic of a step ends the attempt as any other error.
	err = guard.Call(p.config.Log.With("run", t.run.ID), "a run", func() error { return p.walk(ctx, t) })
	if err == nil {
		p.takeQuestionsBack(t)
		return ledger.Left{Freed: t.frees(nil)}, nil
	}
	if failed := p.startAnswered(t); failed != nil { // the attempt has failed before
		p.config.Log.Debug("OnPipelineStart failed as well", "run", t.run.ID, "err", failed)
	}
	t.turnOver()
	t.steering.announcing.Wait()
	if t.answered {
		ctx = t.work
	}
	if err = p.abandon(ctx, t, err); err == nil {
		p.takeQuestionsBack(t)
	}
	return ledger.Left{Hooks: t.calls.all(), Effects: t.pending.waiting(), Answered: t.answered, Freed: t.frees(err)}, err
}

// walk takes the trip from the step that its run has reached to the end.
func (p *Pipeline) walk(ctx context.Context, t *trip) error {
	if t.run.Kind != pluginsdk.RunCommand && t.run.Step != pluginsdk.StepInvoked {
		if err := p.admit(ctx, t); err != nil { // 0
			return err
		}
	}
	switch {
	case t.run.Kind == pluginsdk.RunCommand:
		return p.answerTypedCommand(ctx, t)
	case t.run.Kind == pluginsdk.RunTurn:
		return p.walkTurn(ctx, t)
	case t.run.Step == pluginsdk.StepInvoked:
		t.takeUpResult()
	default:
		if err := p.begin(ctx, t); err != nil { // 1, 2
			return err
		}
		if err := p.converse(ctx, t); err != nil { // 3, 4, 5a, 5, 5b
			return err
		}
	}
	ctx = t.work
	t.steering.announcing.Wait()
	if err := p.afterInvoke(ctx, t); err != nil { // 6
		return err
	}
	p.takeCommands(t)                             // 7
	if err := p.runCommands(ctx, t); err != nil { // 8
		return err
	}
	if err := p.beforeReply(ctx, t); err != nil { // 9
		return err
	}
	return p.end(ctx, t) // 10, 11, 12
}

// walkTurn handles a turn that a plugin asked for: steps 0, 1 (the gate), 5a, 5, 5b, 11,
// 12, without a message. A turn in the session of its thread is part of the conversation:
// steps 3 and 4 make its prompt.
func (p *Pipeline) walkTurn(ctx context.Context, t *trip) error {
	if t.run.Step == pluginsdk.StepInvoked {
		t.takeUpResult()
	} else {
		if err := p.mayBegin(ctx, t); err != nil {
			return err
		}
		p.events.Publish(pluginsdk.EventPipelineStart, t.thread.ID, pluginsdk.RunRef{
			ThreadID: t.thread.ID, RunID: t.run.ID, Attempt: t.run.Attempt, Kind: t.run.Kind,
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

// enter makes Steer find the trip, until leave.
func (p *Pipeline) enter(t *trip) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trips[t.run.ID] = t
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.trips, t.run.ID)
	}
}

// begin is steps 1 and 2.
func (p *Pipeline) begin(ctx context.Context, t *trip) error {
	if err := p.mayBegin(ctx, t); err != nil {
		return err
	}
	if err := p.pipelineStart(ctx, t); err != nil {
		return err
	}
	return p.onMessage(ctx, t)
}

// converse is steps 3 to 5b. When the agent does not know the session, converse drops it
// and assembles the prompt anew, with the history in it.
func (p *Pipeline) converse(ctx context.Context, t *trip) error {
	for {
		err := p.exchange(ctx, t)
		var failure *pluginsdk.Failure
		if !errors.As(err, &failure) || failure.Kind != pluginsdk.FailureUnknownSession || t.sessionDropped {
			return err
		}
		p.config.Log.Warn("the agent does not know the session; starting a new one",
			"thread", t.thread.ID, "run", t.run.ID, "session", t.sessionID)
		if err := p.store.DropSession(ctx, t.fence, t.run.ID); err != nil {
			return storeError("drop the session", err)
		}
		t.steering.announcing.Wait() // announcers read t.thread, which changes below
		t.dropSession()
	}
}

func (p *Pipeline) exchange(ctx context.Context, t *trip) error {
	if err := p.layFiles(ctx, t); err != nil {
		return err
	}
	if t.fence.Beside() {
		t.prompt = p.boundPrompt(t, t.message.Content, t.run.Plugin)
		t.written = map[string]int{t.run.Plugin: len(t.prompt)}
	} else {
		if err := p.assemble(ctx, t); err != nil { // 3
			return err
		}
		if err := p.beforeInvoke(ctx, t); err != nil { // 4
			return err
		}
	}
	if err := p.capTurn(ctx, t); err != nil {
		return err
	}
	if err := p.commitIntent(ctx, t); err != nil { // 5a
		return err
	}
	p.invoke(ctx, t)         // 5
	return p.commitResult(t) // 5b
}

// end is steps 10 to 12.
func (p *Pipeline) end(ctx context.Context, t *trip) error {
	if err := p.pipelineComplete(ctx, t, pluginsdk.OutcomeSucceeded, ""); err != nil {
		return err
	}
	reply, err := p.commitReply(t)
	if err != nil {
		return err
	}
	p.broadcastComplete(t, reply)
	return nil
}
