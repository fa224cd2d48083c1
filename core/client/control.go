package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

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

// Deliveries returns all the selected deliveries, oldest first. The query's
// Limit and After are not used.
func (c *Client) Deliveries(ctx context.Context, query pluginsdk.DeliveryQuery) ([]pluginsdk.Delivery, error) {
	var all []pluginsdk.Delivery
	values := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for name, value := range map[string]string{
		"state": string(query.State), "plugin": query.Plugin, "place": query.Place,
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for {
		var page struct {
			Deliveries []pluginsdk.Delivery `json:"deliveries"`
		}
		if err := c.get(ctx, "/api/deliveries", values, &page); err != nil {
			return nil, err
		}
		if len(page.Deliveries) == 0 {
			return all, nil
		}
		all = append(all, page.Deliveries...)
		values.Set("after", page.Deliveries[len(page.Deliveries)-1].ID)
	}
}

// RetryDelivery makes a dead delivery pending again, and has one that waits
// tried at once.
func (c *Client) RetryDelivery(ctx context.Context, id string) (pluginsdk.Delivery, error) {
	var delivery pluginsdk.Delivery
	err := c.post(ctx, "/api/deliveries/"+url.PathEscape(id)+"/retry", struct{}{}, &delivery)
	return delivery, err
}

// Tool is a plugin's tool.
type Tool struct {
	Name        string          `json:"name"` // PLUGIN__TOOL
	Plugin      string          `json:"plugin"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Tools returns the tools of the enabled plugins.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	var page struct {
		Tools []Tool `json:"tools"`
	}
	err := c.get(ctx, "/api/tools", nil, &page)
	return page.Tools, err
}

// CallTool calls a tool with a JSON object and waits for as long as ctx and the
// daemon let it take.
func (c *Client) CallTool(ctx context.Context, name string, input json.RawMessage) (pluginsdk.ToolResult, error) {
	patient := c.patient()
	request := struct {
		Input json.RawMessage `json:"input"`
	}{input}
	var result pluginsdk.ToolResult
	err := patient.post(ctx, "/api/tools/"+url.PathEscape(name), request, &result)
	return result, err
}
