package live

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// readLimit bounds what a client may send; clients have nothing to say but
// control frames.
const readLimit = 4 << 10

// client is one connection. One goroutine writes, another reads.
type client struct {
	wants  filter
	limits Limits
	queue  *queue
	last   pluginsdk.Position // of the newest frame sent or skipped; the writer's

	ctx    context.Context // done when the client is to be sent away
	cancel context.CancelFunc

	mu        sync.Mutex
	conn      *websocket.Conn
	under     *corked // what conn writes to
	cut       bool
	closeCode int // 0: the peer is gone, nothing to say
	closeText string
}

func newClient(wants filter, limits Limits) *client {
	ctx, cancel := context.WithCancel(context.Background())
	return &client{
		wants: wants, limits: limits, ctx: ctx, cancel: cancel,
		queue: newQueue(limits.QueueFrames, limits.QueueBytes),
	}
}

// end has the client sent away, with a close frame unless code is 0. The first
// call decides. It does not wait.
func (c *client) end(code int, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.closeCode, c.closeText = code, text
		c.cancel()
	}
}

// putOut has the client sent away because its request has ended, or the right to it.
func (c *client) putOut(until context.Context) {
	words, again := access.PutOut(until)
	switch {
	case words == "":
		c.end(0, "") // it has left
	case again:
		c.end(websocket.CloseTryAgainLater, words)
	default:
		c.end(websocket.ClosePolicyViolation, words)
	}
}

// attach gives the client its connection, and what that one writes to.
func (c *client) attach(conn *websocket.Conn, under *corked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.under = conn, under
	if c.cut {
		_ = conn.Close()
	}
}

// cutOff closes the connection whatever is under way on it.
func (c *client) cutOff() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	if c.conn != nil {
		_ = c.conn.Close()
	}
}

// run serves the client until it leaves or is sent away. begin sends what comes
// before the queue.
func (c *client) run(begin func() error) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.read()
	}()
	if err := begin(); err == nil {
		c.write()
	}
	c.end(0, "")
	c.leave(gone)
}

// leave says why, gives the peer a moment to read it, and closes.
func (c *client) leave(gone <-chan struct{}) {
	if c.closeCode != 0 {
		farewell := websocket.FormatCloseMessage(c.closeCode, c.closeText)
		deadline := time.Now().Add(c.limits.WriteTimeout)
		if c.conn.WriteControl(websocket.CloseMessage, farewell, deadline) == nil {
			stop := time.AfterFunc(c.limits.CloseGrace, c.cutOff)
			defer stop.Stop()
			<-gone
		}
	}
	c.cutOff()
	<-gone
}

// read takes in pongs and the close frame until the connection ends. What a client says
// besides is not looked at, but it must be what RFC 6455 allows.
func (c *client) read() {
	defer c.end(0, "")
	c.conn.SetReadLimit(readLimit)
	alive := func(string) error { return c.conn.SetReadDeadline(time.Now().Add(c.limits.PongTimeout)) }
	c.conn.SetPongHandler(alive)
	if alive("") != nil {
		return
	}
	for {
		kind, text, err := c.conn.ReadMessage()
		if err != nil {
			return
		}
		if kind == websocket.TextMessage && !utf8.Valid(text) {
			c.end(websocket.CloseInvalidFramePayloadData, "text must be UTF-8")
			return
		}
	}
}

// write sends what is queued, and pings, until the client is to leave.
func (c *client) write() {
	ping := time.NewTicker(c.limits.PingInterval)
	defer ping.Stop()
	defer c.under.uncork() //nolint:errcheck // the client leaves
	for c.ctx.Err() == nil {
		f, ok := c.queue.pop()
		if ok {
			c.under.cork()
			if c.send(f) != nil {
				return
			}
		} else if c.under.uncork() != nil {
			return
		}
		if c.pause(ping.C, !ok) != nil {
			return
		}
	}
}

// pause pings when it is time to. With idle it waits for something to do.
func (c *client) pause(ping <-chan time.Time, idle bool) error {
	if !idle {
		select {
		case <-ping:
			return c.ping()
		default:
			return nil
		}
	}
	select {
	case <-c.ctx.Done():
		return c.ctx.Err()
	case <-c.queue.wake:
		return nil
	case <-ping:
		return c.ping()
	}
}

func (c *client) ping() error {
	return c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.limits.WriteTimeout))
}

// send writes a frame unless the client has it already.
func (c *client) send(f frame) error {
	if reached(c.last, f.position) {
		if f.kind != pluginsdk.EventResync {
			return nil
		}
	} else {
		c.last = f.position
	}
	return c.put(f)
}

func (c *client) put(f frame) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.limits.WriteTimeout)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, f.text)
}
