package client

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Waits says of a run that is not over what it waits for. It is parked for a plan or for a budget, or it is in its
// thread's queue behind a run that is, or that waits for people.
type Waits struct {
	// Key is the same for as long as the run waits for the same; empty: nothing is known that it waits for.
	Key string
	// Words say for people why the run waits, until when, and what to do. They may have control characters.
	Words string
}

// WaitsFor returns what a run of a thread waits for. The words are those of the row with which the thread is told.
func (c *Client) WaitsFor(ctx context.Context, threadID, runID string) (Waits, error) {
	runs, err := c.OpenRuns(ctx, threadID)
	if err != nil {
		return Waits{}, err
	}
	i := slices.IndexFunc(runs, func(run Run) bool { return run.ID == runID })
	switch {
	case i < 0 && len(runs) < pageSize:
		return Waits{}, nil // it is over
	case i < 0: // it is further behind
		i = len(runs)
	case runs[i].Parked != nil:
		return c.parked(ctx, runs[i], true)
	case runs[i].State != pluginsdk.RunQueued || runs[i].Kind != pluginsdk.RunMessage:
		return Waits{}, nil // what it asks people is told with the question, and commands pass what is parked
	}
	for _, run := range runs[:i] {
		switch {
		case run.Beside || run.Kind == pluginsdk.RunTurn: // an older daemon does not say which turns are in no queue
		case run.Parked != nil:
			return c.parked(ctx, run, false)
		case run.State == pluginsdk.RunWaiting:
			return Waits{Key: run.ID, Words: behind + "The agent waits for an answer there. To see what it asks: harness approvals"}, nil
		}
	}
	return Waits{}, nil
}

// behind begins the words of a run that another run of its thread holds up.
const behind = "The message waits behind an earlier one of its thread. "

// parked returns the newest row with which a thread was told that the run is parked. Where it was not told, the run
// itself says why.
func (c *Client) parked(ctx context.Context, run Run, own bool) (Waits, error) {
	rows, err := c.Messages(ctx, run.ThreadID, run.MessageID, pluginsdk.MessageNotification)
	if err != nil {
		return Waits{}, err
	}
	reason := strings.TrimSuffix(run.Parked.Reason, ".")
	found := Waits{Key: run.ID + ":" + reason, Words: "The message waits: " + reason + ". It then continues by itself."}
	for _, row := range rows {
		if row.RunID == run.ID && aboutOf(row) == "pipeline_parked" {
			found = Waits{Key: run.ID + ":" + strconv.FormatInt(row.ID, 10), Words: row.Content}
		}
	}
	if !own {
		found.Words = behind + found.Words
	}
	return found, nil
}
