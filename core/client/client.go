// Package client speaks to a running daemon over its HTTP API and its event
// socket, for the terminal.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	keys   *keyring
	http   *http.Client
	dialer *websocket.Dialer

	firstPause, longestPause time.Duration // between attempts to reach a daemon that is away
	poll, slowPoll           time.Duration // how often runs are read without, and with, events
}

// Config says which daemon a client speaks to, and as whom.
type Config struct {
	Base  string // such as https://harness.example.org:3001
	Token string // that is shown with each request; empty: none
	// CA is a file of certificates, in PEM: the daemon's must be one of them or be signed by
	// one. Empty: the authorities that this machine trusts.
	CA string
	// Plain lets the token be shown over http to another machine, where others can read it on
	// its way.
	Plain bool
}

// New returns a client of the daemon at base, such as http://127.0.0.1:3001, that
// shows no token. It does not connect yet.
func New(base string) (*Client, error) { return Open(Config{Base: base}) }

// Open returns a client. It does not connect yet.
func Open(config Config) (*Client, error) {
	parsed, err := url.Parse(config.Base)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" || parsed.User != nil {
		return nil, fmt.Errorf("%q is not the address of a daemon; it must be like http://127.0.0.1:3001", config.Base)
	}
	parsed.Path = strings.TrimRight(parsed.Path, "/")
	parsed.RawQuery, parsed.Fragment = "", ""
	if strings.ContainsFunc(config.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token has characters that none has; copy it anew")
	}
	if config.Token != "" && !config.Plain && exposed(parsed) {
		return nil, &Misled{Base: config.Base, Words: "over http:// whoever is on the way reads the token, which is not sent therefore; " +
			"name it as https://" + parsed.Host + ", or set HARNESS_ALLOW_HTTP=yes where nobody is on the way, as in a tunnel"}
	}
	secured, err := trusting(config.CA)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	transport.TLSClientConfig = secured
	return &Client{
		base: parsed, keys: &keyring{token: config.Token},
		http: &http.Client{Timeout: requestTimeout, Transport: transport, CheckRedirect: elsewhere},
		dialer: &websocket.Dialer{
			Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 10 * time.Second, TLSClientConfig: secured.Clone(),
		},
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
	return c.send(ctx, http.MethodPost, path, nil, body, answer)
}

func (c *Client) patch(ctx context.Context, path string, body, answer any) error {
	return c.send(ctx, http.MethodPatch, path, nil, body, answer)
}

// send makes a request with a body, and a query if need be.
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	return c.do(ctx, method, path, query, encoded, answer)
}

// patient is the client for requests that may take as long as their context.
func (c *Client) patient() *Client {
	patient, unhurried := *c, *c.http
	unhurried.Timeout = 0
	patient.http = &unhurried
	return &patient
}

// ask makes one request, whose answer's body the caller closes. An answer that is not a
// success is a *Problem, no answer an *Unreachable, one that cannot be trusted or
// understood a *Misled.
func (c *Client) ask(ctx context.Context, request *http.Request) (*http.Response, error) {
	response, err := c.show(request)
	if err == nil && c.learn(response, request.Header) && (request.Body == nil || request.Body == http.NoBody || request.GetBody != nil) {
		_ = response.Body.Close()
		response, err = c.show(request)
	}
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return nil, c.refused(response, content)
}

// show makes one request with the token. It may be called again for the same request.
func (c *Client) show(request *http.Request) (*http.Response, error) {
	if token := c.keys.get(); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		request.Body = body
	}
	return c.http.Do(request)
}

// do makes one request, as ask does, and reads what is answered into answer, unless that is
// nil.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.address(path, query), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build the request: %w", err)
	}
	request.Header.Set("Accept", "application/json, application/problem+json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.ask(ctx, request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if answer == nil { // it has nothing to say
		return nil
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
