package client

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Ask says something in a thread and waits for its ending. It listens before
// it speaks, so that no event is missed. Patience is how long a daemon that
// has gone away is waited for, 0 for ever. When ctx ends first the run goes on,
// and the error names it.
func (c *Client) Ask(ctx context.Context, threadID, content string, patience time.Duration) (*Ending, error) {
	talk := c.Converse(threadID, patience)
	defer talk.Close()
	if err := talk.Tried(ctx); err != nil {
		return nil, fmt.Errorf("gave up before anything was sent: %w", err)
	}
	accepted, err := talk.Say(ctx, content)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			return nil, fmt.Errorf("gave up while handing the message in; it may have been accepted (%w)", err)
		}
		return nil, err
	}
	talk.Track(accepted)
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gave up waiting (%w); run %s goes on, and its answer will be in thread %s",
				context.Cause(ctx), accepted.RunID, accepted.ThreadID)
		case notice := <-talk.Notices():
			if notice.Final == nil {
				continue
			}
			if err := notice.Final.Err; err != nil {
				return nil, fmt.Errorf("run %s was accepted in thread %s, and its ending cannot be read: %w",
					accepted.RunID, accepted.ThreadID, err)
			}
			return notice.Final, nil
		}
	}
}
