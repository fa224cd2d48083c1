package events

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the bus counts.
type figures struct {
	tally.Set

	published        *tally.Counter
	dropped, resyncs *tally.Counter // by subscriber
}

func newFigures() *figures {
	f := &figures{}
	f.published = f.Counter("harness_events_published_total", "Events that were published.")
	f.dropped = f.Counter("harness_events_dropped_total",
		"Events that a subscriber did not get because it was too slow, pieces of the agent's output first.", "subscriber")
	f.resyncs = f.Counter("harness_event_resyncs_total",
		"Times that a subscriber was told to read the database, because it was too slow or failed.", "subscriber")
	return f
}

// Figures returns what was counted since New.
func (b *Bus) Figures() []pluginsdk.Figure { return b.figures.Figures() }
