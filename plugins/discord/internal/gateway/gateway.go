// Package gateway keeps a session with Discord's gateway, over which events come: it
// connects, begins the session, resumes it when the connection breaks, and begins another
// when it cannot be resumed.
//
// Source: events/gateway, events/gateway-events, topics/opcodes-and-status-codes#gateway.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// Config is what a connection needs.
type Config struct {
	Token   string // of the bot, without "Bot "
	Intents int
	// URL asks where to connect and how many sessions may still be begun (Get Gateway
	// Bot). It is asked before each new session. A *Fatal that it returns ends Run; after
	// any other error it is asked again.
	URL func(ctx context.Context) (wire.GatewayBot, error)
	// Handle gets the events in their order, one at a time. It must return soon: no other
	// event is read meanwhile. An event counts as received once it has returned, also by a
	// panic, which is logged; until then a session that is resumed sends it again.
	Handle func(Event)
	Log    *slog.Logger
	// Wait is the shortest wait after a failure, default 1 s. For tests.
	Wait time.Duration
}

// Event is something that happened. Data belongs to whom it is given.
type Event struct {
	Type string // READY, RESUMED, MESSAGE_CREATE, ...
	Data json.RawMessage
}

// Status is how the connection is.
type Status struct {
	Connected      bool          // a session is ready, and its connection stands
	Since          time.Time     // that Connected is what it is
	Sessions       int           // that were begun
	Resumed        int           // times that one was resumed
	IdentifiesLeft int           // sessions that may still be begun, as last told; -1: not told
	WaitsUntil     time.Time     // when Discord allows another session, while that is waited for
	Error          string        // what last went wrong, in words
	Latency        time.Duration // of the last heartbeat
	// Heard is a moment before which all events have been handled that Discord has sent:
	// when the last heartbeat was sent that it acknowledged, or a session was ready or resumed.
	Heard time.Time
}

// Connection is a session with the gateway.
type Connection struct {
	config  Config
	payload payloads

	// Run's own.
	session  session
	seq      atomic.Int64 // of the last event that counts as received; 0: none
	failures int          // attempts in a row that came to nothing lasting
	vain     int          // attempts in a row that came to nothing at all
	denied   int          // attempts in a row to resume the session
	began    time.Time    // the last attempt
	asked    time.Time    // the last time that a session was begun

	mu     sync.Mutex
	status Status
}

// session is what a session is resumed with.
type session struct{ id, url string }

// The waits beside Config.Wait, as multiples of it.
const (
	maxWaits      = 60 // between attempts
	identifyWaits = 5  // between sessions: events/gateway#rate-limiting
	lastingWaits  = 10 // that a connection stands before it counts as a good one
)

// maxDenied is how often in a row a session may break while it is being resumed.
const maxDenied = 5

// New makes a connection that Run opens.
func New(config Config) *Connection {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Wait == 0 {
		config.Wait = time.Second
	}
	return &Connection{config: config, status: Status{IdentifiesLeft: -1, Since: time.Now()}}
}

// Status is how the connection is now. Anybody may ask.
func (c *Connection) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *Connection) note(change func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.status.Connected
	change(&c.status)
	if c.status.Connected != before {
		c.status.Since = time.Now()
	}
}

// Run keeps a session until ctx ends, which ends the session and is no error, or until a
// *Fatal. It is called once.
func (c *Connection) Run(ctx context.Context) error {
	for {
		err := c.connect(ctx)
		c.note(func(s *Status) {
			s.Connected = false
			if ctx.Err() == nil {
				s.Error = err.Error()
			}
		})
		var fatal *Fatal
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &fatal):
			c.config.Log.Error("discord's gateway ended the connection for good", "error", err)
			return fatal
		}
		wait := c.backoff(err)
		c.config.Log.Info("the connection to discord's gateway broke", "error", err, "again_in", wait, "resumes", c.session.id != "")
		if pause(ctx, wait) != nil {
			return nil
		}
	}
}

