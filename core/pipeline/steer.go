package pipeline

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/core/hooks"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// steering adds messages that come during a trip to the trip's turn.
type steering struct {
	mu         sync.Mutex
	state      turnState
	wanted     bool           // Steer was called before the turn ran
	steers     sync.WaitGroup // goroutines that add messages to the turn: its result waits for them
	announcing sync.WaitGroup // goroutines that ask OnMessage about them: step 6 waits for them

	// turn ends when the turn is over. Then questions to the gate about a message are
	// given up.
	turn    context.Context
	endTurn context.CancelFunc

	order sync.Mutex // held while messages are added, so that they reach the agent in order
	// absorbed are the messages merged into the run in this turn. Those from index sent
	// on have not reached the agent.
	absorbed []pluginsdk.Message
	sent     int
}

type turnState int

const (
	turnAhead turnState = iota
	turnRunning
	turnPast
)

// Steer adds the messages that wait in the run's thread to its turn: at once when the
// turn runs, else when it begins. When the turn is over, the messages stay in the queue.
// It returns when that is done, for a turn that is still ahead at once.
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

// begin counts a steer that is about to begin. The lock is held.
func (s *steering) begin() {
	s.steers.Add(1)
	s.announcing.Add(1)
}

// turnRuns says that the agent works on the trip's turn. It is called with each event of
// the turn; the first call counts.
func (p *Pipeline) turnRuns(ctx context.Context, t *trip) {
	s := &t.steering
	if s.state != turnAhead { // only this goroutine writes it
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = turnRunning
	// In a thread with the busy mode steer, messages may have come before Steer could find
	// the trip.
	if s.wanted || t.run.Kind == pluginsdk.RunMessage && t.thread.BusyMode == pluginsdk.BusySteer {
		s.begin()
		go p.steer(ctx, t)
	}
}

// turnOver closes the turn to messages, and waits for those that are being added.
func (t *trip) turnOver() {
	t.steering.mu.Lock()
	t.steering.state = turnPast
	t.steering.mu.Unlock()
	t.steering.endTurn()
	t.steering.steers.Wait()
}

// steer adds the waiting messages to the turn, and asks OnMessage about them. They are
// merged into the run in the database before the agent gets them: if the turn has no
// result, the next attempt's prompt has them. Messages that did not reach the agent go
// back to the queue with the turn's result. A panic ends only the steer.
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

// announceMerged publishes that the run also answers these messages.
func (p *Pipeline) announceMerged(t *trip, merged []pluginsdk.Message) {
	for _, message := range merged {
		p.events.Publish(pluginsdk.EventPipelineMerged, t.thread.ID, pluginsdk.MergedPayload{
			ThreadID: t.thread.ID, RunID: message.RunID, Into: t.run.ID, Kind: pluginsdk.RunMessage, // no other is merged
		})
	}
}

// absorb merges the waiting messages that the gate allows, and sends them to the agent.
// It returns those that the agent got.
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
	for s.sent < len(s.absorbed) && p.agent.Steer(t.run.ID, p.steeredText(ctx, t, s.absorbed[s.sent])) {
		s.sent++
	}
	return s.absorbed[first:s.sent]
}

// allowed returns the waiting messages that the gate allows into the turn, as it saw them, up
// to the first that it denies: the gate is asked about that one again in a run of its
// own, and the others stay behind it.
func (p *Pipeline) allowed(t *trip) (messages []pluginsdk.Message) {
	ctx := t.steering.turn
	waiting, err := p.store.Absorbable(ctx, t.fence, t.run.ID)
	if err != nil {
		p.config.Log.Warn("messages could not be put into the running turn; they wait", "run", t.run.ID, "err", err)
		return nil
	}
	for _, message := range waiting {
		if err := p.mayRun(ctx, t, &t.beside, message); err != nil {
			p.config.Log.Info("a message is not put into the running turn; it waits", "run", t.run.ID, "message", message.ID, "why", err)
			return messages
		}
		messages = append(messages, message)
	}
	return messages
}

// chainIsClosed reports whether a plugin must see every prompt. A steered message does
// not pass OnBeforeInvoke, so then it has to wait for a turn of its own.
func (p *Pipeline) chainIsClosed() bool {
	return slices.ContainsFunc(p.plugins.Answering("", pluginsdk.HookBeforeInvoke), func(plugin hooks.Plugin) bool {
		return plugin.Info().FailureMode(pluginsdk.HookBeforeInvoke) == pluginsdk.FailClosed
	})
}

// covered returns the ids of the messages beside the run's own that the turn has had:
// those of its prompt, and those that were steered. It is called when the turn is over.
func (t *trip) covered() []int64 {
	var ids []int64
	for _, message := range append(t.absorbed[:len(t.absorbed):len(t.absorbed)], t.steering.absorbed[:t.steering.sent]...) {
		ids = append(ids, message.ID)
	}
	return ids
}

// beginAnother prepares the trip for another turn. Messages that were merged into the
// turn without a result are part of the next prompt.
func (t *trip) beginAnother() {
	s := &t.steering
	s.mu.Lock()
	defer s.mu.Unlock()
	t.absorbed = append(t.absorbed, s.absorbed...)
	s.state, s.absorbed, s.sent = turnAhead, nil, 0
	s.turn, s.endTurn = context.WithCancel(t.work)
}
