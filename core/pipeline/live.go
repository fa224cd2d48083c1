package pipeline

import (
	"slices"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/core/guard"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// gather is how long a fragment of the agent's output waits for those that follow
	// it: people see no difference, and each event costs the daemon, the plugins that
	// get it and every client its part.
	gather = 20 * time.Millisecond
	// maxGathered is how much is gathered at most, in bytes.
	maxGathered = 4 << 10
)

// stream publishes what the agent does in a turn, in order; fragments that follow each
// other are one event.
type stream struct {
	publish func(pluginsdk.StreamEvent)

	mu    sync.Mutex
	held  pluginsdk.StreamEvent // a fragment; without text there is none
	timer *time.Timer
}

// add publishes an event, a fragment a little later.
func (s *stream) add(event pluginsdk.StreamEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !event.Delta() || event.Text == "" {
		s.flush()
		s.publish(event)
		return
	}
	if s.held.Text != "" && s.held.Type == event.Type && s.held.Offset+len(s.held.Text) == event.Offset {
		s.held.Text += event.Text
	} else {
		s.flush()
		s.held = event
		s.wait()
	}
	if len(s.held.Text) >= maxGathered {
		s.flush()
	}
}

// end publishes what is left.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
}

// flush publishes the fragment that is held. The lock is held.
func (s *stream) flush() {
	if s.held.Text == "" {
		return
	}
	s.timer.Stop()
	s.publish(s.held)
	s.held = pluginsdk.StreamEvent{}
}

// wait has the fragment published when nothing else does it. The lock is held.
func (s *stream) wait() {
	if s.timer == nil {
		s.timer = time.AfterFunc(gather, s.end)
		return
	}
	s.timer.Reset(gather)
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
