package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

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

// Answered reports whether the run succeeded, and, if it is a command that was typed, the command was carried out: a
// plugin has not refused it, nor failed in it. Of a message it does not matter what became of the agent's own commands.
func (e *Ending) Answered() bool {
	if !e.Succeeded() {
		return false
	}
	return e.Run.Kind != pluginsdk.RunCommand || !slices.ContainsFunc(e.Run.Outcomes, func(o pluginsdk.Outcome) bool { return !o.Handled })
}

// Merged reports whether another run answered the message.
func (e *Ending) Merged() bool { return e.Err == nil && e.Run.ID != e.Accepted.RunID }

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

// ending reads how a run ended; nil when it has not. It also returns the id of
// the run that answers: the same, or the one it was merged into.
func (c *Client) ending(ctx context.Context, accepted pluginsdk.Accepted) (ending *Ending, by string, err error) {
	id := accepted.RunID
	for range mergeDepth {
		run, err := c.Run(ctx, id)
		switch {
		case tooLarge(err):
			ending, err := c.endingByRows(ctx, accepted, id)
			return ending, id, err
		case err != nil:
			return nil, id, err
		case !run.State.Final():
			return nil, id, nil
		case run.State == pluginsdk.RunMerged && run.MergedInto != "":
			id = run.MergedInto
			continue
		}
		rows, err := c.rows(ctx, accepted, run.ID)
		if err != nil {
			return nil, id, err
		}
		return &Ending{Accepted: accepted, Run: run, Messages: readable(rows)}, id, nil
	}
	return nil, id, errMerged
}

// tooLarge reports whether a record is larger than what the daemon can hand
// to its API.
func tooLarge(err error) bool {
	var problem *Problem
	return errors.As(err, &problem) && problem.Status == http.StatusTooManyRequests
}

// endingByRows reads how a run ended from the rows that are stored with its
// end; nil when there are none. It serves when the run itself cannot be read.
func (c *Client) endingByRows(ctx context.Context, accepted pluginsdk.Accepted, runID string) (*Ending, error) {
	rows, err := c.rows(ctx, accepted, runID)
	if err != nil {
		return nil, err
	}
	run := Run{ID: runID, ThreadID: accepted.ThreadID, MessageID: accepted.MessageID}
	for _, row := range rows {
		if state := stateOf(row); state != "" {
			run.State = state
			return &Ending{Accepted: accepted, Run: run, Messages: readable(rows)}, nil
		}
	}
	return nil, nil //nolint:nilnil // not ended is no error
}

// stateOf is the state in which a run is when it has this row, or "" when the
// row may come before the end. Rows of a run's end have its id in their key.
func stateOf(row pluginsdk.Message) pluginsdk.RunState {
	key, ours := strings.CutPrefix(row.Key, row.RunID+":")
	switch {
	case !ours:
		return ""
	case key == "reply", strings.HasPrefix(key, "command:"):
		return pluginsdk.RunSucceeded
	case key == "error" && eventOf(row) == "pipeline_cancelled":
		return pluginsdk.RunCancelled
	case key == "error":
		return pluginsdk.RunFailed
	}
	return ""
}

// rows returns the texts and the status rows of a run.
func (c *Client) rows(ctx context.Context, accepted pluginsdk.Accepted, runID string) ([]pluginsdk.Message, error) {
	messages, err := c.Messages(ctx, accepted.ThreadID, accepted.MessageID, pluginsdk.MessageText, pluginsdk.MessageStatus)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(messages, func(message pluginsdk.Message) bool { return message.RunID != runID }), nil
}

// readable returns the rows that people read at a run's end: what the agent asked in it, and
// how that was answered, they were told when it happened.
func readable(rows []pluginsdk.Message) []pluginsdk.Message {
	var kept []pluginsdk.Message
	for _, row := range rows {
		if row.Role != pluginsdk.RoleUser && Readable(row) && !strings.HasPrefix(eventOf(row), "approval") {
			kept = append(kept, row)
		}
	}
	return kept
}

// Readable reports whether a row is for people: whether it says more than that a run began
// or ended.
func Readable(row pluginsdk.Message) bool {
	event := eventOf(row)
	return event != "pipeline_start" && event != "pipeline_complete"
}

// eventOf is what a status row is about, or "".
func eventOf(row pluginsdk.Message) string {
	if row.Kind != pluginsdk.MessageStatus {
		return ""
	}
	return aboutOf(row)
}

// aboutOf is what a row that the core has stored is about, or "".
func aboutOf(row pluginsdk.Message) string {
	var metadata struct {
		Event string `json:"event"`
	}
	if json.Unmarshal(row.Metadata, &metadata) != nil {
		return ""
	}
	return metadata.Event
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

// Answering returns the id of the run that goes on after an event of a run: of
// the one it was merged into, when the event says so, else the same.
func Answering(event pluginsdk.Event) string {
	var merged pluginsdk.MergedPayload
	if event.Type == pluginsdk.EventPipelineMerged && json.Unmarshal(event.Data, &merged) == nil && merged.Into != "" {
		return merged.Into
	}
	return RunOf(event)
}
