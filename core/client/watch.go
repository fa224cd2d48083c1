package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// silence is how long a daemon that is there can go without a word: it
	// pings every 25 s.
	silence = 80 * time.Second
	// maxFrame bounds an event, in bytes.
	maxFrame = 64 << 20
	// eventHello is the first frame of every connection.
	eventHello pluginsdk.EventType = "hello"
)

// Subscription says which events Watch tells about, and whom. The functions
// are called one at a time; one that takes long holds the events up, and a
// daemon that is held up for too long ends the connection.
type Subscription struct {
	Threads []string           // only these threads; all when empty
	After   pluginsdk.Position // go on after this one; from now on when zero

	Event func(pluginsdk.Event)
	// Up is called when a connection stands: what happens from here on is told.
	Up func()
	// Down is called when a connection is lost or cannot be had; another
	// attempt follows.
	Down func(err error)
}

// Watch tells about events until ctx ends, whose cause it then returns, or
// until the daemon refuses the subscription, with its *Problem. A connection
// that is lost is made again, and goes on after the last event; when that one
// is no longer kept, an event of type EventResync says that some are missing.
func (c *Client) Watch(ctx context.Context, s Subscription) error {
	pause := c.firstPause
	for {
		stood, err := c.watchOnce(ctx, &s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var problem *Problem
		if errors.As(err, &problem) && problem.Status/100 == 4 && problem.Status != http.StatusTooManyRequests {
			return err
		}
		if stood {
			pause = c.firstPause
		}
		if s.Down != nil {
			s.Down(err)
		}
		if err := rest(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, c.longestPause)
	}
}

// rest waits, or returns why ctx ended.
func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// watchOnce is the life of one connection. It leaves in s.After where the next
// one goes on, and says whether this one stood.
func (c *Client) watchOnce(ctx context.Context, s *Subscription) (stood bool, err error) {
	conn, err := c.dial(ctx, s)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() {
		leave := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, leave, time.Now().Add(time.Second))
		_ = conn.Close()
	})
	defer stop()
	conn.SetReadLimit(maxFrame)
	pong := conn.PingHandler()
	conn.SetPingHandler(func(text string) error {
		return errors.Join(conn.SetReadDeadline(time.Now().Add(silence)), pong(text))
	})
	for {
		event, err := next(conn)
		if err != nil {
			return stood, lost(err)
		}
		s.After = pluginsdk.Position{Boot: event.Boot, Seq: event.Seq}
		if event.Type == eventHello {
			stood = true
			if s.Up != nil {
				s.Up()
			}
			continue
		}
		s.Event(event)
	}
}

// lost says in words how a connection ended.
func lost(err error) error {
	var farewell *websocket.CloseError
	switch {
	case !errors.As(err, &farewell):
		return err
	case farewell.Code == websocket.CloseGoingAway:
		return errors.New("the daemon is stopping")
	case farewell.Text != "":
		return errors.New("the daemon ended it: " + farewell.Text)
	}
	return errors.New("the daemon ended it")
}

func next(conn *websocket.Conn) (pluginsdk.Event, error) {
	var event pluginsdk.Event
	if err := conn.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return event, err
	}
	_, text, err := conn.ReadMessage()
	if err != nil {
		return event, err
	}
	if err := json.Unmarshal(text, &event); err != nil {
		return event, fmt.Errorf("an event is not JSON: %w", err)
	}
	return event, nil
}

func (c *Client) dial(ctx context.Context, s *Subscription) (*websocket.Conn, error) {
	query := url.Values{"thread": s.Threads}
	if s.After.Boot != "" {
		query.Set("boot", s.After.Boot)
		query.Set("seq", strconv.FormatUint(s.After.Seq, 10))
	}
	address := "ws" + strings.TrimPrefix(c.address("/ws", query), "http")
	credentials := c.credentials()
	conn, response, err := c.dialer.DialContext(ctx, address, credentials)
	if err != nil && response != nil && c.learn(response, credentials) {
		conn, response, err = c.dialer.DialContext(ctx, address, c.credentials())
	}
	if err == nil {
		return conn, nil
	}
	if response == nil {
		return nil, c.unreachable(ctx, err)
	}
	defer response.Body.Close()
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // gorilla keeps a beginning of it
	return nil, c.refused(response, content)
}
