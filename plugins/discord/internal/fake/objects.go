package fake

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

// What Discord sends of each thing. The lock is held in all of these.

func (s *Server) userObject(id string) object {
	u := s.users[id]
	o := object{"id": u.id, "username": u.name, "discriminator": "0", "global_name": nil, "avatar": nil, "public_flags": 0}
	if u.shown != "" {
		o["global_name"] = u.shown
	}
	if u.bot {
		o["bot"] = true
	}
	return o
}

// Source: resources/guild#guild-member-object.
func (s *Server) memberObject(g *guild, id string) object {
	for _, m := range g.members {
		if m.user == id {
			o := object{"roles": append([]string{}, m.roles...), "joined_at": stamp(timeOf(g.id)), "deaf": false, "mute": false,
				"flags": 0, "avatar": nil, "nick": nil, "communication_disabled_until": nil}
			if m.nick != "" {
				o["nick"] = m.nick
			}
			return o
		}
	}
	return nil
}

// Source: resources/channel#channel-object-channel-structure.
func (s *Server) channelObject(c *channel) object {
	o := object{"id": c.id, "type": c.kind, "flags": 0, "last_message_id": nil}
	if c.last != "" {
		o["last_message_id"] = c.last
	}
	if c.direct() {
		people := []object{}
		for _, id := range c.recipients {
			people = append(people, s.userObject(id))
		}
		o["recipients"] = people
		return o
	}
	o["guild_id"], o["name"], o["parent_id"] = c.guild, c.name, nil
	if c.parent != "" {
		o["parent_id"] = c.parent
	}
	o["rate_limit_per_user"] = 0
	if c.thread() {
		o["owner_id"] = c.owner
		o["message_count"], o["total_message_sent"], o["member_count"] = len(c.messages), len(c.messages), 2
		o["thread_metadata"] = object{"archived": c.archived, "locked": c.locked, "auto_archive_duration": c.archiveAfter,
			"archive_timestamp": stamp(timeOf(c.id)), "create_timestamp": stamp(timeOf(c.id))}
		if c.tags != nil {
			o["applied_tags"] = c.tags
		}
		return o
	}
	o["position"], o["permission_overwrites"], o["nsfw"], o["topic"] = 0, []object{}, false, nil
	if c.topic != "" {
		o["topic"] = c.topic
	}
	if c.forum() {
		o["available_tags"] = []object{}
	}
	return o
}

// Source: events/gateway-events#guild-create.
func (s *Server) guildObject(g *guild) object {
	channels, threads, roles := []object{}, []object{}, []object{}
	for _, c := range s.channelsOf(g.id) {
		switch {
		case c.thread() && !c.archived && s.can(c, MayView):
			threads = append(threads, s.channelObject(c))
		case !c.thread():
			channels = append(channels, s.channelObject(c))
		}
	}
	for _, r := range g.roles {
		roles = append(roles, object{"id": r.id, "name": r.name, "permissions": strconv.FormatUint(r.permissions, 10), "mentionable": r.mentionable,
			"color": 0, "hoist": false, "position": 0, "managed": false, "flags": 0})
	}
	bot := s.memberObject(g, s.bot.id)
	bot["user"] = s.userObject(s.bot.id)
	return object{"id": g.id, "name": g.name, "owner_id": g.owner, "unavailable": false, "large": false, "joined_at": stamp(timeOf(g.id)),
		"member_count": len(g.members), "members": []object{bot}, "channels": channels, "threads": threads, "roles": roles,
		"emojis": []object{}, "stickers": []object{}, "features": []string{}, "presences": []object{}, "voice_states": []object{},
		"stage_instances": []object{}, "guild_scheduled_events": []object{}, "soundboard_sounds": []object{},
		"preferred_locale": "en-US", "verification_level": 0, "premium_tier": 0, "icon": nil}
}

