// Package rest asks Discord's HTTP API: within its rate limits, with the endings of
// contexts, and never again once the token is refused.
package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"
)

// Base is where Discord's API is.
const Base = "https://discord.com/api/v10"

// Config says whom to ask, and as whom.
type Config struct {
	Token   string // of the bot, without "Bot "
	Base    string // default Base
	Version string // of the plugin, for the User-Agent
	Log     *slog.Logger
}

// Client asks the API. It may be used by several goroutines. Once Discord has refused the
// token, all requests fail with that error; only a new client asks again.
type Client struct {
	base    *url.URL
	session *discordgo.Session
	plain   http.RoundTripper // without the token
}

// New makes a client. It asks nobody; a Base that cannot be meant is an error.
func New(config Config) (*Client, error) {
	if config.Base == "" {
		config.Base = Base
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	base, err := checked(config.Base)
	if err != nil {
		return nil, err
	}
	plain := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   4,
		ForceAttemptHTTP2:     true,
		// A connection that has died is noticed by a ping, not by the next request's end.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	return &Client{
		base:  base,
		plain: plain,
		session: &discordgo.Session{
			Token: "Bot " + config.Token,
			// Source: reference#user-agent.
			UserAgent: fmt.Sprintf("DiscordBot (https://github.com/seed-706843ae/harness, %s)", config.Version),
			Client: &http.Client{
				Transport: &transport{next: plain, token: config.Token, log: config.Log, limits: newLimits()},
			},
		},
	}, nil
}

// checked is the address of an API, if the bot's token may be sent there. What is missing of
// its path is Discord's: /api, and the version.
func checked(text string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(text, "/"))
	switch {
	case err != nil, base.Scheme != "https" && base.Scheme != "http", base.Hostname() == "":
		return nil, errors.New("the address of Discord's API must be an absolute http or https URL, such as " + Base)
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("the address of Discord's API must have no user, no query and no fragment")
	case base.Scheme == "http" && !loopback(base.Hostname()):
		return nil, fmt.Errorf("the address of Discord's API must begin with https://, since the bot's token is sent to %s; http:// is for this machine only", base.Hostname())
	}
	if base.Path == "" || base.Path == "/api" {
		base.Path = "/api/v10"
	}
	return base, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ask makes a request whose body is JSON, or empty when it is nil, and reads the answer
// into what a pointer points to, unless that is nil.
func (c *Client) ask(ctx context.Context, r route, body, answer any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return &Error{Status: http.StatusBadRequest, Message: "it cannot be written as JSON: " + err.Error(), route: r.name()}
		}
	}
	return c.send(ctx, r, "application/json", data, answer)
}

// send is ask with a body of any kind.
func (c *Client) send(ctx context.Context, r route, kind string, body []byte, answer any) error {
	address, err := r.address(c.base.String())
	if err != nil {
		return err
	}
	// The library's own limiter waits without a context. It gets a bucket that is always
	// free; the transport keeps the limits.
	free := discordgo.NewRatelimiter().LockBucket("")
	ctx = context.WithValue(ctx, routeKey{}, r)
	data, err := c.session.RequestWithLockedBucket(r.method, address, kind, body, free, 0, discordgo.WithContext(ctx))
	if err != nil {
		var failed *Error
		if errors.As(err, &failed) {
			return failed
		}
		failed = &Error{Message: "it could not be asked: " + harmless(err), route: r.name()}
		if ctx.Err() != nil {
			failed.cause = context.Cause(ctx)
		}
		return failed
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return &Error{Status: http.StatusOK, Message: "the answer cannot be read: " + err.Error(), route: r.name()}
	}
	return nil
}
