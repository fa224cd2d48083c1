package pipeline

import (
	"fmt"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The bounds of a prompt, and of what hooks make of other words, in bytes. What is
// longer is cut, with a mark: the next one who gets them must be able to.
const (
	maxPrompt       = 2 << 20
	maxReply        = 1 << 20
	maxCommandReply = 256 << 10
)

// boundWords cuts what a plugin would have people read: the end is left out.
func (p *Pipeline) boundWords(text string, most int, plugin string, hook pluginsdk.Hook) string {
	if len(text) > most {
		p.config.Log.Warn("what a hook returned is too long and is cut", "plugin", plugin, "hook", hook, "bytes", len(text), "most", most)
	}
	return cutAt(text, most)
}

// boundPrompt cuts a prompt as somebody has made it, with some room to spare: who
// comes after adds to it, and is not to be blamed. The middle is left out.
func (p *Pipeline) boundPrompt(t *trip, prompt, by string) string {
	if len(prompt) <= maxPrompt {
		return prompt
	}
	p.config.Log.Warn("a prompt is too long and is cut", "run", t.run.ID, "by", by, "bytes", len(prompt), "most", maxPrompt)
	return cutOut(prompt, maxPrompt/4*3)
}

// cutOut returns the two ends of a prompt, with a mark that says what is missing
// between them: what a person has just said stands at its end.
func cutOut(text string, most int) string {
	tail := strings.ToValidUTF8(text[len(text)-most/2:], "")
	return cutAt(text[:len(text)-most/2], most/2) + "\n\n" + tail
}

// cutAt returns the beginning of text, with a mark that says what is missing.
func cutAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n[cut here: %d of %d bytes are left out]", len(text)-most, len(text))
}

// wanted is a message as a plugin is to have it in a hook.
func wanted(plugin *pluginsdk.PluginInfo, hook pluginsdk.Hook, message pluginsdk.Message) pluginsdk.Message {
	if !plugin.Manifest.Wants(hook, pluginsdk.PartMessage) {
		message.Content, message.Metadata, message.Attachments = "", nil, nil
	}
	return message
}

// bare is a run without what it has come to.
func bare(run pluginsdk.Run) pluginsdk.Run {
	run.Result, run.Events, run.Steps, run.Outcomes, run.Failures = nil, nil, nil, nil, nil
	return run
}

// maxEventText is how much of one stream event's text is kept and broadcast,
// in bytes. The agent itself has seen all of it.
const maxEventText = 128 << 10

// maxRunEvents is how much of a run's events is kept in all, in bytes: they are
// one column, and one message to the plugins. What comes later is kept by name.
const maxRunEvents = 4 << 20

// keep collects an event of the turn within the run's budget, and reports whether it is
// one that is kept.
func (t *trip) keep(event pluginsdk.StreamEvent) bool {
	if event.Delta() {
		return false
	}
	size := len(event.Text) + len(event.Input)
	if t.eventBytes+size > maxRunEvents {
		event.Text, event.Input = "[not kept: this run has more to tell than is stored]", nil
	} else {
		t.eventBytes += size
	}
	if len(t.events) < maxRunEventCount {
		t.events = append(t.events, event)
		return true
	}
	return false
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
