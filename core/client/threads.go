package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// NewThread is what a thread is made from.
type NewThread struct {
	Name string `json:"name,omitempty"`
}

// CreateThread makes a thread.
func (c *Client) CreateThread(ctx context.Context, thread NewThread) (made pluginsdk.Thread, err error) {
	err = c.post(ctx, "/api/threads", thread, &made)
	return made, err
}

// ChangeThread changes fields of a thread, by their names in the API. An empty one is the
// default.
func (c *Client) ChangeThread(ctx context.Context, id string, change map[string]string) (after pluginsdk.Thread, err error) {
	err = c.send(ctx, http.MethodPatch, "/api/threads/"+url.PathEscape(id), nil, change, &after)
	return after, err
}

// DeleteThread removes a thread for good. One that does not exist is no error.
func (c *Client) DeleteThread(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/api/threads/"+url.PathEscape(id), nil, nil, nil)
}

// BranchThread makes a thread that has the messages of another up to one of them; 0 is the
// newest.
func (c *Client) BranchThread(ctx context.Context, id string, messageID int64, name string) (made pluginsdk.Thread, err error) {
	request := struct {
		MessageID int64  `json:"messageId,omitempty"`
		Name      string `json:"name,omitempty"`
	}{messageID, name}
	err = c.post(ctx, "/api/threads/"+url.PathEscape(id)+"/branch", request, &made)
	return made, err
}

// Commands returns what people can type.
func (c *Client) Commands(ctx context.Context) ([]pluginsdk.Command, error) {
	var page struct {
		Commands []pluginsdk.Command `json:"commands"`
	}
	err := c.get(ctx, "/api/commands", nil, &page)
	return page.Commands, err
}
