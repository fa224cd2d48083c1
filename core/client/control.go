package client

import (
	"context"
	"net/url"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Cancel ends a run that waits, or interrupts one that executes; a run that is
// over is left as it is.
func (c *Client) Cancel(ctx context.Context, id string) (Run, error) {
	var run Run
	err := c.post(ctx, "/api/runs/"+url.PathEscape(id)+"/cancel", struct{}{}, &run)
	return run, err
}

// Retry hands the message of a run that failed or was cancelled in once more.
// Repeated, it returns the first retry's ids.
func (c *Client) Retry(ctx context.Context, id string) (pluginsdk.Accepted, error) {
	var accepted pluginsdk.Accepted
	err := c.post(ctx, "/api/runs/"+url.PathEscape(id)+"/retry", struct{}{}, &accepted)
	return accepted, err
}

// Stop interrupts what a thread is doing, and keeps or drops what waits in it.
// An interrupted run ends a moment later.
func (c *Client) Stop(ctx context.Context, threadID string, queue pluginsdk.Queue) (pluginsdk.Stopped, error) {
	var stopped pluginsdk.Stopped
	request := struct {
		Queue pluginsdk.Queue `json:"queue"`
	}{queue}
	err := c.post(ctx, "/api/threads/"+url.PathEscape(threadID)+"/stop", request, &stopped)
	return stopped, err
}
