package fake

import (
	"slices"
	"strconv"
)

// NewGuild is a guild to be made. The owner of the application owns it, and is in it, as
// is the bot.
type NewGuild struct {
	Name        string `json:"name"`
	Permissions uint64 `json:"permissions"` // of the bot; 0 is what a bot needs
}

// AddGuild makes a guild and returns its id.
func (s *Server) AddGuild(in NewGuild) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &guild{id: s.id(), name: in.Name, owner: s.owner.id, permissions: in.Permissions}
	if g.permissions == 0 {
		g.permissions = mayByDefault
	}
	g.roles = []*role{{id: g.id, name: "@everyone", permissions: mayByDefault &^ MayMentionAll}}
	g.members = []*member{{user: s.bot.id}, {user: s.owner.id}}
	s.guilds[g.id] = g
	s.dispatch("GUILD_CREATE", intentGuilds, func(*session) object { return s.guildObject(g) })
	return g.id
}

// RemoveBot takes the bot out of a guild.
func (s *Server) RemoveBot(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := find(s.guilds, guild, "guild")
	g.gone = true
	s.dispatch("GUILD_DELETE", intentGuilds, func(*session) object { return object{"id": g.id} })
}

// SetOutage makes a guild unavailable, though the bot stays in it, or available again.
// Source: events/gateway#guild-availability.
func (s *Server) SetOutage(guild string, out bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := find(s.guilds, guild, "guild")
	if out {
		s.dispatch("GUILD_DELETE", intentGuilds, func(*session) object { return object{"id": g.id, "unavailable": true} })
		return
	}
	s.dispatch("GUILD_CREATE", intentGuilds, func(*session) object { return s.guildObject(g) })
}

// NewChannel is a channel to be made.
type NewChannel struct {
	Guild string `json:"guild"`
	Name  string `json:"name"`
	Kind  int    `json:"kind"` // KindText, KindForum and so on
}

// AddChannel makes a channel and returns its id.
func (s *Server) AddChannel(in NewChannel) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	find(s.guilds, in.Guild, "guild")
	c := &channel{id: s.id(), guild: in.Guild, name: in.Name, kind: in.Kind}
	s.channels[c.id] = c
	s.dispatchIn(c, "CHANNEL_CREATE", intentGuilds, 0, func(*session) object { return s.channelObject(c) })
	return c.id
}

// NewThread is a thread to be opened by somebody.
type NewThread struct {
	Channel string `json:"channel"` // a channel or a forum
	Message string `json:"message"` // from which it starts; may be empty
	Name    string `json:"name"`
	By      string `json:"by"`      // default the owner
	Private bool   `json:"private"` // without the bot, unless it is mentioned there
	Text    string `json:"text"`    // the first message; of a post of a forum, always there
}

// AddThread opens a thread and returns its id.
func (s *Server) AddThread(in NewThread) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := find(s.channels, in.Channel, "channel")
	t := &channel{id: s.id(), guild: parent.guild, parent: parent.id, name: in.Name, owner: s.by(in.By), kind: KindPublicThread, archiveAfter: 4320}
	if in.Private {
		t.kind = KindPrivateThread
	}
	if in.Message != "" {
		m := find(s.messages, in.Message, "message")
		t.id, m.thread = m.id, m.id
		m.flags |= flagHasThread
	}
	s.open(t)
	if in.Message != "" {
		m := s.messages[in.Message]
		s.dispatchMessage("MESSAGE_UPDATE", m)
		s.store(&message{channel: t.id, author: m.author, kind: typeThreadStarter, referenced: m.id,
			reference: object{"type": 0, "message_id": m.id, "channel_id": m.channel, "guild_id": parent.guild}})
	}
	if in.Text != "" || parent.forum() {
		m := &message{channel: t.id, author: t.owner, content: in.Text}
		s.mention(m, &allowed{parse: []string{"users", "roles", "everyone"}}, nil)
		if id := t.id; parent.forum() {
			s.storeAs(id, m)
		} else {
			s.store(m)
		}
	}
	return t.id
}