// messageObject is a message as the API shows it to the bot. Without the content intent,
// what people wrote is left out of it, but for direct messages and mentions of the bot.
// Source: resources/message#message-object, events/gateway#message-content-intent.
func (s *Server) messageObject(m *message, content bool) object {
	o := object{"id": m.id, "channel_id": m.channel, "author": s.userObject(m.author), "content": m.content, "timestamp": stamp(m.at),
		"edited_timestamp": nil, "tts": false, "mention_everyone": m.mentionEveryone, "mention_roles": append([]string{}, m.mentionRoles...),
		"pinned": false, "type": m.kind, "flags": m.flags, "embeds": orEmpty(m.embeds), "components": orEmpty(m.components)}
	if !m.edited.IsZero() {
		o["edited_timestamp"] = stamp(m.edited)
	}
	c := s.channels[m.channel]
	mentions := []object{}
	for _, id := range m.mentions {
		mentions = append(mentions, s.userObject(id))
	}
	o["mentions"] = mentions
	files := []object{}
	for _, f := range m.files {
		files = append(files, s.fileObject(f))
	}
	o["attachments"] = files
	if m.flags&flagSuppressEmbeds != 0 {
		o["embeds"] = []any{}
	}
	if m.stickers != nil {
		o["sticker_items"] = m.stickers
	}
	if m.nonce != nil && s.config.TellNonces {
		o["nonce"] = m.nonce
	}
	if m.reference != nil {
		o["message_reference"] = m.reference
	}
	if m.kind == typeReply || m.kind == typeThreadStarter || m.kind == typeContextMenu {
		o["referenced_message"] = nil
		if referenced := s.messages[m.referenced]; referenced != nil && !referenced.deleted {
			without := *referenced
			without.kind = typeDefault // of what it answers itself, nothing is sent
			o["referenced_message"] = s.messageObject(&without, content)
		}
	}
	if m.snapshots != nil {
		o["message_snapshots"] = m.snapshots
	}
	if m.interaction != nil {
		o["application_id"], o["webhook_id"] = s.app, s.app
		o["interaction_metadata"] = object{"id": m.interaction.id, "type": m.interaction.kind, "user": s.userObject(m.interaction.user),
			"authorizing_integration_owners": object{}}
	}
	if m.webhook != "" {
		o["webhook_id"] = m.webhook
	}
	if m.thread != "" {
		o["thread"] = s.channelObject(s.channels[m.thread])
	}
	if len(m.reactions) > 0 {
		var list []object
		for _, r := range m.reactions {
			me := false
			for _, id := range r.users {
				me = me || id == s.bot.id
			}
			list = append(list, object{"count": len(r.users), "me": me, "me_burst": false, "burst_colors": []string{},
				"count_details": object{"burst": 0, "normal": len(r.users)}, "emoji": object{"id": nil, "name": r.emoji}})
		}
		o["reactions"] = list
	}
	if !content && m.author != s.bot.id && !c.direct() && !slices.Contains(m.mentions, s.bot.id) {
		o["content"], o["embeds"], o["attachments"], o["components"] = "", []any{}, []any{}, []any{}
	}
	return o
}

// eventObject is a message as the events of the gateway show it.
// Source: events/gateway-events#message-create-message-create-extra-fields.
func (s *Server) eventObject(m *message, content bool) object {
	o := s.messageObject(m, content)
	c := s.channels[m.channel]
	o["channel_type"] = c.kind
	if m.nonce != nil {
		o["nonce"] = m.nonce
	}
	if c.guild != "" && m.only == "" {
		o["guild_id"] = c.guild
		if member := s.memberObject(s.guilds[c.guild], m.author); member != nil && m.interaction == nil && m.webhook == "" {
			o["member"] = member
		}
	}
	return o
}

// Source: resources/message#attachment-object, reference#signed-attachment-cdn-urls.
func (s *Server) fileObject(f *file) object {
	until := s.now().Add(24 * time.Hour).Unix()
	path := fmt.Sprintf("/attachments/%s/%s/%s", f.channel, f.id, f.name)
	url := fmt.Sprintf("%s%s?ex=%x&is=%x&hm=%s&", s.base, path, until, s.now().Unix(), s.sign(path, until))
	o := object{"id": f.id, "filename": f.name, "size": len(f.data), "url": url, "proxy_url": url, "content_type": f.kind}
	if f.description != "" {
		o["description"] = f.description
	}
	return o
}

func (s *Server) sign(path string, until int64) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", s.config.Seed, path, until)
	return strconv.FormatUint(h.Sum64(), 16)
}

// stamp is a time as Discord writes it.
// Source: reference#iso8601-datetime.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

func timeOf(id string) time.Time { return time.UnixMilli(int64(parseID(id)>>22) + epoch) }

func orEmpty(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}
