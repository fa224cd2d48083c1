package fake

import (
	"encoding/json"
	"slices"
	"time"
)

// The intents.
// Source: events/gateway#list-of-intents.
const (
	intentGuilds          = 1 << 0
	intentMembers         = 1 << 1
	intentPresences       = 1 << 8
	intentGuildMessages   = 1 << 9
	intentGuildReactions  = 1 << 10
	intentGuildTyping     = 1 << 11
	intentDirectMessages  = 1 << 12
	intentDirectReactions = 1 << 13
	intentDirectTyping    = 1 << 14
	intentMessageContent  = 1 << 15
	intentsPrivileged     = intentMembers | intentPresences | intentMessageContent
	intentsKnown          = 1<<17 - 1 | 1<<20 | 1<<21 | 1<<24 | 1<<25
)

// session is what the bot begins with Identify and keeps over its connections.
type session struct {
	id      string
	intents int
	seq     int
	events  []event // for replays, oldest first
	conn    *conn   // nil without a connection
	left    time.Time
}

type event struct {
	seq  int
	data []byte // the whole payload
}

// EventFault is something that goes wrong with events. Source: reference#consistency.
type EventFault struct {
	Event  string        `json:"event"` // MESSAGE_CREATE and so on; empty is every one
	Kind   string        `json:"kind"`  // drop, delay or duplicate
	Delay  time.Duration `json:"delay"` // of delay
	Times  int           `json:"times"` // 0 is always
	Chance float64       `json:"chance"`
	done   int
}

// BreakEvents makes events get lost, late or come twice from now on.
func (s *Server) BreakEvents(f EventFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains([]string{"drop", "delay", "duplicate"}, f.Kind) {
		misuse("there is no kind of event fault %q: drop, delay or duplicate", f.Kind)
	}
	s.eventFaults = append(s.eventFaults, &f)
}

func (s *Server) eventFault(name string) EventFault {
	for _, f := range s.eventFaults {
		if f.Event != "" && f.Event != name || f.Times > 0 && f.done == f.Times || f.Chance > 0 && s.random.Float64() >= f.Chance {
			continue
		}
		f.done++
		return *f
	}
	return EventFault{}
}

// dispatch tells an event to the sessions that have one of the intents; 0 is every
// session. The lock is held.
func (s *Server) dispatch(name string, intents int, of func(*session) object) {
	s.touch()
	f := s.eventFault(name)
	if f.Kind == "drop" {
		return
	}
	for _, session := range s.sessions {
		if intents != 0 && session.intents&intents == 0 {
			continue
		}
		data := of(session)
		if f.Kind == "delay" {
			time.AfterFunc(f.Delay, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.tell(session, name, data)
			})
			continue
		}
		s.tell(session, name, data)
		if f.Kind == "duplicate" {
			s.tell(session, name, data)
		}
	}
}

// dispatchIn is dispatch for what happens in a channel, to whoever may see it.
func (s *Server) dispatchIn(c *channel, name string, inGuild, direct int, of func(*session) object) {
	if !s.can(c, MayView) {
		s.touch()
		return
	}
	intents := inGuild
	if c.direct() {
		intents = direct
	}
	s.dispatch(name, intents, of)
}

func (s *Server) dispatchMessage(name string, m *message) {
	c := s.channels[m.channel]
	if m.only != "" {
		// An ephemeral message comes to the application that sent it as if direct.
		s.dispatch(name, intentGuildMessages|intentDirectMessages, func(session *session) object { return s.eventObject(m, true) })
		return
	}
	s.dispatchIn(c, name, intentGuildMessages, intentDirectMessages, func(session *session) object {
		return s.eventObject(m, session.intents&intentMessageContent != 0)
	})
}

// tell gives an event its number, keeps it for replays and sends it if it can.
func (s *Server) tell(session *session, name string, data any) {
	session.seq++
	payload, err := json.Marshal(object{"op": opDispatch, "t": name, "s": session.seq, "d": data})
	if err != nil {
		panic(err) // data are objects made above
	}
	e := event{session.seq, payload}
	session.events = append(session.events, e)
	if session.conn != nil {
		session.conn.sendEvent(e)
	}
}

// leave ends a connection's part in its session.
func (s *Server) leave(c *conn, ends bool) {
	session := c.session
	if session == nil || session.conn != c {
		return
	}
	session.conn, session.left = nil, s.now()
	if ends {
		delete(s.sessions, session.id)
	}
}

// connected counts the sessions that have a connection.
func (s *Server) connected() int {
	n := 0
	for _, session := range s.sessions {
		if session.conn != nil {
			n++
		}
	}
	return n
}

// begin makes a session and tells it READY and its guilds.
// Source: events/gateway-events#ready.
func (s *Server) begin(c *conn, intents int) {
	session := &session{id: snowflake(s.random.Uint64()), intents: intents, conn: c}
	s.sessions[session.id] = session
	c.session = session
	s.mostConns = max(s.mostConns, s.connected())
	guilds := []object{}
	there := s.joined()
	for _, g := range there {
		guilds = append(guilds, object{"id": g.id, "unavailable": true})
	}
	s.tell(session, "READY", object{"v": 10, "user": s.userObject(s.bot.id), "guilds": guilds, "session_id": session.id,
		"resume_gateway_url": "ws" + s.base[len("http"):] + "/resume/", "session_type": "normal", "private_channels": []object{},
		"application": object{"id": s.app, "flags": s.appFlags()}})
	for _, g := range there {
		if intents&intentGuilds != 0 {
			s.tell(session, "GUILD_CREATE", s.guildObject(g))
		}
	}
	s.touch()
}

// resume gives a session another connection and replays what it missed.
// Source: events/gateway#resuming.
func (s *Server) resume(c *conn, id string, seq int) {
	session := s.sessions[id]
	if session == nil || session.conn == nil && s.now().Sub(session.left) > s.config.SessionFor {
		delete(s.sessions, id)
		c.invalidate(false)
		return
	}
	if seq < 0 || seq > session.seq {
		s.breach(c.where, RuleResume, "resumes at %d, but the session has only come to %d", seq, session.seq)
		delete(s.sessions, id)
		c.close(4007, "Invalid seq.")
		return
	}
	if old := session.conn; old != nil {
		old.close(4000, "Resumed on another connection.")
	}
	session.conn, c.session = c, session
	s.mostConns = max(s.mostConns, s.connected())
	c.heard = seq
	for _, e := range session.events {
		if e.seq > seq {
			c.sendEvent(e)
		}
	}
	s.tell(session, "RESUMED", object{})
	s.touch()
}
