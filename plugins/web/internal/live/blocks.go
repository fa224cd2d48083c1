package live

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxTurnBytes bounds what is kept of a turn: of more, its oldest blocks are dropped.
	maxTurnBytes = 256 << 10
	// blockBytes is what a block counts for beside what is in it.
	blockBytes = 128
	// unknown is the next offset where it cannot be said: any delta's is greater.
	unknown = -1
)

// blocks is what the agent has done in a turn, in order: the block that is being written of
// each type is put together of its deltas until it comes whole.
type blocks struct {
	kept    []*block
	open    map[pluginsdk.StreamEventType]*block // by the type of the whole block
	next    map[pluginsdk.StreamEventType]int    // the Offset of the next delta; by the same type
	bytes   int
	dropped bool // the first blocks are not kept any more
}

// block is a Block that may be written to; its Text is in written while it is open.
type block struct {
	Block

	written strings.Builder
	bytes   int // what it counts for
}

// list returns what is kept. Nothing of it changes any more.
func (b *blocks) list() []Block {
	list := make([]Block, 0, len(b.kept))
	for _, one := range b.kept {
		listed := one.Block
		if one.Open {
			listed.Text, listed.Next = one.written.String(), b.next[one.Type]
		}
		list = append(list, listed)
	}
	return list
}

// take takes in what the agent did.
func (b *blocks) take(event pluginsdk.StreamEvent) {
	switch event.Type { //nolint:exhaustive // the others come whole
	case pluginsdk.StreamTextDelta:
		event.Type = pluginsdk.StreamText
		b.write(event)
	case pluginsdk.StreamThinkingDelta:
		event.Type = pluginsdk.StreamThinking
		b.write(event)
	case pluginsdk.StreamText, pluginsdk.StreamThinking:
		b.finish(event)
	case pluginsdk.StreamRetry:
		b.giveUp()
		b.add(event)
	default:
		b.add(event)
	}
}

// add adds a block that is whole.
func (b *blocks) add(event pluginsdk.StreamEvent) {
	one := &block{}
	b.kept = append(b.kept, one)
	b.set(one, event)
}

// write adds a delta, of the type that the whole block will have, to the block that is
// being written; the first of a block begins it.
func (b *blocks) write(delta pluginsdk.StreamEvent) {
	if b.open == nil {
		b.open, b.next = make(map[pluginsdk.StreamEventType]*block), make(map[pluginsdk.StreamEventType]int)
	}
	one, next := b.open[delta.Type], b.next[delta.Type]
	if one == nil {
		one = &block{}
		b.open[delta.Type] = one
		b.kept = append(b.kept, one)
		b.set(one, pluginsdk.StreamEvent{Type: delta.Type, Offset: delta.Offset, Timestamp: delta.Timestamp})
		// Less than next: the blocks before had words that were not written in deltas.
		one.Open, one.Torn = true, delta.Offset > next
	} else if delta.Offset != next {
		one.Torn = true
	}
	b.next[delta.Type] = delta.Offset + len(delta.Text)
	if one.Torn || one.Cut {
		return
	}
	text := shortened(delta.Text, b.room(len(delta.Text), one))
	one.Cut = len(text) < len(delta.Text)
	one.written.WriteString(text)
	one.bytes += len(text)
	b.bytes += len(text)
}

// finish puts a whole block in the place of the one that was being written. What was lost
// of that one's deltas does not count as lost of the next one's.
func (b *blocks) finish(whole pluginsdk.StreamEvent) {
	one := b.open[whole.Type]
	if one == nil {
		if next, known := b.next[whole.Type]; known && next != unknown {
			b.next[whole.Type] = next + len(whole.Text)
		}
		b.add(whole)
		return
	}
	b.next[whole.Type] = max(b.next[whole.Type], one.Offset+len(whole.Text))
	delete(b.open, whole.Type)
	one.Block, one.written = Block{}, strings.Builder{}
	b.set(one, whole)
}

// giveUp forgets what is being written: the agent begins anew with it.
func (b *blocks) giveUp() {
	for _, one := range b.open {
		b.bytes -= one.bytes
		b.kept = slices.DeleteFunc(b.kept, func(of *block) bool { return of == one })
	}
	clear(b.open)
}

// set gives a block what is in it, as much as there is room for.
func (b *blocks) set(one *block, event pluginsdk.StreamEvent) {
	b.bytes -= one.bytes
	one.bytes = 0
	beside := blockBytes + len(event.ToolName) + len(event.ToolUseID)
	want := beside + len(event.Text) + len(event.Input)
	if have := b.room(want, one); have < want {
		one.Cut = true
		event.Input = nil // half of it would be no JSON
		event.Text = shortened(event.Text, max(0, have-beside))
	}
	one.StreamEvent = event
	one.bytes = beside + len(event.Text) + len(event.Input)
	b.bytes += one.bytes
}

// room drops the oldest blocks, but for one, until there is room for so many bytes more, and
// returns for how many there is.
func (b *blocks) room(want int, one *block) int {
	for b.bytes+want > maxTurnBytes {
		i := slices.IndexFunc(b.kept, func(of *block) bool { return of != one })
		if i < 0 {
			break
		}
		old := b.kept[i]
		if old.Open { // what comes of it begins in its middle
			delete(b.open, old.Type)
			b.next[old.Type] = unknown
		}
		b.bytes -= old.bytes
		b.kept = slices.Delete(b.kept, i, i+1)
		b.dropped = true
	}
	return max(0, min(want, maxTurnBytes-b.bytes))
}

// shortened is as much of a text as has no more than most bytes, whole characters only.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
