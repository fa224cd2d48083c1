package pipeline

import (
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxEventText is how much of one stream event's text is kept and broadcast,
// in bytes. The agent itself has seen all of it.
const maxEventText = 128 << 10

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
