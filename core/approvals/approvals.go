// Package approvals is what the agent asks people: it stores each question before anybody
// is shown it, hands the answer to the agent once, and parks a turn that nobody answers.
//
// It promises: nothing is allowed but by a person's answer to that very call, once, or by
// a rule that a person has made and nobody has revoked. Neither time nor an error nor a
// crash allows anything. A question outlives the daemon; so does its answer, until it is
// given to the agent.
package approvals

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/core/approvals/rules"
	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Store is what the room needs of the database.
type Store interface {
	OpenApproval(ctx context.Context, fence ledger.Fence, a ledger.Approval) (ledger.Approval, []ledger.Lane, error)
	SpendApproval(ctx context.Context, fence ledger.Fence, id string) (spent bool, err error)
	DecideApproval(ctx context.Context, decision ledger.ApprovalDecision) (ledger.ApprovalDecided, error)
	CloseApprovals(ctx context.Context, runID string, only ...string) ([]pluginsdk.Approval, error)
	Approval(ctx context.Context, id string) (ledger.Approval, error)
	Approvals(ctx context.Context, query pluginsdk.ApprovalQuery) ([]ledger.Approval, error)
	ThreadsAbove(ctx context.Context, threadID string) ([]string, error)
	StrayApprovals(ctx context.Context) (approvals, runs []string, err error)
	Unpark(ctx context.Context, runID string) (threadID string, err error)
	ApprovalRules(ctx context.Context, request pluginsdk.ListApprovalRulesRequest) ([]pluginsdk.ApprovalRule, error)
	RevokeApprovalRule(ctx context.Context, id, who string) (revoked bool, err error)
}

// Inbox executes the runs.
type Inbox interface {
	// Rest gives the place of a run back that waits for people. The caller calls back
	// before the run goes on: it waits for a place again, until ctx ends.
	Rest(runID string) (back func(ctx context.Context) error)
	// WakeThread has a thread's queue looked at.
	WakeThread(threadID string)
}

// Outbox carries the stored deliveries.
type Outbox interface {
	// Wake says that a plugin has something new to carry to a target.
	Wake(plugin, target string)
}

// Events publishes the room's events.
type Events interface {
	Publish(kind pluginsdk.EventType, threadID string, payload any)
}

// Doors are the rooms that this one calls. All of them are needed.
type Doors struct {
	Store  Store
	Inbox  Inbox
	Outbox Outbox
	Events Events
}

// Config holds what an operator can set. Zero fields get defaults.
type Config struct {
	// AskTools are the tools whose calls people are asked about: names with spaces
	// between them, all (the default), or none. A thread can have others.
	AskTools string
	// AskUnattended has people asked also where nobody is waiting: in turns that plugins
	// ask for, in scheduled jobs, and for messages that say so. Else that is denied at
	// once.
	AskUnattended bool
	ParkAfter     time.Duration // how long a turn waits for an answer before it is parked; default 10 min
	Expiry        time.Duration // how long people have for an answer; default 72 h
	Sweep         time.Duration // how often what is over is looked for; default 15 s
	// Fault is called with the names of FaultPoints, for tests that kill the daemon there.
	Fault func(point, runID string)
	Log   *slog.Logger
	Now   func() time.Time
}

// FaultPoints are the names that Config.Fault is called with, in the order in which a
// question passes them.
var FaultPoints = []string{"asked", "stored", "shown", "answered", "spent"}

