package fake

import (
	"slices"
	"strings"
)

var threadRoutes = []route{
	{pattern: "POST /channels/{channel}/messages/{message}/threads", bucket: "thread", handle: (*Server).threadFromMessage},
	{pattern: "POST /channels/{channel}/threads", bucket: "thread", files: true, handle: (*Server).threadWithout},
	{pattern: "PUT /channels/{channel}/thread-members/@me", bucket: "thread", handle: func(s *Server, c *call) (any, *refusal) {
		channel, refused := s.place(c, MayView)
		if refused == nil && channel.archived {
			refused = archivedThread
		}
		return nil, refused
	}},
	{pattern: "GET /guilds/{guild}/threads/active", bucket: "threads", handle: (*Server).activeThreads},
}

// threadFromMessage: resources/channel#start-thread-from-message.
func (s *Server) threadFromMessage(c *call) (any, *refusal) {
	channel, m, refused := s.target(c, MayView|MayOpenThreads|MayReadHistory)
	if refused != nil {
		return nil, refused
	}
	if channel.kind != KindText && channel.kind != KindAnnouncement {
		return nil, wrongChannelType
	}
	t, refused := s.threadBody(c, channel, "name", "auto_archive_duration", "rate_limit_per_user")
	if refused != nil {
		return nil, refused
	}
	if m.thread != "" {
		return nil, threadExists
	}
	t.id, t.kind = m.id, KindPublicThread
	if channel.kind == KindAnnouncement {
		t.kind = KindAnnounced
	}
	s.open(t)
	m.thread = t.id
	m.flags |= flagHasThread
	s.dispatchMessage("MESSAGE_UPDATE", m)
	starter := &message{channel: t.id, author: m.author, kind: typeThreadStarter, referenced: m.id,
		reference: object{"type": 0, "message_id": m.id, "channel_id": m.channel, "guild_id": channel.guild}}
	s.store(starter)
	c.status = 201
	return s.channelObject(t), nil
}

// threadWithout: resources/channel#start-thread-without-message and
// #start-thread-in-forum-or-media-channel.
func (s *Server) threadWithout(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView)
	if refused != nil {
		return nil, refused
	}
	if channel.forum() {
		return s.post(c, channel)
	}
	if channel.kind != KindText && channel.kind != KindAnnouncement {
		return nil, wrongChannelType
	}
	t, refused := s.threadBody(c, channel, "name", "auto_archive_duration", "type", "invitable", "rate_limit_per_user")
	if refused != nil {
		return nil, refused
	}
	o, _ := c.form()
	kind, given := c.number(o, "", "type", 10, 12, RuleThread)
	if !given {
		kind = KindPrivateThread
	}
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	wanted := uint64(MayOpenThreads)
	if kind == KindPrivateThread {
		wanted = MayOpenPrivate
	}
	if refused := s.need(channel, wanted); refused != nil {
		return nil, refused
	}
	t.id, t.kind = s.id(), kind
	s.open(t)
	c.status = 201
	return s.channelObject(t), nil
}

// post opens a thread in a forum, with its first message.
func (s *Server) post(c *call, channel *channel) (any, *refusal) {
	t, refused := s.threadBody(c, channel, "name", "auto_archive_duration", "rate_limit_per_user", "message", "applied_tags")
	if refused != nil {
		return nil, refused
	}
	o, _ := c.form()
	if refused := s.need(channel, MaySend); refused != nil {
		return nil, refused
	}
	first := c.object(o, "", "message", RuleThread)
	if first == nil {
		c.fail("message", RuleThread, "BASE_TYPE_REQUIRED", "This field is required")
		return nil, c.refusal()
	}
	t.id, t.kind = s.id(), KindPublicThread
	t.tags = c.snowflakes(o, "", "applied_tags", 5, RuleThread)
	d := s.draft(c, first, "message", inForum, channel)
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	if d.empty() {
		c.note(RuleEmptyMessage, "the message has nothing in it")
		return nil, emptyMessage
	}
	s.open(t)
	d.channel = t.id
	s.mention(d.message, d.allowed, nil)
	s.storeAs(t.id, d.message)
	answer := s.channelObject(t)
	answer["message"] = s.messageObject(d.message, true)
	c.status = 201
	return answer, nil
}

func (s *Server) threadBody(c *call, parent *channel, fields ...string) (*channel, *refusal) {
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	c.known("", o, fields...)
	c.number(o, "", "rate_limit_per_user", 0, 21600, RuleThread)
	name := strings.TrimSpace(c.text(o, "", "name", 1, 100, RuleThread))
	t := &channel{guild: parent.guild, parent: parent.id, name: name, owner: s.bot.id, archiveAfter: c.archiveAfter(o)}
	return t, c.refusal()
}

// open adds a thread and tells the sessions.
// Source: events/gateway-events#thread-create.
func (s *Server) open(t *channel) {
	s.channels[t.id] = t
	if parent := s.channels[t.parent]; parent.forum() {
		parent.last = t.id
	}
	s.dispatchIn(t, "THREAD_CREATE", intentGuilds, 0, func(*session) object {
		o := s.channelObject(t)
		o["newly_created"] = true
		return o
	})
	// Source: resources/message#message-reference-content-attribution-thread-created-messages
	if from := s.messages[t.id]; from == nil && t.kind != KindPrivateThread && !s.channels[t.parent].forum() {
		s.store(&message{channel: t.parent, author: t.owner, kind: typeThreadCreated, content: t.name,
			reference: object{"type": 0, "channel_id": t.id, "guild_id": t.guild}})
	}
}

// activeThreads: resources/guild#list-active-guild-threads.
func (s *Server) activeThreads(c *call) (any, *refusal) {
	g := s.guilds[c.path("guild")]
	if g == nil || g.gone {
		return nil, unknownGuild
	}
	threads := []object{}
	list := s.channelsOf(g.id)
	slices.Reverse(list)
	for _, t := range list {
		if t.thread() && !t.archived && s.can(t, MayView) {
			threads = append(threads, s.channelObject(t))
		}
	}
	return object{"threads": threads, "members": []object{}}, nil
}
