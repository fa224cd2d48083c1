package fake

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Source: topics/opcodes-and-status-codes#gateway-gateway-opcodes.
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opPresence  = 3
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

// conn is one connection to the gateway. All but its two loops is done with the server's
// lock held.
type conn struct {
	server   *Server
	ws       *websocket.Conn
	where    string // for breaches
	resumes  bool   // it came to the address for resuming
	compress string // zlib-stream, "payload" or none

	session  *session
	as       string // token and intents that it identified with
	identify bool   // it has identified or resumed
	came     bool   // it has sent that it identifies or resumes
	invalid  bool   // it was told that its session is invalid
	hung     bool   // it says nothing any more
	ended    bool

	out      []frame
	wake     chan struct{}
	sent     []time.Time       // when the bot sent something, of the last minute
	events   map[int]time.Time // when which event was sent
	heard    int               // the last sequence that the bot is known to have
	asked    time.Time         // when a heartbeat was asked for; zero when not
	deadline *time.Timer       // for the next heartbeat
}

// frame is a payload or, with a code, the end. Code -1 is an end without a word.
type frame struct {
	data []byte
	code int
	text string
}

type refusing struct {
	times int
	until time.Time
}

// connect takes a connection.
// Source: events/gateway#connecting.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refused := s.refuse.times > 0 || s.now().Before(s.refuse.until)
	if s.refuse.times > 0 {
		s.refuse.times--
	}
	s.mu.Unlock()
	if refused {
		http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
		return
	}
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it is answered
	}
	query := r.URL.Query()
	c := &conn{server: s, ws: ws, where: "gateway " + r.URL.RequestURI(), resumes: strings.HasPrefix(r.URL.Path, "/resume/"), compress: query.Get("compress"),
		wake: make(chan struct{}, 1), events: make(map[int]time.Time)}
	s.mu.Lock()
	s.conns[c] = true
	s.touch()
	go c.writeLoop()
	switch {
	case query.Get("v") != "10":
		s.breach(c.where, RuleGatewayURL, "the version is %q, not 10", query.Get("v"))
		c.close(4012, "Invalid API version.")
	case query.Get("encoding") != "json":
		s.breach(c.where, RuleGatewayURL, "the encoding is %q, not json", query.Get("encoding"))
		c.close(4002, "Decode error.")
	case c.compress != "" && c.compress != "zlib-stream":
		s.breach(c.where, RuleGatewayURL, "the compression %q is not one that the fake has", c.compress)
		c.close(4002, "Decode error.")
	default:
		c.send(object{"op": opHello, "d": object{"heartbeat_interval": s.config.HeartbeatInterval.Milliseconds()}, "s": nil, "t": nil})
		c.expectHeartbeat()
	}
	s.mu.Unlock()
	c.readLoop()
}

func (c *conn) readLoop() {
	s := c.server
	for {
		kind, data, err := c.ws.ReadMessage()
		s.mu.Lock()
		if err != nil {
			// Source: events/gateway#initiating-a-disconnect.
			s.leave(c, websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) && !c.ended)
			c.gone()
			s.mu.Unlock()
			return
		}
		if !c.ended && !c.hung {
			c.receive(kind, data)
		}
		s.mu.Unlock()
	}
}

// gone forgets the connection.
func (c *conn) gone() {
	c.ended = true
	if c.deadline != nil {
		c.deadline.Stop()
	}
	delete(c.server.conns, c)
	_ = c.ws.Close() // it is over either way
	select {
	case c.wake <- struct{}{}:
	default:
	}
	c.server.touch()
}

// receive takes a payload of the bot.
// Source: events/gateway#sending-events and #rate-limiting.
func (c *conn) receive(kind int, data []byte) {
	s := c.server
	now := time.Now()
	c.sent = append(slices.DeleteFunc(c.sent, func(at time.Time) bool { return now.Sub(at) >= time.Minute }), now)
	if len(c.sent) > 120 {
		s.breach(c.where, RuleGatewayRate, "more than 120 payloads in 60 seconds")
		c.close(4008, "Rate limited.")
		return
	}
	if len(data) > 4096 {
		s.breach(c.where, RulePayload, "a payload of %d bytes; at most 4096 are taken", len(data))
		c.close(4002, "Decode error.")
		return
	}
	var payload struct {
		Op *int
		D  any
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&payload); err != nil || payload.Op == nil || kind != websocket.TextMessage {
		s.breach(c.where, RulePayload, "a payload that cannot be decoded")
		c.close(4002, "Decode error.")
		return
	}
	d, _ := payload.D.(object)
	op := *payload.Op
	// What it says first may have been on its way when it was told that the session is invalid.
	comes := op == opIdentify || op == opResume
	crossed := c.invalid && comes && !c.came && s.now().Sub(s.lastInvalid) <= toldFor
	c.came = c.came || comes
	switch {
	case crossed:
		c.close(4003, "Not authenticated.")
	case c.invalid && op != opHeartbeat:
		s.breach(c.where, RuleAfterInvalid, "the opcode %d on a connection whose session is invalid: it is for a new one", op)
		c.close(4003, "Not authenticated.")
	case op == opHeartbeat:
		c.heartbeat(payload.D)
	case (op == opIdentify || op == opResume) && c.identify:
		s.breach(c.where, RuleIdentifyTwice, "the opcode %d on a connection that has a session", op)
		c.close(4005, "Already authenticated.")
	case op == opIdentify:
		c.onIdentify(d)
	case op == opResume:
		c.onResume(d)
	case !slices.Contains([]int{opPresence, 4, 8, 31, 43}, op):
		s.breach(c.where, RulePayload, "there is no opcode %d to send", op)
		c.close(4001, "Unknown opcode.")
	case !c.identify:
		s.breach(c.where, RuleNotIdentified, "the opcode %d before identifying", op)
		c.close(4003, "Not authenticated.")
	}
}

// heartbeat takes a heartbeat and answers it.
// Source: events/gateway#sending-heartbeats.
func (c *conn) heartbeat(d any) {
	s := c.server
	seq := 0
	number, ok := d.(json.Number)
	if ok {
		seq = numberOf(number)
	}
	if c.session != nil {
		least, most := c.heard, c.session.seq
		for at, when := range c.events {
			if time.Since(when) > s.config.Lag {
				least = max(least, at)
			}
		}
		if d != nil && !ok || seq < least || seq > most {
			s.breach(c.where, RuleHeartbeatSeq, "a heartbeat with %v, but the bot has had %d", d, least)
		}
		c.heard = max(c.heard, seq)
		for at := range c.events {
			if at <= c.heard {
				delete(c.events, at)
			}
		}
	}
	if !c.asked.IsZero() && time.Since(c.asked) > s.config.Lag {
		s.breach(c.where, RuleHeartbeatAsked, "a heartbeat was asked for and came after %v", time.Since(c.asked))
	}
	c.asked = time.Time{}
	c.expectHeartbeat()
	c.send(object{"op": opAck})
}

// expectHeartbeat ends the connection when no heartbeat comes in time.
// Source: events/gateway#heartbeat-interval.
func (c *conn) expectHeartbeat() {
	s := c.server
	in := s.config.HeartbeatInterval + s.config.HeartbeatGrace
	if c.deadline != nil {
		c.deadline.Reset(in)
		return
	}
	c.deadline = time.AfterFunc(in, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.ended || c.hung {
			return
		}
		s.breach(c.where, RuleHeartbeatLate, "no heartbeat in %v", in)
		c.close(4000, "Heartbeat timed out.")
	})
}
