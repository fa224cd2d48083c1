package live

import (
	"github.com/seed-706843ae/harness/pluginsdk"
)

// begin greets a client that has been in the hub since position joined. One that
// asks to go on from a position first gets what it missed since; the queue then
// goes on without gap, and send skips what it has in common with the replay.
func (h *Hub) begin(c *client, joined pluginsdk.Position, resume *pluginsdk.Position) error {
	if resume == nil {
		c.last = joined
		return c.put(markFrame(eventHello, joined))
	}
	page, err := h.events.List(c.ctx, &pluginsdk.ListEventsRequest{After: *resume})
	if err != nil && c.ctx.Err() != nil {
		return err
	}
	if err != nil || page.Resync {
		if err != nil {
			h.log.Warn("events could not be replayed; the client is told to read the state instead", "err", err)
		}
		if err := c.put(markFrame(eventHello, joined)); err != nil {
			return err
		}
		return c.resync(joined)
	}
	c.last = *resume
	if err := c.put(markFrame(eventHello, *resume)); err != nil {
		return err
	}
	return h.replay(c, joined, page)
}

// replay sends a page of missed events and those after it, up to joined.
func (h *Hub) replay(c *client, joined pluginsdk.Position, page *pluginsdk.ListEventsResponse) error {
	for len(page.Events) > 0 {
		for _, event := range page.Events {
			f, err := newFrame(event)
			if err != nil {
				h.log.Error("event cannot be encoded", "event", event.Type, "seq", event.Seq, "err", err)
				continue
			}
			if !c.wants.passes(f) {
				continue
			}
			if err := c.send(f); err != nil {
				return err
			}
		}
		if reached(page.Next, joined) {
			return nil
		}
		var err error
		page, err = h.events.List(c.ctx, &pluginsdk.ListEventsRequest{After: page.Next})
		if err != nil && c.ctx.Err() != nil {
			return err
		}
		if err != nil || page.Resync {
			return c.resync(joined)
		}
	}
	return nil
}

// resync tells the client that it missed events, and goes on after joined.
func (c *client) resync(joined pluginsdk.Position) error {
	if !reached(c.last, joined) {
		c.last = joined
	}
	return c.put(markFrame(pluginsdk.EventResync, c.last))
}
