// Package gateway keeps one connection to Discord's gateway, over which events come.
package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// Config is what a connection needs.
type Config struct {
	Token   string
	Intents int
	// URL asks where to connect and how often that may still be done. It is asked before
	// each new session. A *Fatal that it returns ends Run.
	URL func(ctx context.Context) (wire.GatewayBot, error)
	// Handle gets the events in their order, one at a time, and must return soon.
	Handle func(Event)
	Log    *slog.Logger
	// Wait is the shortest wait between attempts, default 1 s. For tests.
	Wait time.Duration
}

// Event is something that happened.
type Event struct {
	Type string // READY, RESUMED, MESSAGE_CREATE, ...
	Data json.RawMessage
}

// Fatal is an end after which connecting again cannot help.
type Fatal struct {
	Code   int // the gateway's close code
	Reason string
}

func (f *Fatal) Error() string { return fmt.Sprintf("%s (%d)", f.Reason, f.Code) }

// Status is how the connection is.
type Status struct {
	Connected      bool          // a session is ready, and its connection stands
	Since          time.Time     // of Connected as it is
	Sessions       int           // that were begun
	Resumed        int           // times that one was resumed
	IdentifiesLeft int           // as Discord last told; -1 before
	WaitsUntil     time.Time     // when Discord allows the next session, if that is waited for
	Error          string        // the last that went wrong, in words
	Latency        time.Duration // of the last heartbeat
}

// Connection is one connection to the gateway, made anew as often as it breaks.
type Connection struct{ config Config }

// New makes a connection that Run opens.
func New(config Config) *Connection { return &Connection{config: config} }

// Run keeps the connection until ctx ends, which is no error, or until a *Fatal.
func (c *Connection) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Status is how the connection is now.
func (c *Connection) Status() Status { return Status{IdentifiesLeft: -1} }
