package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	dialTime  = 20 * time.Second // for the connection, and then for Hello
	writeTime = 10 * time.Second
	leaveTime = 2 * time.Second // that Discord has to answer our close
	// answers are the heartbeats that a minute may ask for: with our own, and also across
	// the border of two minutes, that is less than 120: events/gateway#rate-limiting.
	answers = 55
	// keepSession is the code with which a connection is closed whose session is to be
	// resumed: any but 1000 and 1001 (events/gateway#initiating-a-disconnect).
	keepSession = 4000
)

// link is one websocket, from its Hello on.
type link struct {
	conn *websocket.Conn
	seq  *atomic.Int64

	mu     sync.Mutex // held for writing, which ends by a deadline
	minute time.Time
	sent   int
	beaten time.Time // when the last heartbeat was sent

	waiting atomic.Bool // for the ACK of one that was due
	busy    atomic.Bool // an event is being handled, so that nothing is read
	dropped atomic.Pointer[string]
}

// follow opens a connection, begins or resumes a session there, and hands over what comes
// until it ends. It returns why it ended: an *ended, a *Fatal, or that it was never opened.
func (c *Connection) follow(ctx context.Context, address string, first send) error {
	conn, err := dial(ctx, address)
	if err != nil {
		return err
	}
	l := &link{conn: conn, seq: &c.seq}
	stop := context.AfterFunc(ctx, l.leave)
	defer stop()
	end := &ended{resuming: first.Op == opResume}
	beating, stopBeating := context.WithCancel(context.Background())
	var beats sync.WaitGroup
	defer func() {
		stopBeating()
		conn.Close()
		beats.Wait()
	}()

	_ = conn.SetReadDeadline(time.Now().Add(dialTime))
	hello, err := c.payload.read(conn)
	var told struct {
		Interval int64 `json:"heartbeat_interval"` // milliseconds
	}
	if err == nil && (hello.Op != opHello || json.Unmarshal(hello.Data, &told) != nil || told.Interval <= 0) {
		err = errors.New("the gateway does not say how often it wants heartbeats")
	}
	if err != nil {
		end.resuming = false
		return l.end(end, err)
	}
	interval := time.Duration(told.Interval) * time.Millisecond
	beats.Go(func() { l.beat(beating, interval) })
	if err := l.write(first); err != nil {
		return l.end(end, err)
	}
	for {
		// An ACK comes at least each interval; the heartbeats notice first if none does.
		_ = conn.SetReadDeadline(time.Now().Add(2*interval + dialTime))
		payload, err := c.payload.read(conn)
		switch {
		case errors.Is(err, errPayload):
			c.config.Log.Warn("discord's gateway sent what cannot be read", "error", err)
		case err != nil:
			return l.end(end, err)
		case ctx.Err() != nil: // what comes now comes too late
		default:
			if err := c.receive(l, payload, end, address); err != nil {
				return err
			}
		}
	}
}

// receive does what a payload asks for. An error is the connection's end.
func (c *Connection) receive(l *link, payload received, end *ended, address string) error {
	switch payload.Op {
	case opDispatch:
		l.busy.Store(true)
		c.dispatch(Event{payload.Type, payload.Data}, payload.Seq)
		l.busy.Store(false)
		c.settled(payload, end, address)
	case opHeartbeat:
		if err := l.heartbeat(false); err != nil {
			return l.end(end, err)
		}
	case opHeartbeatACK:
		l.waiting.Store(false)
		l.mu.Lock()
		beaten := l.beaten
		l.mu.Unlock()
		c.note(func(s *Status) { s.Latency, s.Heard = time.Since(beaten), beaten })
	case opReconnect:
		l.drop("Discord asked to connect again")
		return l.end(end, nil)
	case opInvalidSession:
		var resumable bool
		_ = json.Unmarshal(payload.Data, &resumable)
		end.invalid, end.sessionOver = true, !resumable
		l.drop("Discord does not accept the session")
		return l.end(end, nil)
	}
	return nil
}

