package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// recentMessages is how many messages are shown at the start.
	recentMessages = 6
	// recentLimit is how much of each is shown, in characters.
	recentLimit = 300
	// aside bounds the small requests beside the conversation.
	aside = 5 * time.Second
)

// Chat is a conversation with the agent in one thread.
type Chat struct {
	Client *client.Client
	Thread pluginsdk.Thread
	Screen *Screen
	In     io.Reader
	// Interactive says that a person types In and may do so while the agent
	// works. Otherwise its lines are said one after the other.
	Interactive bool
	// Interrupts stop the turn that runs; when none does, they end the chat.
	Interrupts <-chan os.Signal
	// Unread is how soon after a question of the agent's was shown a line cannot be its
	// answer.
	Unread time.Duration
	// Ticks, when set, are when to look whether the person has seen nothing for long.
	Ticks <-chan time.Time

	talk     *client.Conversation
	lines    <-chan string
	turns    map[string]*turn // by run, those that have not ended
	order    []string         // the runs that answer turns, as they were accepted
	mine     map[string]bool  // every run that was asked for here
	answered map[string]bool  // every run whose ending was shown
	told     map[string]bool  // keys of what messages wait for (client.Waits), of which was told
	posting  *posting         // the message that is being handed in
	deferred []pluginsdk.Event
	asks     *questions // what the agent asks
	prompted bool
}

// posting is a message on its way to the daemon.
type posting struct {
	text   string
	cancel context.CancelFunc
	done   chan posted
}

type posted struct {
	accepted pluginsdk.Accepted
	err      error
}

// Run talks until the person leaves, In ends or ctx does. It is an error when
// the daemon does not answer at the start; later it is waited for.
func (c *Chat) Run(ctx context.Context) error {
	recent, err := c.Client.Latest(ctx, c.Thread.ID, recentMessages, pluginsdk.MessageText, pluginsdk.MessageNotification)
	if err != nil {
		return err
	}
	c.turns, c.mine, c.answered = make(map[string]*turn), make(map[string]bool), make(map[string]bool)
	c.told = make(map[string]bool)
	c.welcome(recent)
	c.talk = c.Client.Converse(c.Thread.ID, 0)
	defer c.talk.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.talk.Unattended = !c.Interactive
	c.listen(ctx)
	c.attend()
	c.asks.look(ctx)
	c.lines = readLines(ctx, c.In)
	for c.step(ctx) {
	}
	c.leave()
	return nil
}

// listen waits a moment for the events, so that nothing of the first turn is
// missed.
func (c *Chat) listen(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	if err := c.talk.Tried(ctx); err != nil {
		c.Screen.Line(c.Screen.Yellow("(no events yet: answers appear when they are whole)"))
	}
}

// attend has what the agent asks in the thread shown, and in the threads of its tasks: who
// gave the work may be the only one who is asked.
func (c *Chat) attend() {
	c.asks = &questions{
		client: c.Client, screen: c.Screen, query: pluginsdk.ApprovalQuery{ThreadID: c.Thread.ID, Below: true},
		tell: !c.Interactive, unread: c.Unread, follow: c.followAsking,
	}
}

// followAsking follows the run of a question, which may have been asked for long ago: who
// answers sees what becomes of it.
func (c *Chat) followAsking(ctx context.Context, approval pluginsdk.Approval) {
	if approval.ThreadID != c.Thread.ID {
		return // this thread is told what becomes of its tasks
	}
	if turn := c.turns[approval.RunID]; turn != nil {
		turn.heard(time.Now(), "it waits for an answer")
		return
	}
	run, err := c.Client.Run(ctx, approval.RunID)
	if err != nil || run.State.Final() || run.Kind == pluginsdk.RunTurn {
		return // the answer stands in the thread
	}
	c.track(pluginsdk.Accepted{ThreadID: run.ThreadID, MessageID: run.MessageID, RunID: run.ID}, &turn{foreign: true})
}

