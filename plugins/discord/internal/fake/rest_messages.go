package fake

import "slices"

var messageRoutes = []route{
	{pattern: "GET /channels/{channel}/messages", bucket: "history", handle: (*Server).getMessages},
	{pattern: "GET /channels/{channel}/messages/{message}", bucket: "message", handle: (*Server).getMessage},
	{pattern: "POST /channels/{channel}/messages", bucket: "send", files: true, handle: (*Server).createMessage},
	{pattern: "PATCH /channels/{channel}/messages/{message}", bucket: "edit", files: true, handle: (*Server).editMessage},
	{pattern: "DELETE /channels/{channel}/messages/{message}", bucket: "delete", handle: (*Server).deleteMessage},
	{pattern: "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", bucket: "react", handle: (*Server).putReaction},
	{pattern: "DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", bucket: "react", handle: (*Server).deleteReaction},
}

// sees says whether the application is allowed the content of messages.
// Source: events/gateway#http-restrictions.
func (s *Server) sees() bool {
	return s.config.Privileged > 0 && s.config.Privileged&intentMessageContent != 0
}

// place is the channel of a request, if the bot has the permissions there.
func (s *Server) place(c *call, wanted uint64) (*channel, *refusal) {
	channel := s.channels[c.path("channel")]
	if channel == nil || channel.guild != "" && s.guilds[channel.guild].gone {
		return nil, unknownChannel
	}
	return channel, s.need(channel, wanted)
}

// target is the message of a request.
func (s *Server) target(c *call, wanted uint64) (*channel, *message, *refusal) {
	channel, refused := s.place(c, wanted)
	if refused != nil {
		return nil, nil, refused
	}
	m := s.messages[c.path("message")]
	if m == nil || m.deleted || m.channel != channel.id || m.only != "" {
		return nil, nil, unknownMessage
	}
	return channel, m, nil
}

func (s *Server) getMessages(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView)
	if refused != nil {
		return nil, refused
	}
	list := []object{}
	messages, refused := c.page(channel.seen())
	if refused != nil {
		return nil, refused
	}
	if !s.can(channel, MayReadHistory) {
		return list, nil
	}
	for _, m := range messages {
		list = append(list, s.messageObject(m, s.sees()))
	}
	return list, nil
}

func (s *Server) getMessage(c *call) (any, *refusal) {
	_, m, refused := s.target(c, MayView|MayReadHistory)
	if refused != nil {
		return nil, refused
	}
	return s.messageObject(m, s.sees()), nil
}

// createMessage: resources/message#create-message.
func (s *Server) createMessage(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView|MaySend)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	d := s.draft(c, o, "", inCreate, channel)
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	switch {
	case channel.forum() || channel.kind == KindCategory:
		return nil, nonText
	case channel.direct() && !s.shares(channel.recipients[0]):
		return nil, cannotSendToUser
	case channel.locked && !s.can(channel, MayManageThreads):
		return nil, lockedThread
	case d.replies != nil && !s.can(channel, MayReadHistory):
		return nil, noHistory
	case len(d.files) > 0 && !s.can(channel, MayAttach), len(d.embeds) > 0 && !s.can(channel, MayEmbed):
		return nil, missingPermissions
	}
	if d.enforce && d.nonce != nil {
		if first := s.remembered(d.message); first != nil {
			return s.messageObject(first, true), nil
		}
	}
	if d.empty() {
		c.note(RuleEmptyMessage, "the message has nothing in it")
		return nil, emptyMessage
	}
	s.mention(d.message, d.allowed, d.replies)
	s.store(d.message)
	s.remember(d.message)
	answer := s.messageObject(d.message, true)
	if d.nonce != nil {
		answer["nonce"] = d.nonce
	}
	return answer, nil
}

// editMessage: resources/message#edit-message.
func (s *Server) editMessage(c *call) (any, *refusal) {
	channel, m, refused := s.target(c, MayView)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	if m.author != s.bot.id {
		c.note(RuleEditForeign, "the message %s is not the bot's", m.id)
		return nil, foreignMessage
	}
	if channel.archived {
		return nil, archivedThread
	}
	return s.change(c, o, "", inEdit, m)
}

// change edits a message by a body.
func (s *Server) change(c *call, o object, path string, in where, m *message) (any, *refusal) {
	in.had = m.flags
	d := s.draft(c, o, path, in, s.channels[m.channel])
	kept := slices.DeleteFunc(slices.Clone(m.files), func(f *file) bool { return d.listed && !slices.Contains(d.keepFiles, f.id) })
	for _, id := range d.keepFiles {
		if !slices.ContainsFunc(m.files, func(f *file) bool { return f.id == id }) {
			c.fail(join(path, "attachments"), RuleFiles, "ATTACHMENT_NOT_FOUND", "There is no attachment %s in the message or the upload.", id)
		}
	}
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	next := *m
	next.files = append(kept, d.files...)
	set := func(key string, do func()) {
		if _, ok := o[key]; ok {
			do()
		}
	}
	set("content", func() { next.content = d.content })
	set("embeds", func() { next.embeds = d.embeds })
	set("components", func() { next.components = d.components })
	set("flags", func() {
		next.flags = m.flags&^flagSuppressEmbeds | d.flags&(flagSuppressEmbeds|flagComponentsV2)
	})
	if (draft{message: &next}).empty() {
		c.note(RuleEmptyMessage, "the message has nothing in it")
		return nil, emptyMessage
	}
	next.flags &^= flagLoading
	s.mention(&next, d.allowed, nil)
	s.edit(m, next)
	return s.messageObject(m, true), nil
}

// edit gives a message its next content and tells the sessions.
func (s *Server) edit(m *message, next message) {
	past := append(m.past, m.content)
	*m = next
	m.past, m.edited = past, s.now()
	for _, f := range m.files {
		s.files[f.id] = f
	}
	s.dispatchMessage("MESSAGE_UPDATE", m)
}

func (s *Server) deleteMessage(c *call) (any, *refusal) {
	channel, m, refused := s.target(c, MayView)
	if refused != nil {
		return nil, refused
	}
	if m.author != s.bot.id {
		if refused := s.need(channel, MayManageMessages); refused != nil || channel.direct() {
			return nil, missingPermissions
		}
	}
	s.remove(m)
	return nil, nil
}

// remove deletes a message and tells the sessions.
func (s *Server) remove(m *message) {
	m.deleted = true
	c := s.channels[m.channel]
	c.messages = slices.DeleteFunc(c.messages, func(other *message) bool { return other == m })
	o := object{"id": m.id, "channel_id": c.id}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	s.dispatchIn(c, "MESSAGE_DELETE", intentGuildMessages, intentDirectMessages, func(*session) object { return o })
}
