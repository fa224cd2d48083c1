package fake

import (
	"path"
	"slices"
	"unicode"
	"unicode/utf8"
)

// emojiOf reads the emoji of a path: one of Unicode, or name:id.
// Source: resources/message#create-reaction.
func (c *call) emojiOf() (string, *refusal) {
	emoji := c.path("emoji")
	if first, _ := utf8.DecodeRuneInString(emoji); first > unicode.MaxLatin1 && first != utf8.RuneError {
		return emoji, nil
	}
	if ok, _ := path.Match("*:[0-9]*", emoji); ok {
		return emoji, nil
	}
	c.note(RuleEmoji, "%q is no emoji", emoji)
	return "", unknownEmoji
}

func (s *Server) putReaction(c *call) (any, *refusal) {
	channel, m, refused := s.target(c, MayView|MayReadHistory)
	if refused != nil {
		return nil, refused
	}
	emoji, refused := c.emojiOf()
	if refused != nil {
		return nil, refused
	}
	if channel.archived {
		return nil, archivedThread
	}
	if !slices.ContainsFunc(m.reactions, func(r reaction) bool { return r.emoji == emoji }) && !s.can(channel, MayReact) {
		return nil, missingPermissions
	}
	s.react(m, s.bot.id, emoji, true)
	return nil, nil
}

func (s *Server) deleteReaction(c *call) (any, *refusal) {
	_, m, refused := s.target(c, MayView)
	if refused != nil {
		return nil, refused
	}
	emoji, refused := c.emojiOf()
	if refused != nil {
		return nil, refused
	}
	s.react(m, s.bot.id, emoji, false)
	return nil, nil
}

// react adds or takes away somebody's reaction and tells the sessions.
func (s *Server) react(m *message, user, emoji string, add bool) {
	at := slices.IndexFunc(m.reactions, func(r reaction) bool { return r.emoji == emoji })
	has := at >= 0 && slices.Contains(m.reactions[at].users, user)
	if has == add {
		return
	}
	name := "MESSAGE_REACTION_ADD"
	switch {
	case add && at < 0:
		m.reactions = append(m.reactions, reaction{emoji, []string{user}})
	case add:
		m.reactions[at].users = append(m.reactions[at].users, user)
	default:
		name = "MESSAGE_REACTION_REMOVE"
		m.reactions[at].users = slices.DeleteFunc(m.reactions[at].users, func(id string) bool { return id == user })
		if len(m.reactions[at].users) == 0 {
			m.reactions = slices.Delete(m.reactions, at, at+1)
		}
	}
	c := s.channels[m.channel]
	o := object{"user_id": user, "channel_id": c.id, "message_id": m.id, "emoji": object{"id": nil, "name": emoji}, "burst": false, "type": 0}
	if c.guild != "" {
		o["guild_id"] = c.guild
	}
	s.dispatchIn(c, name, intentGuildReactions, intentDirectReactions, func(*session) object { return o })
}
