package live

import (
	"encoding/json"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxTurns bounds the runs whose turns are kept: of more, the one that has said nothing
// for the longest is forgotten.
const maxTurns = 64

// Turn is what the run that answers a thread's messages has done so far, in the attempt that
// is at work or waits for people.
type Turn struct {
	ThreadID, RunID string
	MessageID       int64 // what is answered; 0 when the attempt's beginning was not seen
	Attempt         int   // 0 when the attempt's beginning was not seen
	Blocks          []Block
	// FromStart says that the blocks are all of the attempt. Otherwise the first of them are
	// missing: they came before the plugin did, or there were too many. Those that are whole
	// are among the Events of the run (Runs.Get), which has the newest a few seconds late.
	FromStart bool
	// At is the position that this is true at: events up to it are in it, none after it are.
	At pluginsdk.Position
}

// Block is one thing that the agent did: an event as it came, or a text or thought that is
// still being written, of the type that it will have when it is whole.
type Block struct {
	pluginsdk.StreamEvent

	// Open says that the block is being written: Text is what was written so far, and Offset
	// that of its first byte.
	Open bool
	// Next is, of an open block, the Offset that the next delta of its type has when none was lost.
	Next int
	// Torn says, of an open block, that a delta was lost: Text ends where that was, and nothing
	// is added any more. The whole block follows.
	Torn bool
	// Cut says that the block is too large to be kept: the rest of Text, or Input, is missing.
	Cut bool
}

// Position returns where the stream stands. A page that takes it before it reads the
// database, and goes on after it over the socket, misses nothing: what happens meanwhile it
// gets twice. It is the zero one while that is not known; the page then begins with a hello.
// Who asks has the hub follow the events for a while.
func (h *Hub) Position() pluginsdk.Position {
	if h.wake() != nil {
		return pluginsdk.Position{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position
}

// Turn returns what the run that answers a thread's messages has done so far, and whether
// there is one. Turns that plugins ask for are left out if their beginning was seen: RunID says
// whose it is. At is set in any case: a page takes the Turn before it reads the database, as
// it would the Position, and goes on from there.
func (h *Hub) Turn(threadID string) (Turn, bool) {
	if h.wake() != nil {
		return Turn{ThreadID: threadID}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	turn, ok := h.turns.of(threadID)
	turn.At = h.position
	return turn, ok
}

// turns follows the runs that are at work. Its caller sees to it that one goroutine uses it.
type turns struct {
	boot    string
	running map[string]*running // by the run's id
	clock   uint64              // counts what was heard
}

// running is a run that is at work.
type running struct {
	run       pluginsdk.RunRef
	aside     bool // a plugin asked for the turn, or it is a command, which may be beside a turn: nothing of it is kept
	fromStart bool
	heard     uint64 // by the clock of turns
	blocks    blocks
}

// take takes in an event. Events that were missed, and another daemon, end all that was
// known: it may be over.
func (t *turns) take(event pluginsdk.Event) {
	if event.Boot != t.boot || event.Type == pluginsdk.EventResync {
		t.boot = event.Boot
		clear(t.running)
	}
	switch event.Type { //nolint:exhaustive // the others are not about turns
	case pluginsdk.EventPipelineStart:
		var run pluginsdk.RunRef
		if json.Unmarshal(event.Data, &run) == nil {
			delete(t.running, run.RunID)
			begun := t.hear(run)
			begun.fromStart, begun.aside = true, run.MessageID == 0 || run.Kind == pluginsdk.RunCommand
		}
	case pluginsdk.EventPipelineStream:
		var stream pluginsdk.StreamPayload
		if json.Unmarshal(event.Data, &stream) != nil {
			return
		}
		on := t.hear(pluginsdk.RunRef{ThreadID: stream.ThreadID, RunID: stream.RunID})
		if !on.aside {
			on.blocks.take(stream.Event)
		}
	case pluginsdk.EventPipelineComplete, pluginsdk.EventPipelineError, pluginsdk.EventPipelineRetry, pluginsdk.EventPipelineMerged,
		pluginsdk.EventPipelineParked:
		var over pluginsdk.RunRef // they all have runId
		if json.Unmarshal(event.Data, &over) == nil {
			delete(t.running, over.RunID)
		}
	}
}

// hear returns the run, which is new when it is not known.
func (t *turns) hear(run pluginsdk.RunRef) *running {
	t.clock++
	on := t.running[run.RunID]
	if on == nil {
		t.forget(maxTurns - 1)
		on = &running{run: run}
		if t.running == nil {
			t.running = make(map[string]*running)
		}
		t.running[run.RunID] = on
	}
	on.heard = t.clock
	return on
}

// forget leaves no more than most runs, those that were heard of last.
func (t *turns) forget(most int) {
	for len(t.running) > most {
		var quiet *running
		for _, on := range t.running {
			if quiet == nil || on.heard < quiet.heard {
				quiet = on
			}
		}
		delete(t.running, quiet.run.RunID)
	}
}

// of returns the turn of a thread, of several the one that was heard of last: a run that
// has ended without a word is followed by another.
func (t *turns) of(threadID string) (Turn, bool) {
	var last *running
	for _, on := range t.running {
		if on.run.ThreadID == threadID && !on.aside && (last == nil || on.heard > last.heard) {
			last = on
		}
	}
	if last == nil {
		return Turn{ThreadID: threadID}, false
	}
	return Turn{
		ThreadID: threadID, RunID: last.run.RunID, MessageID: last.run.MessageID, Attempt: last.run.Attempt,
		Blocks: last.blocks.list(), FromStart: last.fromStart && !last.blocks.dropped,
	}, true
}
