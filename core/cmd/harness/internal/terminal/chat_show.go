package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// welcome says where the person is and what was said last.
func (c *Chat) welcome(recent []pluginsdk.Message) {
	name := c.Thread.Name
	if name == "" {
		name = string(c.Thread.Kind) + " thread"
	}
	c.Screen.Line(c.Screen.Dim(Clean(name) + " (" + c.Thread.ID + ") at " + c.Client.Base()))
	c.Screen.Line(c.Screen.Dim("/ lists the commands, Ctrl-C stops a turn, /quit leaves"))
	for _, message := range recent {
		shown := Short(message.Content, recentLimit)
		c.Screen.Line(c.Screen.Dim(speaker(message) + "> " + shown))
		for _, line := range offered(message, shown) {
			c.Screen.Line(c.Screen.Dim(line))
		}
	}
}

func speaker(message pluginsdk.Message) string {
	switch message.Role {
	case pluginsdk.RoleUser:
		return "you"
	case pluginsdk.RoleAssistant:
		return "agent"
	case pluginsdk.RoleSystem:
	}
	return "harness"
}

// prompt asks for a line when there is nothing else to wait for.
func (c *Chat) prompt() {
	if !c.Interactive || c.prompted || c.posting != nil || c.working() && !c.asks.asking() {
		return
	}
	c.prompted = true
	words := "you> "
	if c.asks.asking() {
		words = c.asks.open[0].prompt()
	}
	c.Screen.Begin(c.Screen.Bold(words))
}

// leave says what goes on without the person.
func (c *Chat) leave() {
	c.Screen.Fresh()
	if c.posting != nil {
		c.posting.cancel()
		<-c.posting.done
	}
	for _, one := range slices.Concat(c.asks.open, c.asks.late) {
		c.Screen.Line(c.Screen.Yellow("(the agent waits for an answer: harness approvals show " + Clean(one.ID) + ")"))
	}
	if c.working() {
		c.Screen.Line(c.Screen.Dim("(what you asked for goes on; its answer will be in the thread)"))
	}
}

// heed shows what the conversation tells.
func (c *Chat) heed(ctx context.Context, notice client.Notice) {
	switch {
	case notice.Event != nil:
		if c.posting != nil && !c.knows(*notice.Event) {
			c.deferred = append(c.deferred, *notice.Event) // it may be of this very message
			return
		}
		c.event(ctx, *notice.Event)
	case notice.Lost != nil:
		if refused := (*client.Problem)(nil); errors.As(notice.Lost, &refused) {
			c.aside("(no events any more: " + Clean(notice.Lost.Error()) + "; answers appear when they are whole)")
			return
		}
		c.aside("(the connection is lost: " + Clean(notice.Lost.Error()) + "; trying again)")
	case notice.Back:
		c.aside("(connected again)")
		c.asks.look(ctx)
	case notice.Final != nil:
		c.final(notice.Final)
	}
}

// knows reports whether the runs that an event is about are followed.
func (c *Chat) knows(event pluginsdk.Event) bool {
	return c.turns[client.RunOf(event)] != nil && c.turns[client.Answering(event)] != nil
}

func (c *Chat) aside(text string) {
	c.prompted = false
	c.Screen.Line(c.Screen.Yellow(text))
}

// event shows what happens in a turn.
func (c *Chat) event(ctx context.Context, event pluginsdk.Event) {
	if c.asks.heed(ctx, event) {
		c.prompted = c.prompted && c.Screen.begun // it stands if nothing was shown
		return
	}
	switch event.Type { //nolint:exhaustive // the others are of runs
	case pluginsdk.EventResync:
		c.asks.look(ctx)
		c.prompted = c.prompted && c.Screen.begun
		return
	case pluginsdk.EventChatMessage:
		c.overhear(payload[pluginsdk.ChatMessage](event))
		return
	case pluginsdk.EventThreadMessage:
		if row := payload[pluginsdk.MessagePayload](event); row.Kind == pluginsdk.MessageNotification {
			c.notified(ctx, row.MessageID)
		}
		return
	}
	turn := c.turns[client.RunOf(event)]
	if turn == nil {
		return
	}
	// Of most of what happens there is nothing to see: then the prompt stands.
	defer func(shown int) { c.prompted = c.prompted && c.Screen.shown == shown }(c.Screen.shown)
	switch event.Type { //nolint:exhaustive // the others are not shown
	case pluginsdk.EventPipelineStart:
		turn.heard(time.Now(), "the agent is asked")
		turn.begin(c.Screen)
	case pluginsdk.EventPipelineStream:
		turn.heard(time.Now(), Doing(event))
		turn.stream(c.Screen, payload[pluginsdk.StreamPayload](event).Event)
	case pluginsdk.EventPipelineRetry:
		c.Screen.Line(c.Screen.Yellow("· " + FailedAttempt(event)))
	case pluginsdk.EventPipelineWaiting:
		c.Screen.Line(c.Screen.Dim("· " + WaitsFor(event)))
	case pluginsdk.EventPipelineParked:
		turn.heard(time.Now(), "the message waits")
		c.waits(ctx, client.RunOf(event))
	case pluginsdk.EventPipelineMerged:
		c.merge(client.RunOf(event), client.Answering(event))
	}
}

