package outbox

import (
	"github.com/seed-706843ae/harness/core/tally"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// figures are what the outbox counts.
type figures struct {
	tally.Set

	attempts *tally.Counter
}

func newFigures() *figures {
	f := &figures{}
	f.attempts = f.Counter("harness_delivery_attempts_total",
		"Attempts of deliveries, by what they made of them: delivered, pending (tried again) or dead.", "plugin", "state")
	return f
}

// Figures returns what was counted since New.
func (o *Outbox) Figures() []pluginsdk.Figure { return o.figures.Figures() }