// settled takes down that a session is ready or resumed.
func (c *Connection) settled(payload received, end *ended, address string) {
	switch payload.Type {
	case "READY":
		var ready struct {
			SessionID        string `json:"session_id"`
			ResumeGatewayURL string `json:"resume_gateway_url"`
		}
		_ = json.Unmarshal(payload.Data, &ready)
		if ready.ResumeGatewayURL == "" {
			ready.ResumeGatewayURL = address
		}
		c.session = session{ready.SessionID, ready.ResumeGatewayURL}
	case "RESUMED":
	default:
		return
	}
	end.established = time.Now()
	c.note(func(s *Status) {
		s.Connected, s.Heard = true, end.established
		if payload.Type == "READY" {
			s.Sessions++
		} else {
			s.Resumed++
		}
	})
	c.config.Log.Info("connected to discord's gateway", "event", payload.Type)
}

// dial opens a connection.
func dial(ctx context.Context, address string) (*websocket.Conn, error) {
	address, err := endpoint(address)
	if err != nil {
		return nil, err
	}
	dialer := websocket.Dialer{
		Proxy:            http.ProxyFromEnvironment,
		NetDialContext:   (&net.Dialer{Timeout: dialTime}).DialContext,
		HandshakeTimeout: dialTime,
		ReadBufferSize:   4096,
		WriteBufferSize:  1024,
	}
	conn, response, err := dialer.DialContext(ctx, address, nil)
	if response != nil {
		response.Body.Close()
	}
	switch {
	case err != nil && response != nil:
		return nil, fmt.Errorf("cannot reach Discord's gateway: it answered %d", response.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("cannot reach Discord's gateway: %w", err)
	}
	conn.SetReadLimit(maxPayload)
	return conn, nil
}

// beat sends a heartbeat each interval, the first after a part of one at random, and drops
// the connection when no ACK has come between two of them.
// Source: events/gateway#sending-heartbeats.
func (l *link) beat(ctx context.Context, interval time.Duration) {
	for wait := rand.N(interval); pause(ctx, wait) == nil; wait = interval {
		if l.waiting.Load() && !l.busy.Load() {
			l.drop("Discord did not acknowledge a heartbeat")
			return
		}
		if l.heartbeat(true) != nil {
			l.conn.Close()
			return
		}
	}
}

// heartbeat sends one: that is due, or that Discord has asked for.
func (l *link) heartbeat(due bool) error {
	l.mu.Lock()
	if now := time.Now(); now.Sub(l.minute) >= time.Minute {
		l.minute, l.sent = now, 0
	}
	if !due && l.sent >= answers {
		l.mu.Unlock()
		return nil
	}
	l.sent++
	l.beaten = time.Now()
	l.mu.Unlock()
	if due {
		l.waiting.Store(true)
	}
	var last any // null before the first event
	if seq := l.seq.Load(); seq > 0 {
		last = seq
	}
	return l.write(send{Op: opHeartbeat, Data: last})
}

func (l *link) write(payload send) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return l.conn.WriteJSON(payload)
}

// drop closes the connection so that the session can be resumed. The first reason is what
// it has ended for.
func (l *link) drop(reason string) {
	l.dropped.CompareAndSwap(nil, &reason)
	_ = l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(keepSession, ""), time.Now().Add(writeTime))
	l.conn.Close()
}

// leave closes the connection and the session. Discord answers, and what it has sent
// before is read, so that the close is not lost with a connection that is torn down.
func (l *link) leave() {
	_ = l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(leaveTime))
	time.AfterFunc(leaveTime, func() { l.conn.Close() })
}

// end is why the connection ended: what we dropped it for, or what reading it gave.
func (l *link) end(end *ended, err error) error {
	if reason := l.dropped.Load(); reason != nil {
		end.words = *reason
		return end
	}
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return closedBy(closed, end)
	}
	end.words = "the connection broke: " + err.Error()
	return end
}