// connect makes one connection, and returns why it ended.
func (c *Connection) connect(ctx context.Context) error {
	if c.session.id == "" {
		return c.identify(ctx)
	}
	address := c.session.url
	if c.vain > 2 {
		// Who cannot reach it there goes to where sessions are begun: events/gateway#handling-a-disconnect.
		bot, err := c.where(ctx)
		if err != nil {
			return err
		}
		address = bot.URL
	}
	c.began = time.Now()
	return c.follow(ctx, address, send{Op: opResume, Data: resume{c.config.Token, c.session.id, c.seq.Load()}})
}

// identify begins a session, once Discord allows it.
func (c *Connection) identify(ctx context.Context) error {
	for {
		bot, err := c.where(ctx)
		if err != nil {
			return err
		}
		if bot.Limit.Total > 0 && bot.Limit.Remaining <= 0 {
			// One more, and Discord takes the token away: events/gateway#identifying.
			wait := max(time.Duration(bot.Limit.ResetAfter)*time.Millisecond, c.config.Wait)
			c.note(func(s *Status) {
				s.WaitsUntil = time.Now().Add(wait)
				s.Error = fmt.Sprintf("Discord allows no more of today's %d sessions; the next is begun in %s", bot.Limit.Total, wait.Round(time.Second))
			})
			c.config.Log.Warn("discord allows no more sessions today", "total", bot.Limit.Total, "again_in", wait)
			err := pause(ctx, wait)
			c.note(func(s *Status) { s.WaitsUntil = time.Time{} })
			if err != nil {
				return err
			}
			continue
		}
		if err := pause(ctx, time.Until(c.asked.Add(identifyWaits*c.config.Wait))); err != nil {
			return err
		}
		c.seq.Store(0)
		c.began, c.asked = time.Now(), time.Now()
		return c.follow(ctx, bot.URL, send{Op: opIdentify, Data: newIdentify(c.config.Token, c.config.Intents)})
	}
}

// where asks where to connect.
func (c *Connection) where(ctx context.Context) (wire.GatewayBot, error) {
	bot, err := c.config.URL(ctx)
	if err != nil {
		return bot, fmt.Errorf("where to connect is not known: %w", err)
	}
	c.note(func(s *Status) {
		if bot.Limit.Total > 0 {
			s.IdentifiesLeft = bot.Limit.Remaining
		}
	})
	return bot, nil
}

// backoff takes down what the end of a connection means for the next, and says how long to
// wait before that.
func (c *Connection) backoff(err error) time.Duration {
	var end *ended
	if !errors.As(err, &end) {
		end = new(ended) // there was no connection
	}
	switch {
	case !end.established.IsZero():
		c.denied, c.vain = 0, 0
	case end.resuming:
		c.denied++
		c.vain++
	default:
		c.vain++
	}
	if end.sessionOver || c.denied >= maxDenied {
		c.session, c.denied = session{}, 0
	}
	count := c.failures + 1
	switch {
	case end.established.IsZero():
		c.failures = count
	case time.Since(end.established) >= lastingWaits*c.config.Wait:
		c.failures, count = 0, 0
	default: // the first that breaks soon is taken up again at once
		count, c.failures = c.failures, count
	}
	var wait time.Duration
	if count > 0 {
		wait = min(c.config.Wait<<min(count, 10), maxWaits*c.config.Wait)
		wait = wait/2 + rand.N(wait/2+1)
	}
	// Not more than one attempt in the shortest wait.
	wait = max(wait, time.Until(c.began.Add(c.config.Wait)))
	if end.invalid {
		// It was perhaps too soon for a session (events/gateway#identifying): 1 to 5 s,
		// at random so that not all who are told so come at the same time.
		wait = max(wait, c.config.Wait+rand.N(4*c.config.Wait))
	}
	return wait
}

// dispatch hands an event over; afterwards it counts as received.
func (c *Connection) dispatch(event Event, seq int64) {
	defer func() {
		if r := recover(); r != nil {
			c.config.Log.Error("a panic on an event of discord's", "event", event.Type, "panic", r, "stack", string(debug.Stack()))
		}
		if seq > 0 {
			c.seq.Store(seq)
		}
	}()
	c.config.Handle(event)
}

// pause waits, or returns the context's end.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