// step waits for one thing to happen and deals with it; false ends the chat.
func (c *Chat) step(ctx context.Context) bool {
	c.prompt()
	var lines <-chan string
	if c.posting == nil && (c.Interactive || !c.working()) {
		lines = c.lines
	}
	var done <-chan posted
	if c.posting != nil {
		done = c.posting.done
	}
	select {
	case <-ctx.Done():
		return false
	case <-c.Interrupts:
		return c.interrupt(ctx)
	case line, ok := <-lines:
		return ok && c.say(ctx, line)
	case result := <-done:
		c.accept(ctx, result)
	case notice := <-c.talk.Notices():
		c.heed(ctx, notice)
	case now := <-c.Ticks:
		c.reassure(now)
	}
	return true
}

// reassure says what the turn that the person waits for is at, when that has shown
// nothing for long. A line that is written over and over would take away what they are
// typing.
func (c *Chat) reassure(now time.Time) {
	if c.asks.asking() {
		return // it waits for the person
	}
	for _, id := range c.order {
		if turn := c.turns[id]; !turn.foreign {
			turn.still(c.Screen, now)
			return
		}
	}
}

// working reports whether something that was said here is unanswered.
func (c *Chat) working() bool {
	for _, turn := range c.turns {
		if !turn.foreign {
			return true
		}
	}
	return false
}

// say hands a line in; false when it asks to leave.
func (c *Chat) say(ctx context.Context, line string) bool {
	c.prompted = false
	if c.Interactive {
		c.Screen.Entered()
	}
	if line = strings.TrimSpace(line); line == "/" {
		c.commands(ctx)
		return true
	}
	switch line = c.asks.line(ctx, line); line {
	case "":
		return true
	case "/quit":
		return false
	}
	if !c.Interactive {
		c.Screen.Line(c.Screen.Bold("you> ") + Clean(line))
	}
	ctx, cancel := context.WithCancel(ctx)
	c.posting = &posting{text: line, cancel: cancel, done: make(chan posted, 1)}
	go func(done chan<- posted) {
		accepted, err := c.talk.Say(ctx, line)
		done <- posted{accepted, err}
	}(c.posting.done)
	return true
}

// accept begins the turn of a message that the daemon has.
func (c *Chat) accept(ctx context.Context, result posted) {
	text := c.posting.text
	c.posting.cancel()
	c.posting = nil
	switch {
	case errors.Is(result.err, context.Canceled):
		c.Screen.Line(c.Screen.Yellow("(gave up handing that in)"))
	case result.err != nil:
		c.Screen.Line(c.Screen.Red("✗ " + Clean(result.err.Error())))
	default:
		c.mine[result.accepted.RunID] = true
		c.track(result.accepted, &turn{said: text, waited: c.queued(ctx, result.accepted)})
	}
	for _, event := range c.deferred {
		c.event(ctx, event)
	}
	c.deferred = nil
}

// queued says how many messages are before this one, if any.
func (c *Chat) queued(ctx context.Context, accepted pluginsdk.Accepted) bool {
	ctx, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	ahead, err := c.Client.Ahead(ctx, accepted.ThreadID, accepted.RunID)
	if err != nil || ahead == 0 {
		return false // it is only for information
	}
	c.Screen.Line(c.Screen.Dim(fmt.Sprintf("(waiting: %d before this one)", ahead)))
	c.waits(ctx, accepted.RunID)
	return true
}

func (c *Chat) track(run pluginsdk.Accepted, turn *turn) {
	turn.heard(time.Now(), "it waits for its turn")
	c.turns[run.RunID] = turn
	c.order = append(c.order, run.RunID)
	c.talk.Track(run)
}

// interrupt stops what is under way; false when nothing is, or when it has
// been asked for already.
func (c *Chat) interrupt(ctx context.Context) bool {
	if c.posting != nil {
		c.posting.cancel()
		return true
	}
	for _, id := range c.order {
		turn := c.turns[id]
		if turn.foreign {
			continue
		}
		if turn.stopped {
			return false
		}
		turn.stopped = true
		c.Screen.Line(c.Screen.Dim("(stopping; once more leaves)"))
		ctx, cancel := context.WithTimeout(ctx, aside)
		defer cancel()
		if _, err := c.Client.Cancel(ctx, id); err != nil {
			c.Screen.Line(c.Screen.Red("✗ " + Clean(err.Error())))
		}
		return true
	}
	return false
}