func (c Config) withDefaults() Config {
	setDefault(&c.AskTools, "all")
	setDefault(&c.ParkAfter, 10*time.Minute)
	setDefault(&c.Expiry, 72*time.Hour)
	setDefault(&c.Sweep, 15*time.Second)
	if c.Fault == nil {
		c.Fault = func(string, string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Approvals asks, and takes the answers in. It is safe for concurrent use.
type Approvals struct {
	Config
	Doors

	figures  *figures
	stopping context.Context
	stop     context.CancelFunc
	sweeping sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]chan struct{} // by approval: gets a value when it may have been answered
}

// New returns an Approvals. Ask and Decide work at once.
func New(config Config, doors Doors) *Approvals {
	a := &Approvals{Config: config.withDefaults(), Doors: doors, figures: newFigures(), waiting: make(map[string]chan struct{})}
	a.stopping, a.stop = context.WithCancel(context.Background())
	return a
}

// Start begins to look for what is over: what nobody answered in time, and what is left
// of runs that are over.
func (a *Approvals) Start(context.Context) error {
	a.sweeping.Go(func() {
		ticker := guard.NewTicker(a.Sweep)
		defer ticker.Stop()
		for {
			if err := guard.Call(a.Log, "the sweep of the approvals", func() error { return a.sweep(a.stopping) }); err != nil && a.stopping.Err() == nil {
				a.Log.Warn("approvals that are over cannot be looked for; trying again", "err", err)
			}
			select {
			case <-a.stopping.Done():
				return
			case <-ticker.Next():
			}
		}
	})
	return nil
}

// Stop parks the turns that wait for people. It is called before the inbox is stopped,
// whose grace they would use up.
func (a *Approvals) Stop(context.Context) error {
	a.stop()
	a.sweeping.Wait()
	return nil
}

// errAgain has a question asked anew: its answer was given to another call.
var errAgain = errors.New("the answer was given to another call")

// Ask asks people whether the agent may make a call, and returns when there is an answer.
// When ctx ends first, it returns a denial that nobody is given; the question stays open
// while its run is not over, unless ctx's cause is ledger.ErrWithdrawn.
func (a *Approvals) Ask(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) (answer ledger.ToolAnswer) {
	answer = ledger.ToolAnswer{Words: "The question could not be asked: " + failedWords}
	err := guard.Call(a.Log.With("run", of.RunID), "a question of the agent", func() (err error) {
		a.Fault("asked", of.RunID)
		answer, err = a.ask(ctx, of, ask)
		return err
	})
	if err != nil {
		if ctx.Err() == nil && a.stopping.Err() != nil {
			// The next daemon asks. A turn that cannot be parked ends with the daemon.
			if !of.Fence.Beside() {
				return ledger.ToolAnswer{Park: true}
			}
			<-ctx.Done()
		}
		if ctx.Err() == nil {
			a.Log.Error("what the agent asks cannot be asked of people; it is denied", "run", of.RunID, "tool", ask.Tool, "err", err)
		}
		answer = ledger.ToolAnswer{Words: "The question could not be asked: " + failedWords}
	}
	return answer
}

func (a *Approvals) ask(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk) (ledger.ToolAnswer, error) {
	call := rules.Call{Tool: ask.Tool, Input: ask.Input, Cwd: ask.Cwd, Guarded: ask.Guarded}
	for {
		allowed, err := a.ruled(ctx, of, call)
		if err != nil {
			return ledger.ToolAnswer{}, err
		}
		if allowed {
			return ledger.ToolAnswer{Allow: true}, nil
		}
		answer, err := a.askOnce(ctx, of, ask, call)
		if !errors.Is(err, errAgain) {
			return answer, err
		}
	}
}

// ruled reports whether a rule of the thread allows the call, at this moment.
func (a *Approvals) ruled(ctx context.Context, of ledger.Asking, call rules.Call) (allowed bool, err error) {
	if kindOf(call.Tool) != pluginsdk.ApprovalTool || call.Guarded {
		return false, nil
	}
	request := pluginsdk.ListApprovalRulesRequest{ThreadID: of.Thread.ID, Limit: pageSize}
	for {
		var page []pluginsdk.ApprovalRule
		err := a.insist(ctx, func() (err error) {
			page, err = a.Store.ApprovalRules(ctx, request)
			return err
		})
		if err != nil {
			return false, err
		}
		if rule, ok := rules.Find(page, call); ok {
			a.figures.ruled.Add(1)
			a.Log.Debug("a rule allows a call", "run", of.RunID, "tool", call.Tool, "rule", rule.ID)
			return true, nil
		}
		if len(page) < pageSize {
			return false, nil
		}
		request.After = page[len(page)-1].ID
	}
}

const pageSize = 1000

// insist repeats what the database does not answer, until ctx ends: no error may become
// an answer.
func (a *Approvals) insist(ctx context.Context, do func() error) error {
	backoff := guard.Backoff{Base: 100 * time.Millisecond, Max: 5 * time.Second}
	for failures := 1; ; failures++ {
		err := do()
		switch pluginsdk.CodeOf(err) { //nolint:exhaustive // the others last
		case pluginsdk.CodeUnavailable, pluginsdk.CodeDeadline:
		default:
			return err
		}
		select {
		case <-time.After(backoff.After(failures)):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.stopping.Done():
			return err
		}
	}
}

// askOnce finds the question's answer, if the run has asked it before, else asks.
func (a *Approvals) askOnce(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk, call rules.Call) (ledger.ToolAnswer, error) {
	digest := rules.Digest(call)
	known, err := a.ofRun(ctx, of.RunID)
	if err != nil {
		return ledger.ToolAnswer{}, err
	}
	var spent *ledger.Approval
	open := 0
	for _, one := range known {
		if one.State == pluginsdk.ApprovalOpen {
			open++
		}
		switch {
		case one.Digest != digest:
		case !one.SpentAt.IsZero():
			spent = &one
		case one.State == pluginsdk.ApprovalOpen:
			if woken, taken := a.await(one.ID); taken {
				defer a.forget(one.ID)
				return a.wait(ctx, of, ask, one.ID, woken)
			}
		case one.State != pluginsdk.ApprovalWithdrawn:
			return a.spend(ctx, of, ask, one)
		}
	}
	if words, nobody := a.nobody(of, ask.Tool, open); nobody {
		return ledger.ToolAnswer{Words: words}, nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return ledger.ToolAnswer{}, err
	}
	approval := a.newApproval(of, ask, call)
	approval.ID, approval.Digest = id.String(), digest
	if spent != nil && spent.State == pluginsdk.ApprovalAllowed {
		approval.Note = spentNote(*spent)
	}
	woken, _ := a.await(approval.ID)
	defer a.forget(approval.ID)
	var lanes []ledger.Lane
	err = a.insist(ctx, func() (err error) {
		approval, lanes, err = a.Store.OpenApproval(ctx, of.Fence, approval)
		return err
	})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeConflict {
		// It was stored by a COMMIT that nobody answered. The outbox finds its delivery.
		err = nil
	}
	if err != nil {
		return ledger.ToolAnswer{}, err
	}
	a.Fault("stored", of.RunID)
	a.publish(ctx, pluginsdk.EventApprovalRequested, approval.Approval)
	for _, lane := range lanes {
		a.Outbox.Wake(lane.Plugin, lane.Target)
	}
	a.Fault("shown", of.RunID)
	return a.wait(ctx, of, ask, approval.ID, woken)
}

// ofRun returns all approvals of a run.
func (a *Approvals) ofRun(ctx context.Context, runID string) (all []ledger.Approval, err error) {
	query := pluginsdk.ApprovalQuery{RunID: runID, Limit: pageSize}
	for {
		var page []ledger.Approval
		if err := a.insist(ctx, func() (err error) {
			page, err = a.Store.Approvals(ctx, query)
			return err
		}); err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < pageSize {
			return all, nil
		}
		query.After = page[len(page)-1].ID
	}
}

// await says that somebody waits for an approval's answer. Taken is false when somebody
// else does already: each answer is for one call.
func (a *Approvals) await(id string) (woken chan struct{}, taken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting[id] != nil {
		return nil, false
	}
	woken = make(chan struct{}, 1)
	a.waiting[id] = woken
	return woken, true
}

func (a *Approvals) forget(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, id)
}

// wake has whoever waits for an approval look at it.
func (a *Approvals) wake(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case a.waiting[id] <- struct{}{}:
	default: // nobody waits, or has been told
	}
}

