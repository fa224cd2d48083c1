package client

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Health is the daemon's word that it answers.
type Health struct {
	Status   string `json:"status"`
	Version  string `json:"version"`
	UptimeMS int64  `json:"uptimeMs"`
}

// ChatRequest is a message that asks for an answer.
type ChatRequest struct {
	ThreadID string `json:"threadId,omitempty"` // empty: the primary thread
	Content  string `json:"content"`
	// IdempotencyKey makes the request safe to repeat: the same key and source
	// get the first one's ids.
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	Source         string `json:"source,omitempty"` // web or cli
	Author         string `json:"author,omitempty"`
	// Unattended has denied at once what the agent would ask people.
	Unattended bool `json:"unattended,omitempty"`
	// Attachments are files that were taken in.
	Attachments []FileRef `json:"attachments,omitempty"`
}

// FileRef names a file that was taken in.
type FileRef struct {
	FileID string `json:"fileId"`
}

// Run is how a run stands, as far as the terminal shows it.
type Run struct {
	ID            string             `json:"id"`
	ThreadID      string             `json:"threadId"`
	MessageID     int64              `json:"messageId"`
	Kind          pluginsdk.RunKind  `json:"kind"`
	State         pluginsdk.RunState `json:"state"`
	MergedInto    string             `json:"mergedInto,omitempty"`
	Attempt       int                `json:"attempt"`
	NextAttemptAt time.Time          `json:"nextAttemptAt,omitzero"`
	Error         string             `json:"error,omitempty"`
	// Beside says that the run is in no thread's queue.
	Beside bool `json:"beside,omitempty"`
	// Parked says why and until when a queued run waits for the plan of its account.
	Parked *pluginsdk.Parked `json:"parked,omitempty"`
	// Result and Outcomes are of a run that is read by itself.
	Result   *Result             `json:"result,omitempty"`
	Outcomes []pluginsdk.Outcome `json:"outcomes,omitempty"` // of the commands in the result
}

// Result is what the agent answered, before commands were cut from it and
// plugins had their say.
type Result struct {
	Text string `json:"text"`
}

// Health asks whether the daemon answers.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var health Health
	err := c.get(ctx, "/api/health", nil, &health)
	return health, err
}

// Chat hands in a message. When it returns without an error the message and
// its run are durable.
func (c *Client) Chat(ctx context.Context, request ChatRequest) (pluginsdk.Accepted, error) {
	var accepted pluginsdk.Accepted
	err := c.post(ctx, "/api/chat", request, &accepted)
	return accepted, err
}

// Threads returns all threads, oldest first.
func (c *Client) Threads(ctx context.Context) ([]pluginsdk.Thread, error) {
	var all []pluginsdk.Thread
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		var page struct {
			Threads []pluginsdk.Thread `json:"threads"`
		}
		if err := c.get(ctx, "/api/threads", query, &page); err != nil {
			return nil, err
		}
		if len(page.Threads) == 0 {
			return all, nil
		}
		all = append(all, page.Threads...)
		query.Set("after", page.Threads[len(page.Threads)-1].ID)
	}
}

// Thread returns a thread; the primary one when id is empty.
func (c *Client) Thread(ctx context.Context, id string) (pluginsdk.Thread, error) {
	if id != "" {
		var thread pluginsdk.Thread
		err := c.get(ctx, "/api/threads/"+url.PathEscape(id), nil, &thread)
		return thread, err
	}
	var page struct {
		Threads []pluginsdk.Thread `json:"threads"`
	}
	if err := c.get(ctx, "/api/threads", url.Values{"kind": {string(pluginsdk.ThreadPrimary)}}, &page); err != nil {
		return pluginsdk.Thread{}, err
	}
	if len(page.Threads) == 0 {
		return pluginsdk.Thread{}, &Problem{Status: 404, Detail: "the daemon has no primary thread yet"}
	}
	return page.Threads[0], nil
}

// AwaitThread is Thread that waits for a daemon which answers that it cannot just now, such
// as one without its database, as long as patience lasts; away is told of it, once. A daemon
// that does not answer is not waited for: there may be none.
func (c *Client) AwaitThread(ctx context.Context, id string, patience time.Duration, away func(error)) (pluginsdk.Thread, error) {
	told := false
	busy := func(err error) bool {
		var problem *Problem
		if !errors.As(err, &problem) || !problem.passing() {
			return false
		}
		if !told {
			told = true
			away(err)
		}
		return true
	}
	return repeat(ctx, c, patience, busy, func() (pluginsdk.Thread, error) { return c.Thread(ctx, id) })
}

// Messages returns the messages of a thread with an id greater than after,
// oldest first; of these kinds only, when any are named.
func (c *Client) Messages(ctx context.Context, threadID string, after int64, kinds ...pluginsdk.MessageKind) ([]pluginsdk.Message, error) {
	var all []pluginsdk.Message
	for {
		query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(pageSize)}}
		page, err := c.messages(ctx, threadID, query, kinds)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			return all, nil
		}
		all = append(all, page...)
		after = page[len(page)-1].ID
	}
}

// Latest returns the newest messages of a thread, at most count, oldest first.
func (c *Client) Latest(ctx context.Context, threadID string, count int, kinds ...pluginsdk.MessageKind) ([]pluginsdk.Message, error) {
	query := url.Values{"last": {"true"}, "limit": {strconv.Itoa(count)}}
	return c.messages(ctx, threadID, query, kinds)
}

func (c *Client) messages(ctx context.Context, threadID string, query url.Values, kinds []pluginsdk.MessageKind) ([]pluginsdk.Message, error) {
	for _, kind := range kinds {
		query.Add("kind", string(kind))
	}
	var page struct {
		Messages []pluginsdk.Message `json:"messages"`
	}
	err := c.get(ctx, "/api/threads/"+url.PathEscape(threadID)+"/messages", query, &page)
	return page.Messages, err
}

// Run returns how a run stands.
func (c *Client) Run(ctx context.Context, id string) (Run, error) {
	var run Run
	err := c.get(ctx, "/api/runs/"+url.PathEscape(id), nil, &run)
	return run, err
}

// Ahead returns how many unfinished runs of the thread's queue were accepted before
// this one, whose message it waits behind. A run beside its thread waits behind none.
func (c *Client) Ahead(ctx context.Context, threadID, runID string) (int, error) {
	runs, err := c.OpenRuns(ctx, threadID)
	ahead := 0
	for _, run := range runs {
		switch {
		case run.ID == runID && run.Beside:
			return 0, nil
		case run.ID == runID:
			return ahead, nil
		case !run.Beside:
			ahead++
		}
	}
	return 0, err
}

// OpenRuns returns the runs of a thread that are not over, in the order in which they were
// accepted, at most a page of them.
func (c *Client) OpenRuns(ctx context.Context, threadID string) ([]Run, error) {
	query := url.Values{
		"limit": {strconv.Itoa(pageSize)},
		"state": {string(pluginsdk.RunQueued), string(pluginsdk.RunRunning), string(pluginsdk.RunWaiting)},
	}
	var page struct {
		Runs []Run `json:"runs"`
	}
	err := c.get(ctx, "/api/threads/"+url.PathEscape(threadID)+"/runs", query, &page)
	return page.Runs, err
}
