package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Found is a page of what a search has found.
type Found struct {
	Hits   []pluginsdk.SearchHit `json:"hits"`
	Next   string                `json:"next,omitempty"`
	Newest bool                  `json:"newest"`
}

// Search returns a page of the messages that a query asks for.
func (c *Client) Search(ctx context.Context, query pluginsdk.SearchQuery) (found Found, err error) {
	values := url.Values{"q": {query.Text}}
	for _, id := range query.ThreadIDs {
		values.Add("thread", id)
	}
	for _, role := range query.Roles {
		values.Add("role", string(role))
	}
	for _, kind := range query.Kinds {
		values.Add("kind", string(kind))
	}
	for name, value := range map[string]string{"author": query.Author, "order": string(query.Order), "after": query.After} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": query.Since, "until": query.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if query.Limit > 0 {
		values.Set("limit", strconv.Itoa(query.Limit))
	}
	err = c.get(ctx, "/api/search", values, &found)
	return found, err
}
