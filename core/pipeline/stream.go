package pipeline

import (
	"sync"
	"time"

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
