package pipeline

import (
	"context"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// steering is how messages that come during a trip get into its turn.
type steering struct {
	mu     sync.Mutex
	state  turnState
	wanted bool           // somebody asked before the turn ran
	work   sync.WaitGroup // of those who steer

	order sync.Mutex // held by the one who does, so that messages reach the agent in order
	// absorbed by the run in this turn. Those from told on have not reached the
	// agent.
	absorbed []pluginsdk.Message
	told     int
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
	switch s.state {
	case turnAhead:
		s.wanted = true
	case turnRunning:
		s.work.Add(1)
		defer s.work.Done()
	case turnPast:
	}
	running := s.state == turnRunning
	s.mu.Unlock()
	if running {
		p.steer(ctx, t)
	}
}

// turnRuns says that the agent is at work on the trip's turn. It is called with
// everything that the agent does.
func (p *Pipeline) turnRuns(ctx context.Context, t *trip) {
	s := &t.steering
	if s.state != turnAhead { // written on this goroutine only
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = turnRunning
	if s.wanted {
		s.work.Go(func() { p.steer(ctx, t) })
	}
}

// turnOver waits for who is steering; nobody is let in any more.
func (t *trip) turnOver() {
	t.steering.mu.Lock()
	t.steering.state = turnPast
	t.steering.mu.Unlock()
	t.steering.work.Wait()
}

// steer puts what waits into the turn and tells of it. It is merged into the run
// on disk before the agent has it: if the turn comes to no result, the next
// attempt's prompt has it. What the agent takes no more is given back to the
// queue with the turn's result.
func (p *Pipeline) steer(ctx context.Context, t *trip) {
	merged := p.absorb(ctx, t)
	p.announceMerged(t, merged)
	for _, message := range merged {
		if err := p.incoming(ctx, t, message); err != nil {
			p.config.Log.Warn("a message that was put into a running turn could not be told", "run", t.run.ID, "err", err)
		}
	}
}

// announceMerged publishes that the run answers these messages too.
func (p *Pipeline) announceMerged(t *trip, merged []pluginsdk.Message) {
	for _, message := range merged {
		p.events.Publish(pluginsdk.EventPipelineMerged, t.thread.ID, pluginsdk.MergedPayload{
			ThreadID: t.thread.ID, RunID: message.RunID, Into: t.run.ID,
		})
	}
}

// absorb merges what waits and tells the agent, and returns what it was told.
func (p *Pipeline) absorb(ctx context.Context, t *trip) []pluginsdk.Message {
	s := &t.steering
	s.order.Lock()
	defer s.order.Unlock()
	merged, err := p.store.Absorb(ctx, t.fence, t.run.ID)
	if err != nil {
		p.config.Log.Warn("messages could not be put into the running turn; they wait", "run", t.run.ID, "err", err)
		return nil
	}
	s.absorbed = append(s.absorbed, merged...)
	first := s.told
	for s.told < len(s.absorbed) && p.agent.Steer(t.thread.ID, messageText(s.absorbed[s.told])) {
		s.told++
	}
	return s.absorbed[first:s.told]
}

// untold are the ids of the messages that were merged and never reached the
// agent. It is asked when the turn is over.
func (t *trip) untold() []int64 {
	var ids []int64
	for _, message := range t.steering.absorbed[t.steering.told:] {
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
	s.state, s.absorbed, s.told = turnAhead, nil, 0
}
