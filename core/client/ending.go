package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Ending is how a run ended.
type Ending struct {
	Accepted pluginsdk.Accepted // the message's run
	Run      Run                // the run that answered it: the same, or the one it was merged into
	// Messages are the rows of the run that people read: texts, and status
	// rows that say more than that it started and ended.
	Messages []pluginsdk.Message
	// Err, when set, is why the ending is not known; the other fields but
	// Accepted are then empty.
	Err error
}

// Succeeded reports whether the run did what was asked.
func (e *Ending) Succeeded() bool { return e.Err == nil && e.Run.State == pluginsdk.RunSucceeded }

// Texts returns the replies and the answers of commands.
func (e *Ending) Texts() []pluginsdk.Message { return e.of(pluginsdk.MessageText) }

// Statuses returns what the daemon has to say about the run.
func (e *Ending) Statuses() []pluginsdk.Message { return e.of(pluginsdk.MessageStatus) }

// Reason says why a run did not succeed, when no row does.
func (e *Ending) Reason() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Run.Error != "":
		return e.Run.Error
	}
	return "the run is " + string(e.Run.State)
}

func (e *Ending) of(kind pluginsdk.MessageKind) []pluginsdk.Message {
	var found []pluginsdk.Message
	for _, message := range e.Messages {
		if message.Kind == kind {
			found = append(found, message)
		}
	}
	return found
}

// mergeDepth is how many times a run is followed into the one that took its
// message over.
const mergeDepth = 10

var errMerged = errors.New("the message was handed from run to run without end; see `harness doctor` and the daemon's log")

// ending reads how a run ended; nil when it has not.
func (c *Client) ending(ctx context.Context, accepted pluginsdk.Accepted) (*Ending, error) {
	id := accepted.RunID
	for range mergeDepth {
		run, err := c.Run(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !run.State.Final():
			return nil, nil //nolint:nilnil // not ended is no error
		case run.State == pluginsdk.RunMerged && run.MergedInto != "":
			id = run.MergedInto
			continue
		}
		messages, err := c.Messages(ctx, accepted.ThreadID, accepted.MessageID, pluginsdk.MessageText, pluginsdk.MessageStatus)
		if err != nil {
			return nil, err
		}
		return &Ending{Accepted: accepted, Run: run, Messages: readable(messages, run.ID)}, nil
	}
	return nil, errMerged
}

// readable returns the rows of a run that people read.
func readable(messages []pluginsdk.Message, runID string) []pluginsdk.Message {
	var rows []pluginsdk.Message
	for _, message := range messages {
		if message.RunID == runID && message.Role != pluginsdk.RoleUser && !marker(message) {
			rows = append(rows, message)
		}
	}
	return rows
}

// marker reports whether a row only marks that a run began or ended.
func marker(message pluginsdk.Message) bool {
	var metadata struct {
		Event string `json:"event"`
	}
	if message.Kind != pluginsdk.MessageStatus || json.Unmarshal(message.Metadata, &metadata) != nil {
		return false
	}
	return metadata.Event == "pipeline_start" || metadata.Event == "pipeline_complete"
}

// RunOf returns the id of the run that an event is about, or "".
func RunOf(event pluginsdk.Event) string {
	var about struct {
		RunID string `json:"runId"`
	}
	if json.Unmarshal(event.Data, &about) != nil {
		return ""
	}
	return about.RunID
}