// wait waits for the answer, without a place among the runs at work.
func (a *Approvals) wait(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk, id string, woken <-chan struct{}) (ledger.ToolAnswer, error) {
	back := a.Inbox.Rest(of.RunID)
	approval, parked, err := a.answered(ctx, of, id, woken)
	switch {
	case parked:
		return ledger.ToolAnswer{Park: true, Asked: true}, nil
	case err == nil:
		a.Fault("answered", of.RunID)
		err = back(ctx)
	}
	if err == nil && ctx.Err() == nil {
		return a.spend(ctx, of, ask, approval)
	}
	if errors.Is(context.Cause(ctx), ledger.ErrWithdrawn) {
		return ledger.ToolAnswer{}, a.close(context.WithoutCancel(ctx), of.RunID, id)
	}
	return ledger.ToolAnswer{}, errors.Join(err, context.Cause(ctx))
}

// answered returns an approval once it is not open any more. Parked says that the turn is
// to wait no longer.
func (a *Approvals) answered(ctx context.Context, of ledger.Asking, id string, woken <-chan struct{}) (approval ledger.Approval, parked bool, err error) {
	patience := time.NewTimer(a.ParkAfter)
	defer patience.Stop()
	look := time.NewTicker(a.Sweep) // for an answer whose COMMIT nobody heard of
	defer look.Stop()
	late, stopping := patience.C, a.stopping.Done()
	if of.Fence.Beside() { // its session is lost with its process
		late, stopping = nil, nil
	}
	for {
		if err := a.insist(ctx, func() (err error) {
			approval, err = a.Store.Approval(ctx, id)
			return err
		}); err != nil || approval.State != pluginsdk.ApprovalOpen {
			return approval, false, err
		}
		select {
		case <-woken:
		case <-look.C:
		case <-late:
			return approval, true, nil
		case <-stopping:
			return approval, true, nil
		case <-ctx.Done():
			return approval, false, context.Cause(ctx)
		}
	}
}

