package fake

import "time"

// What goes wrong with the gateway. Each is done to all connections that there are.

func (s *Server) eachConn(do func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if !c.ended {
			do(c)
		}
	}
	s.touch()
}

// Cut ends all connections without a close frame.
func (s *Server) Cut() { s.eachConn((*conn).cut) }

// CloseWith ends all connections with a code. 4004, 4007 and 4009 end their sessions.
func (s *Server) CloseWith(code int) { s.eachConn(func(c *conn) { c.close(code, "") }) }

// Hang makes all connections say nothing any more, neither events nor answers to
// heartbeats, without ending: zombies.
func (s *Server) Hang() { s.eachConn(func(c *conn) { c.hung = true }) }

// InvalidSession sends op 9 to all connections. Sessions that are not resumable end.
func (s *Server) InvalidSession(resumable bool) {
	s.eachConn(func(c *conn) { c.invalidate(resumable) })
}

// AskReconnect sends op 7 to all connections.
// Source: events/gateway-events#reconnect.
func (s *Server) AskReconnect() {
	s.eachConn(func(c *conn) { c.send(object{"op": opReconnect, "d": nil, "s": nil, "t": nil}) })
}

// AskHeartbeat sends op 1 to all connections; a heartbeat is to come at once.
// Source: events/gateway#heartbeat-requests.
func (s *Server) AskHeartbeat() {
	s.eachConn(func(c *conn) {
		c.asked = time.Now()
		c.send(object{"op": opHeartbeat, "d": nil, "s": nil, "t": nil})
	})
}

// LoseSessions forgets all sessions: who resumes is told that theirs is invalid. The
// connections that there are stay, and get no more events.
func (s *Server) LoseSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
	s.touch()
}

// Refuse answers the next connections to the gateway with 503: so many, or all for a time.
func (s *Server) Refuse(times int, during time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refusing{times: times, until: s.now().Add(during)}
}

// SetToken makes another token the bot's, as when it is reset. After it, and after
// SetPrivileged, the bot may come again that was closed for good.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Token, s.final = token, ""
}

// SetPrivileged changes which privileged intents the application may use; -1 is none.
func (s *Server) SetPrivileged(intents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.Privileged, s.final = intents, ""
}
