package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/seed-706843ae/harness/pluginsdk"
)

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
	patient := *c
	patient.http = &http.Client{Transport: c.http.Transport}
	request := struct {
		Input json.RawMessage `json:"input"`
	}{input}
	var result pluginsdk.ToolResult
	err := patient.post(ctx, "/api/tools/"+url.PathEscape(name), request, &result)
	return result, err
}
