// Package client speaks to a running daemon over its HTTP API and its event
// socket, for the terminal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// requestTimeout is longer than the daemon's own for a request, so that its
	// answer is what a person sees.
	requestTimeout = 40 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 64 << 20
	// pageSize is how many rows are asked for at a time; the most the API gives.
	// A page may be shorter (it is bounded in bytes too): the end of a list is
	// its first empty page.
	pageSize = 1000
)

// Client speaks to one daemon. Its methods may be called concurrently.
type Client struct {
	base   *url.URL
	http   *http.Client
	dialer *websocket.Dialer

	firstPause, longestPause time.Duration // between attempts to reach a daemon that is away
	poll, slowPoll           time.Duration // how often runs are read without, and with, events
}

// New returns a client of the daemon at base, such as http://127.0.0.1:3001.
// It does not connect yet.
func New(base string) (*Client, error) {
	parsed, err := url.Parse(base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a daemon; it must be like http://127.0.0.1:3001", base)
	}
	parsed.Path = strings.TrimRight(parsed.Path, "/")
	parsed.RawQuery, parsed.Fragment = "", ""
	return &Client{
		base:       parsed,
		http:       &http.Client{Timeout: requestTimeout},
		dialer:     &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 10 * time.Second},
		firstPause: 200 * time.Millisecond, longestPause: 5 * time.Second,
		poll: 500 * time.Millisecond, slowPoll: 15 * time.Second,
	}, nil
}

// Base is the address of the daemon.
func (c *Client) Base() string { return c.base.String() }

func (c *Client) get(ctx context.Context, path string, query url.Values, answer any) error {
	return c.do(ctx, http.MethodGet, path, query, nil, answer)
}

func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	return c.do(ctx, http.MethodPost, path, nil, encoded, answer)
}

// do makes one request. An answer that is not a success is a *Problem; no
// answer is an *Unreachable.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.address(path, query), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	request.Header.Set("Accept", "application/json, application/problem+json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		return problemOf(response.StatusCode, response.Header.Get("Content-Type"), content)
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("%s answered %s %s with something that is not the daemon's JSON: %w", c.Base(), method, path, err)
	}
	return nil
}

// address is a path of the API as a URL. What is put into a path must be
// escaped.
func (c *Client) address(path string, query url.Values) string {
	address := c.base.String() + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}
