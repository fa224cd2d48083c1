// Package chat speaks to the chat service. The service is made up, with what
// most have: posting is idempotent by a key of the client's, and what people
// write is read from a stream of updates with a cursor, by long polling.
//
// This is the package to replace for a real service, most likely by the
// service's own library.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 4 << 20

// Client calls the service as one bot. It does not change.
type Client struct {
	URL   string // of the service, without a slash at its end
	Token string // of the bot
	HTTP  *http.Client
}

// Update is a message that a person wrote.
type Update struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Author  string `json:"author"`
	Text    string `json:"text"`
}

// Updates is what people wrote after a cursor.
type Updates struct {
	Updates []Update `json:"updates"`
	Next    string   `json:"next"` // the cursor from which to go on
}

// Post writes a message into a channel and returns its id. Repeated with the
// same key, it returns the id of the first. The error's code says whether it
// is worth trying again.
func (c *Client) Post(ctx context.Context, channel, key, text string) (id string, err error) {
	body, err := json.Marshal(map[string]string{"channel": channel, "key": key, "text": text})
	if err != nil {
		return "", pluginsdk.Errorf(pluginsdk.CodeInvalid, "post to %s: %w", channel, err)
	}
	var posted struct {
		ID string `json:"id"`
	}
	err = c.call(ctx, http.MethodPost, "/messages", bytes.NewReader(body), &posted)
	return posted.ID, err
}

// Wait returns what people wrote after the cursor, as soon as there is
// something, or nothing after the service's own while.
func (c *Client) Wait(ctx context.Context, cursor string) (Updates, error) {
	var updates Updates
	err := c.call(ctx, http.MethodGet, "/updates?after="+url.QueryEscape(cursor), nil, &updates)
	return updates, err
}

func (c *Client) call(ctx context.Context, method, path string, body io.Reader, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s %s: %w", method, path, err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, unreachable(ctx, err))
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, unreachable(ctx, err))
	}
	if response.StatusCode/100 != 2 {
		return pluginsdk.Errorf(codeOf(response.StatusCode), "%s %s: %s: %s", method, path, response.Status, firstLine(content))
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%s %s: the answer cannot be read: %w", method, path, err)
	}
	return nil
}

// unreachable is an error on the way, which may pass; unless it is our own end.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pluginsdk.Errorf(pluginsdk.CodeUnavailable, "%w", err)
}

// codeOf says what an answer means for a delivery. CodeInvalid, CodeNotFound
// and CodeDenied are permanent: the message is given up, and the next goes on.
// Anything else is tried again. A token that is refused is tried again too: the
// operator will correct it, and nothing must be lost until then.
func codeOf(status int) pluginsdk.Code {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return pluginsdk.CodeInvalid
	case http.StatusNotFound, http.StatusGone:
		return pluginsdk.CodeNotFound
	case http.StatusForbidden:
		return pluginsdk.CodeDenied
	case http.StatusTooManyRequests:
		return pluginsdk.CodeExhausted
	}
	return pluginsdk.CodeUnavailable
}

func firstLine(content []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
	return line[:min(len(line), 200)]
}