// ThreadState is what a thread becomes.
type ThreadState struct {
	Thread   string `json:"thread"`
	Archived bool   `json:"archived"`
	Locked   bool   `json:"locked"`
}

// SetThread archives or locks a thread, or opens it again.
func (s *Server) SetThread(in ThreadState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := find(s.channels, in.Thread, "thread")
	next := *t
	next.archived, next.locked = in.Archived, in.Locked
	s.renew(t, next)
}

// RemoveChannel deletes a channel or a thread.
func (s *Server) RemoveChannel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find(s.channels, id, "channel")
	name, o := "CHANNEL_DELETE", s.channelObject(c)
	if c.thread() {
		name, o = "THREAD_DELETE", object{"id": c.id, "guild_id": c.guild, "parent_id": c.parent, "type": c.kind}
	}
	s.dispatchIn(c, name, intentGuilds, 0, func(*session) object { return o })
	delete(s.channels, id)
	for _, m := range c.messages {
		m.deleted = true
	}
}

// NewUser is somebody to be made.
type NewUser struct {
	Name   string   `json:"name"`
	Shown  string   `json:"shown"` // the name people see; may be empty
	Bot    bool     `json:"bot"`
	Guilds []string `json:"guilds"` // which they join
	Roles  []string `json:"roles"`  // of those guilds
	Nick   string   `json:"nick"`   // in those guilds
}

// AddUser makes somebody and returns their id.
func (s *Server) AddUser(in NewUser) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{id: s.id(), name: in.Name, shown: in.Shown, bot: in.Bot}
	s.users[u.id] = u
	for _, id := range in.Guilds {
		g := find(s.guilds, id, "guild")
		g.members = append(g.members, &member{user: u.id, nick: in.Nick, roles: in.Roles})
	}
	s.touch()
	return u.id
}

// NewRole is a role to be made.
type NewRole struct {
	Guild       string `json:"guild"`
	Name        string `json:"name"`
	Permissions uint64 `json:"permissions"`
	Mentionable bool   `json:"mentionable"`
}

// AddRole makes a role and returns its id.
func (s *Server) AddRole(in NewRole) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := find(s.guilds, in.Guild, "guild")
	r := &role{id: s.id(), name: in.Name, permissions: in.Permissions, mentionable: in.Mentionable}
	g.roles = append(g.roles, r)
	s.touch()
	return r.id
}

// SetRoles gives a member roles, in place of those they had.
func (s *Server) SetRoles(guild, user string, roles []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range find(s.guilds, guild, "guild").members {
		if m.user == user {
			m.roles = roles
			s.touch()
			return
		}
	}
	misuse("the user %q is not in the guild %q", user, guild)
}

func (s *Server) permissionsOf(guild, user string) string {
	g := s.guilds[guild]
	permissions := uint64(0)
	for _, m := range g.members {
		for _, r := range g.roles {
			if m.user == user && (r.id == g.id || slices.Contains(m.roles, r.id)) {
				permissions |= r.permissions
			}
		}
	}
	if g.owner == user {
		permissions = 1<<53 - 1
	}
	return strconv.FormatUint(permissions, 10)
}

// Deny takes permissions (MayView and so on) from the bot in a channel, in place of those
// taken before; 0 gives all of them back.
func (s *Server) Deny(channel string, permissions uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find(s.channels, channel, "channel")
	c.denied = permissions
	s.dispatchIn(c, "CHANNEL_UPDATE", intentGuilds, 0, func(*session) object { return s.channelObject(c) })
}

// CloseDM makes somebody take no direct messages, or take them again.
func (s *Server) CloseDM(user string, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	find(s.users, user, "user").closed = closed
}

// DM is the channel of direct messages between somebody and the bot.
func (s *Server) DM(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	find(s.users, user, "user")
	return s.direct(user).id
}

// by is who does something; nobody named is the owner.
func (s *Server) by(user string) string {
	if user == "" {
		return s.owner.id
	}
	return find(s.users, user, "user").id
}
