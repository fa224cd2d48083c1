package fake

import (
	"cmp"
	"slices"
)

var channelRoutes = []route{
	{pattern: "GET /channels/{channel}", bucket: "channel", handle: (*Server).getChannel},
	{pattern: "PATCH /channels/{channel}", bucket: "change", handle: (*Server).patchChannel},
	{pattern: "POST /channels/{channel}/typing", bucket: "typing", handle: (*Server).postTyping},
}

func (s *Server) getChannel(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView)
	if refused != nil {
		return nil, refused
	}
	return s.channelObject(channel), nil
}

// patchChannel: resources/channel#modify-channel.
func (s *Server) patchChannel(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	if channel.thread() {
		c.known("", o, "name", "archived", "auto_archive_duration", "locked", "invitable", "rate_limit_per_user", "flags", "applied_tags")
	} else {
		c.known("", o, "name", "type", "position", "topic", "nsfw", "rate_limit_per_user", "permission_overwrites", "parent_id",
			"default_auto_archive_duration", "flags", "available_tags", "default_reaction_emoji", "default_thread_rate_limit_per_user",
			"default_sort_order", "default_forum_layout")
	}
	next := *channel
	if _, ok := o["name"]; ok {
		next.name = c.text(o, "", "name", 1, 100, RuleChannel)
	}
	if _, ok := o["topic"]; ok {
		next.topic = c.text(o, "", "topic", 0, 1024, RuleChannel)
	}
	if _, ok := o["archived"]; ok {
		next.archived = c.flag(o, "", "archived", RuleChannel)
	}
	if _, ok := o["locked"]; ok {
		next.locked = c.flag(o, "", "locked", RuleChannel)
	}
	if _, ok := o["auto_archive_duration"]; ok {
		next.archiveAfter = c.archiveAfter(o)
	}
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	unarchives := len(o) == 1 && o["archived"] == false && !channel.locked
	switch {
	case channel.thread() && channel.archived && next.archived:
		return nil, archivedThread
	case channel.thread() && unarchives && s.can(channel, MaySend):
	case channel.thread():
		if refused := s.need(channel, MayManageThreads); refused != nil && channel.owner != s.bot.id {
			return nil, refused
		}
	default:
		if refused := s.need(channel, MayManageChannels); refused != nil {
			return nil, refused
		}
	}
	s.renew(channel, next)
	return s.channelObject(channel), nil
}

// renew gives a channel its next state and tells the sessions.
func (s *Server) renew(c *channel, next channel) {
	*c = next
	name := "CHANNEL_UPDATE"
	if c.thread() {
		name = "THREAD_UPDATE"
	}
	s.dispatchIn(c, name, intentGuilds, 0, func(*session) object { return s.channelObject(c) })
}

func (c *check) archiveAfter(o object) int {
	n, ok := c.number(o, "", "auto_archive_duration", 60, 10080, RuleThread)
	if !ok {
		return 4320
	}
	if !slices.Contains([]int{60, 1440, 4320, 10080}, n) {
		c.fail("auto_archive_duration", RuleThread, "BASE_TYPE_CHOICES", "Value must be one of (60, 1440, 4320, 10080).")
	}
	return n
}

func (s *Server) postTyping(c *call) (any, *refusal) {
	channel, refused := s.place(c, MayView|MaySend)
	if refused != nil {
		return nil, refused
	}
	if channel.direct() && !s.shares(channel.recipients[0]) {
		return nil, cannotSendToUser
	}
	s.typing(channel, s.bot.id)
	return nil, nil
}

func (s *Server) typing(c *channel, user string) {
	o := object{"channel_id": c.id, "user_id": user, "timestamp": s.now().Unix()}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	s.dispatchIn(c, "TYPING_START", intentGuildTyping, intentDirectTyping, func(*session) object { return o })
}

// channelsOf are a guild's channels, oldest first.
func (s *Server) channelsOf(guild string) []*channel {
	var list []*channel
	for _, c := range s.channels {
		if c.guild == guild {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *channel) int { return cmp.Compare(parseID(a.id), parseID(b.id)) })
	return list
}
