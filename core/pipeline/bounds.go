package pipeline

import (
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxEventText is how much of one stream event's text is kept and broadcast,
// in bytes. The agent itself has seen all of it.
const maxEventText = 128 << 10

// maxRunEvents is how much of a run's events is kept in all, in bytes: they are
// one column, and one message to the plugins. What comes later is kept by name.
const maxRunEvents = 4 << 20

// keep collects an event of the turn within the run's budget.
func (t *trip) keep(event pluginsdk.StreamEvent) {
	if event.Delta() {
		return
	}
	size := len(event.Text) + len(event.Input)
	if t.eventBytes+size > maxRunEvents {
		event.Text, event.Input = "[not kept: this run has more to tell than is stored]", nil
	} else {
		t.eventBytes += size
	}
	if len(t.events) < maxRunEventCount {
		t.events = append(t.events, event)
	}
}

// maxRunEventCount bounds how many events of a run are kept.
const maxRunEventCount = 20000

// bounded cuts what a tool returned or was given to what is worth keeping, so
// that neither a run's row nor the event bus grows with a tool's output.
func bounded(event pluginsdk.StreamEvent) pluginsdk.StreamEvent {
	if event.Type == pluginsdk.StreamToolResult && len(event.Text) > maxEventText {
		event.Text = strings.ToValidUTF8(event.Text[:maxEventText], "") + "\n[cut: the rest is not kept]"
	}
	if len(event.Input) > maxEventText {
		event.Input = []byte(`{"cut":"the input is too large to keep"}`)
	}
	return event
}
