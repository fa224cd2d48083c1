package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// ContextFile is one of the agent's context files, with its text.
type ContextFile struct {
	pluginsdk.WorkspaceFile

	Text string `json:"text"`
}

const contextFile = "/api/context/file"

// ContextFiles returns the context files, by path.
func (c *Client) ContextFiles(ctx context.Context) ([]pluginsdk.WorkspaceFile, error) {
	var page struct {
		Files []pluginsdk.WorkspaceFile `json:"files"`
	}
	err := c.get(ctx, "/api/context", nil, &page)
	return page.Files, err
}

// ContextFile returns a context file, or with a version an earlier text of it.
func (c *Client) ContextFile(ctx context.Context, path, version string) (file ContextFile, err error) {
	query := url.Values{"path": {path}}
	if version != "" {
		query.Set("version", version)
	}
	err = c.get(ctx, contextFile, query, &file)
	return file, err
}

// WriteContext makes or replaces a context file that is of a version; an empty one says that
// it is not there. Else it is a *Problem with the status 409, and the text is kept in the
// history.
func (c *Client) WriteContext(ctx context.Context, path, text, version string) (file pluginsdk.WorkspaceFile, err error) {
	return c.WriteContextOf(ctx, path, text, version, "")
}

// WriteContextOf is WriteContext of a text that was made of another one, which the history has as the change before.
func (c *Client) WriteContextOf(ctx context.Context, path, text, version, base string) (file pluginsdk.WorkspaceFile, err error) {
	request := struct {
		Text    string `json:"text"`
		Version string `json:"version,omitempty"`
		Base    string `json:"base,omitempty"`
	}{text, version, base}
	err = c.send(ctx, http.MethodPut, contextFile, url.Values{"path": {path}}, request, &file)
	return file, err
}

// ContextHistory returns a page of changes of a file (empty: of all), newest first, before one
// of them (0: from the newest on).
func (c *Client) ContextHistory(ctx context.Context, path string, before int64, limit int) ([]pluginsdk.WorkspaceChange, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}, "before": {strconv.FormatInt(before, 10)}}
	if path != "" {
		query.Set("path", path)
	}
	var page struct {
		Changes []pluginsdk.WorkspaceChange `json:"changes"`
	}
	err := c.get(ctx, "/api/context/history", query, &page)
	return page.Changes, err
}