// spend gives an answer to the agent, for the one time that it may be given.
func (a *Approvals) spend(ctx context.Context, of ledger.Asking, ask ledger.ToolAsk, approval ledger.Approval) (ledger.ToolAnswer, error) {
	if approval.State == pluginsdk.ApprovalWithdrawn {
		return ledger.ToolAnswer{Words: "The question was taken back."}, nil
	}
	var spent bool
	err := a.insist(ctx, func() (err error) {
		spent, err = a.Store.SpendApproval(ctx, of.Fence, approval.ID)
		return err
	})
	if err != nil {
		return ledger.ToolAnswer{}, err
	}
	if !spent {
		return ledger.ToolAnswer{}, errAgain
	}
	a.Fault("spent", of.RunID)
	if approval.State != pluginsdk.ApprovalAllowed {
		return ledger.ToolAnswer{Words: denial(approval.Approval), Asked: true}, nil
	}
	input, err := answeredInput(approval.Approval, ask.Input)
	return ledger.ToolAnswer{Allow: err == nil, Input: input, Asked: true}, err
}

// aboveTimeout bounds how long an event waits for the threads above its own.
const aboveTimeout = 5 * time.Second

// publish tells of an approval that was stored or is over, also those who follow a thread
// above its own, and counts it.
func (a *Approvals) publish(ctx context.Context, kind pluginsdk.EventType, approval pluginsdk.Approval) {
	if kind == pluginsdk.EventApprovalRequested {
		a.figures.asked.Add(1, string(approval.Kind))
	} else {
		a.figures.ended.Add(1, string(approval.State))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aboveTimeout)
	defer cancel()
	above, err := a.Store.ThreadsAbove(ctx, approval.ThreadID)
	if err != nil {
		a.Log.Warn("who follows a thread above that of an approval is not told of it", "approval", approval.ID, "state", approval.State, "err", err)
	}
	a.Events.Publish(kind, approval.ThreadID, pluginsdk.ApprovalPayload{
		ApprovalID: approval.ID, ThreadID: approval.ThreadID, RunID: approval.RunID, State: approval.State, Title: approval.Title, AboveThreadIDs: above,
	})
}