// waits shows what the message of a run waits for, each time once: a plan, a budget, or an earlier message that does.
func (c *Chat) waits(ctx context.Context, runID string) {
	ctx, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	found, err := c.Client.WaitsFor(ctx, c.Thread.ID, runID)
	if err != nil || found.Key == "" || c.told[found.Key] {
		return // if it cannot be read, it stands in the thread
	}
	c.told[found.Key] = true
	c.Screen.Line(c.Screen.Yellow("· " + Clean(found.Words)))
}

// merge goes on with the run that answers a turn's message too. When that one
// is followed already, this turn is part of it.
func (c *Chat) merge(id, into string) {
	turn, other := c.turns[id], c.turns[into]
	if turn == other {
		return
	}
	c.Screen.Line(c.Screen.Dim("(answered together with another message: " + Short(turn.said, detailLimit) + ")"))
	if other == nil {
		c.turns[into] = turn
		if n := slices.Index(c.order, id); n >= 0 {
			c.order[n] = into
		}
		return
	}
	other.foreign = other.foreign && turn.foreign
	c.drop(turn)
}

// drop forgets a turn under all the runs that it has been.
func (c *Chat) drop(gone *turn) {
	c.order = slices.DeleteFunc(c.order, func(run string) bool { return c.turns[run] == gone })
	maps.DeleteFunc(c.turns, func(_ string, turn *turn) bool { return turn == gone })
}

// overhear shows a message that was said elsewhere, and follows its turn.
func (c *Chat) overhear(message pluginsdk.ChatMessage) {
	if c.mine[message.RunID] || c.turns[message.RunID] != nil {
		return
	}
	c.prompted = false
	c.said(message.Source, message.Author, message.Content)
	c.track(pluginsdk.Accepted{ThreadID: message.ThreadID, MessageID: message.MessageID, RunID: message.RunID},
		&turn{said: message.Content, foreign: true})
}

// notificationLines is how many lines are shown of what people are told: it may be all that
// a task came to.
const notificationLines = 25

// notified shows what the thread is told of: that a task is over, or waits.
func (c *Chat) notified(ctx context.Context, id int64) {
	ctx, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	rows, err := c.Client.Messages(ctx, c.Thread.ID, id-1, pluginsdk.MessageNotification)
	if err != nil || len(rows) == 0 || rows[0].ID != id {
		return // it stands in the thread
	}
	c.prompted = false
	var about struct {
		Task string `json:"task"`
	}
	_ = json.Unmarshal(rows[0].Metadata, &about) // of another kind of notification it reads as empty
	text := strings.TrimSpace(Clean(rows[0].Content))
	head, rest, _ := strings.Cut(text, "\n")
	c.Screen.Line(c.Screen.Yellow("! ") + c.Screen.Bold(head))
	lines := strings.Split(strings.TrimSpace(rest), "\n")
	rest = strings.Join(lines[:min(len(lines), notificationLines)], "\n")
	if rest != "" {
		c.Screen.Passage()
		c.Screen.Text(rest)
		c.Screen.Fresh()
	}
	for _, line := range offered(rows[0], head+"\n"+rest) {
		c.Screen.Line(c.Screen.Dim(line))
	}
	more := ""
	if n := len(lines) - notificationLines; n > 0 {
		more = fmt.Sprintf("… %d lines more; ", n)
	}
	if about.Task != "" {
		c.Screen.Line(c.Screen.Dim("(" + more + "harness task show " + Clean(about.Task) + ")"))
	} else if more != "" {
		c.Screen.Line(c.Screen.Dim("(" + strings.TrimSuffix(more, "; ") + ")"))
	}
}

// said shows what was said elsewhere.
func (c *Chat) said(source, author, content string) {
	who := source
	if author != "" {
		who = author + " (" + source + ")"
	}
	c.Screen.Line(c.Screen.Bold(Clean(who)+"> ") + Clean(content))
}

// final ends a turn with what the database says.
func (c *Chat) final(ending *client.Ending) {
	turn := c.turns[ending.Accepted.RunID]
	if turn == nil {
		return
	}
	c.drop(turn)
	c.prompted = false
	if ending.Err == nil && c.answered[ending.Run.ID] {
		return // several messages were answered by one run
	}
	c.answered[ending.Run.ID] = true
	turn.end(c.Screen, ending)
}
