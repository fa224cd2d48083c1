package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Waiting says how an ending is waited for.
type Waiting struct {
	// Patience is how long a daemon that has gone away is waited for, 0 for ever.
	Patience time.Duration
	// Event, when set, is called with the events of the run, and of the one it
	// was merged into, one at a time.
	Event func(pluginsdk.Event)
	// Look, when set, is called with the run once it is accepted, and again whenever
	// events may have been missed: what is told by events only is to be read then.
	Look func(runID string)
	// Waits, when set, is called with what the run waits for, once for each time that this changes.
	Waits func(Waits)
	// Unattended says that nobody is there to answer what the agent asks: it is denied at
	// once.
	Unattended bool
}

// Ask says something in a thread, with files that were taken in, and waits for its ending. It listens before
// it speaks, so that no event is missed. When ctx ends first the run goes on,
// and the error names it.
func (c *Client) Ask(ctx context.Context, threadID, content string, waiting Waiting, files ...FileRef) (*Ending, error) {
	talk := c.Converse(threadID, waiting.Patience)
	defer talk.Close()
	talk.Unattended = waiting.Unattended
	if err := talk.Tried(ctx); err != nil {
		return nil, fmt.Errorf("gave up before anything was sent: %w", err)
	}
	accepted, err := talk.Say(ctx, content, files...)
	if err != nil {
		return nil, unsure(ctx, err)
	}
	return talk.await(ctx, accepted, waiting)
}

// AskAgain hands the message of a run that failed or was cancelled in once
// more and waits for its ending, as Ask does.
func (c *Client) AskAgain(ctx context.Context, runID string, waiting Waiting) (*Ending, error) {
	accepted, err := c.insist(ctx, waiting.Patience, func() (pluginsdk.Accepted, error) { return c.Retry(ctx, runID) })
	if err != nil {
		return nil, unsure(ctx, err)
	}
	talk := c.Converse(accepted.ThreadID, waiting.Patience)
	defer talk.Close()
	return talk.await(ctx, accepted, waiting)
}

// unsure is the error of a message whose answer was not waited for.
func unsure(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("gave up while handing the message in; it may have been accepted (%w)", err)
	}
	return err
}

// await waits for the ending of a run that was accepted.
func (v *Conversation) await(ctx context.Context, accepted pluginsdk.Accepted, waiting Waiting) (*Ending, error) {
	v.Track(accepted)
	w := waiter{Waiting: waiting, talk: v, threadID: accepted.ThreadID, by: accepted.RunID, told: make(map[string]bool)}
	w.look(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("gave up waiting (%w); run %s goes on, and its answer will be in thread %s",
				context.Cause(ctx), w.by, accepted.ThreadID)
		case notice := <-v.Notices():
			switch {
			case notice.Event != nil:
				w.heed(ctx, *notice.Event)
			case notice.Back:
				w.look(ctx)
			case notice.Final != nil && notice.Final.Err != nil:
				return nil, fmt.Errorf("run %s was accepted in thread %s, and its ending cannot be read: %w",
					accepted.RunID, accepted.ThreadID, notice.Final.Err)
			case notice.Final != nil:
				return notice.Final, nil
			}
		}
	}
}

// waiter tells who waits for a run what happens meanwhile.
type waiter struct {
	Waiting
	talk     *Conversation
	threadID string
	by       string          // the run that answers
	told     map[string]bool // keys of what it waited for, of which was told
}

// heed takes an event of the thread.
func (w *waiter) heed(ctx context.Context, event pluginsdk.Event) {
	switch event.Type { //nolint:exhaustive // the others are of one run
	case pluginsdk.EventResync:
		w.look(ctx)
		return
	case pluginsdk.EventPipelineParked: // of this run, or of one that is before it in the thread's queue
		w.waits(ctx)
	}
	if RunOf(event) != w.by {
		return
	}
	if by := Answering(event); by != w.by {
		w.by = by
		w.look(ctx)
	}
	if w.Event != nil {
		w.Event(event)
	}
}

// look reads what is otherwise told by events only.
func (w *waiter) look(ctx context.Context) {
	if w.Look != nil {
		w.Look(w.by)
	}
	w.waits(ctx)
}

// waits tells what the run waits for, each time once. When that cannot be read, the run is waited for all the same.
func (w *waiter) waits(ctx context.Context) {
	if w.Waits == nil {
		return
	}
	found, err := w.talk.client.WaitsFor(ctx, w.threadID, w.by)
	if err != nil || found.Key == "" || w.told[found.Key] {
		return
	}
	w.told[found.Key] = true
	w.Waits(found)
}

// Written returns what the agent wrote where a message of the ending is its
// reply: as it was streamed, and without the commands that were cut from it. A
// message that differs from the latter was changed by plugins. Both are "" when
// the message is not the reply, or when the daemon cannot hand the run out.
func (e *Ending) Written(message pluginsdk.Message) (streamed, without string) {
	if message.Key != e.Run.ID+":reply" || message.Role != pluginsdk.RoleAssistant || e.Run.Result == nil {
		return "", ""
	}
	streamed = e.Run.Result.Text
	return streamed, withoutCommands(streamed, e.Run.Outcomes)
}

// withoutCommands returns a text without the commands that were carried out, as
// the daemon cuts them: blocks, and lines that begin with /NAME, but not what
// stands in a fenced code block.
func withoutCommands(text string, carriedOut []pluginsdk.Outcome) string {
	names := make(map[string]bool, len(carriedOut))
	for _, outcome := range carriedOut {
		names["/"+outcome.Name] = true
	}
	var kept strings.Builder
	fenced := false
	for text != "" && len(names) > 0 {
		line, _, _ := strings.Cut(text, "\n")
		next := text[min(len(line)+1, len(text)):]
		begin := strings.TrimSpace(line)
		_, behind, closed := strings.Cut(text, "[/COMMAND]")
		switch {
		case strings.HasPrefix(begin, "~~~"), strings.HasPrefix(begin, "```") && !strings.Contains(strings.TrimLeft(begin, "`"), "`"):
			fenced = !fenced
		case fenced:
		case strings.HasPrefix(begin, "[COMMAND") && closed:
			text = strings.TrimPrefix(behind, "\n")
			continue
		case strings.HasPrefix(line, "/") && names[strings.Fields(line)[0]]:
			text = next
			continue
		}
		kept.WriteString(text[:len(text)-len(next)])
		text = next
	}
	kept.WriteString(text)
	return strings.TrimSpace(kept.String())
}
