package chat

import (
	"net/http"
	"slices"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/live"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// turn is what an agent does at this moment.
type turn struct {
	ThreadID, RunID string
	Steps           []step
	Missing         bool // the first steps are not known any more
	At              pluginsdk.Position
}

// turnOf is what the agent of a thread does at this moment; it has no RunID when it does
// nothing.
func (c *chat) turnOf(threadID string) turn {
	now, ok := c.turns.Turn(threadID)
	made := turn{ThreadID: threadID, At: now.At}
	if ok {
		made.RunID, made.Missing, made.Steps = now.RunID, !now.FromStart, stepsOfBlocks(now.Blocks)
	}
	return made
}

// running is the part that shows it. A script asks for it again and again while the agent
// speaks, and puts what it has heard since behind it.
func (c *chat) running(r *http.Request) (templ.Component, error) {
	return turnPart(c.turnOf(r.PathValue("thread"))), nil
}

// stepsOfBlocks are the steps of a turn that is under way.
func stepsOfBlocks(blocks []live.Block) []step {
	made := &steps{}
	for _, block := range blocks {
		if one := made.add(block.StreamEvent); one != nil {
			one.Writing, one.Cut = block.Open, one.Cut || block.Cut
		}
	}
	return made.all
}

// news is the part of what is new in a conversation after a message, and of all that can
// change besides: what the agent does and asks, and how the runs stand.
func (c *chat) news(r *http.Request) (templ.Component, error) {
	ctx, threadID := r.Context(), r.PathValue("thread")
	after, err := number(r.URL.Query(), "after")
	if err != nil {
		return nil, err
	}
	shown := conversation{viewer: viewerOf(r), Turn: c.turnOf(threadID), Thread: pluginsdk.Thread{ID: threadID}}
	if shown.State, err = c.state(ctx, threadID); err != nil {
		return nil, err
	}
	if shown.Asks, err = c.asks(ctx, threadID); err != nil {
		return nil, err
	}
	if shown.Said, err = c.saidAfter(ctx, threadID, max(0, after-lookedAt), newsAtOnce, shown.viewer); err != nil {
		return nil, err
	}
	shown.Said.Last = max(shown.Said.Last, after)
	if err := c.mark(ctx, &shown); err != nil {
		return nil, err
	}
	shown.Said.Items = slices.DeleteFunc(shown.Said.Items, func(one item) bool { return one.Message.ID <= after-overlap && !one.Over })
	return newsPart(shown), nil
}
