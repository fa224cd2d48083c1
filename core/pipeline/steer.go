package pipeline

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// steering is how messages that come during a trip get into its turn.
type steering struct {
	mu         sync.Mutex
	state      turnState
	wanted     bool           // somebody asked before the turn ran
	steers     sync.WaitGroup // of those who put messages into the turn: its result waits for them
	announcing sync.WaitGroup // of those who tell the plugins of it: step 6 waits for them

	// turn ends when the turn is over: who asks a plugin about a message gives up.
	turn    context.Context
	endTurn context.CancelFunc

	order sync.Mutex // held by the one who steers, so that messages reach the agent in order
	// absorbed by the run in this turn. Those from sent on have not reached the
	// agent.
	absorbed []pluginsdk.Message
	sent     int
}

type turnState int

const (
	turnAhead turnState = iota
	turnRunning
	turnPast
)

// Steer puts what waits in the run's thread into its turn: at once when that
// runs, as soon as it does when it is still ahead. When it is over, the messages
// stay in the queue. It returns when that is done.
func (p *Pipeline) Steer(ctx context.Context, runID string) {
	p.mu.Lock()
	t := p.trips[runID]
	p.mu.Unlock()
	if t == nil || t.run.Kind != pluginsdk.RunMessage {
		return
	}
	s := &t.steering
	s.mu.Lock()
	running := s.state == turnRunning
	if s.state == turnAhead {
		s.wanted = true
	}
	if running {
		s.begin()
	}
	s.mu.Unlock()
	if running {
		p.steer(ctx, t)
	}
}

// begin announces a steer. The lock is held.
func (s *steering) begin() {
	s.steers.Add(1)
	s.announcing.Add(1)
}

// turnRuns says that the agent is at work on the trip's turn. It is called with each
// event of the turn; the first one counts.
func (p *Pipeline) turnRuns(ctx context.Context, t *trip) {
	s := &t.steering
	if s.state != turnAhead { // written on this goroutine only
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = turnRunning
	// In a thread whose messages are to be steered, some may have come before
	// the run could be asked.
	if s.wanted || t.run.Kind == pluginsdk.RunMessage && t.thread.BusyMode == pluginsdk.BusySteer {
		s.begin()
		go p.steer(ctx, t)
	}
}

// turnOver waits for who is steering; nobody is let in any more.
func (t *trip) turnOver() {
	t.steering.mu.Lock()
	t.steering.state = turnPast
	t.steering.mu.Unlock()
	t.steering.endTurn()
	t.steering.steers.Wait()
}

// steer puts what waits into the turn and tells of it. It is merged into the run
// on disk before the agent has it: if the turn comes to no result, the next
// attempt's prompt has it. What the agent takes no more is given back to the
// queue with the turn's result. It is the boundary of what it does: a panic ends
// nothing else.
func (p *Pipeline) steer(ctx context.Context, t *trip) {
	defer t.steering.announcing.Done()
	log := p.config.Log.With("run", t.run.ID)
	guard.Try(log, "steering", func() {
		merged := p.absorb(ctx, t)
		p.announceMerged(t, merged)
		for _, message := range merged {
			if err := p.incoming(ctx, t, &t.beside, message); err != nil {
				log.Warn("a message that was put into a running turn could not be told", "err", err)
			}
		}
	})
}

// announceMerged publishes that the run answers these messages too.
func (p *Pipeline) announceMerged(t *trip, merged []pluginsdk.Message) {
	for _, message := range merged {
		p.events.Publish(pluginsdk.EventPipelineMerged, t.thread.ID, pluginsdk.MergedPayload{
			ThreadID: t.thread.ID, RunID: message.RunID, Into: t.run.ID,
		})
	}
}

// absorb merges what waits, as far as it may run, and sends it to the agent. It returns
// what the agent was sent.
func (p *Pipeline) absorb(ctx context.Context, t *trip) (sent []pluginsdk.Message) {
	s := &t.steering
	defer s.steers.Done()
	if p.chainIsClosed() {
		return nil
	}
	s.order.Lock()
	defer s.order.Unlock()
	allowed := p.allowed(t)
	if len(allowed) == 0 && s.sent == len(s.absorbed) {
		return nil
	}
	merged, err := p.store.Absorb(ctx, t.fence, t.run.ID, allowed)
	if err != nil {
		p.config.Log.Warn("messages could not be put into the running turn; they wait", "run", t.run.ID, "err", err)
		return nil
	}
	s.absorbed = append(s.absorbed, merged...)
	first := s.sent
	for s.sent < len(s.absorbed) && p.agent.Steer(t.run.ID, messageText(s.absorbed[s.sent])) {
		s.sent++
	}
	return s.absorbed[first:s.sent]
}

// allowed are the ids of the messages that wait and that the gate lets into the
// turn, up to the first that it does not: that one is asked about again in a run
// of its own, and the others stay behind it.
func (p *Pipeline) allowed(t *trip) (ids []int64) {
	ctx := t.steering.turn
	waiting, err := p.store.Absorbable(ctx, t.fence, t.run.ID)
	if err != nil {
		p.config.Log.Warn("messages could not be put into the running turn; they wait", "run", t.run.ID, "err", err)
		return nil
	}
	for _, message := range waiting {
		if err := p.mayRun(ctx, t, &t.beside, message); err != nil {
			p.config.Log.Info("a message is not put into the running turn; it waits", "run", t.run.ID, "message", message.ID, "why", err)
			return ids
		}
		ids = append(ids, message.ID)
	}
	return ids
}

// chainIsClosed reports whether a plugin must have its say in every prompt: a
// message that is put into a running turn does not pass the chain before the agent,
// so it has to wait for a turn of its own.
func (p *Pipeline) chainIsClosed() bool {
	return slices.ContainsFunc(p.plugins.Answering("", pluginsdk.HookBeforeInvoke), func(plugin hooks.Plugin) bool {
		return plugin.Info().FailureMode(pluginsdk.HookBeforeInvoke) == pluginsdk.FailClosed
	})
}

// covered are the ids of the messages besides its own that the run's turn has
// had: those of its prompt, and those that the agent was told of. It is asked
// when the turn is over.
func (t *trip) covered() []int64 {
	var ids []int64
	for _, message := range append(t.absorbed[:len(t.absorbed):len(t.absorbed)], t.steering.absorbed[:t.steering.sent]...) {
		ids = append(ids, message.ID)
	}
	return ids
}

// beginAnother makes the trip one whose turn is still ahead. What was merged
// into the turn that came to nothing is part of the next.
func (t *trip) beginAnother() {
	s := &t.steering
	s.mu.Lock()
	defer s.mu.Unlock()
	t.absorbed = append(t.absorbed, s.absorbed...)
	s.state, s.absorbed, s.sent = turnAhead, nil, 0
	s.turn, s.endTurn = context.WithCancel(t.work)
}
