package fake

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

var accountRoutes = []route{
	{pattern: "GET /gateway", bucket: "gateway", open: true, handle: func(s *Server, _ *call) (any, *refusal) {
		return object{"url": s.gatewayURL()}, nil
	}},
	{pattern: "GET /gateway/bot", bucket: "gateway", handle: (*Server).getGatewayBot},
	{pattern: "GET /users/@me", bucket: "account", handle: func(s *Server, _ *call) (any, *refusal) {
		me := s.userObject(s.bot.id)
		me["verified"], me["mfa_enabled"], me["email"] = true, false, nil
		return me, nil
	}},
	{pattern: "GET /users/{user}", bucket: "account", handle: func(s *Server, c *call) (any, *refusal) {
		if s.users[c.path("user")] == nil {
			return nil, refuse(404, 10013, "Unknown User")
		}
		return s.userObject(c.path("user")), nil
	}},
	{pattern: "GET /applications/@me", bucket: "account", handle: (*Server).getApplication},
	{pattern: "GET /users/@me/guilds", bucket: "account", handle: (*Server).getGuilds},
	{pattern: "GET /guilds/{guild}", bucket: "guild", handle: (*Server).getGuild},
	{pattern: "GET /guilds/{guild}/members/{user}", bucket: "guild", handle: (*Server).getMember},
	{pattern: "POST /users/@me/channels", bucket: "dm", handle: (*Server).createDM},
}

func (s *Server) gatewayURL() string { return "ws" + strings.TrimPrefix(s.base, "http") + "/gateway/" }

// Source: events/gateway#get-gateway-bot.
func (s *Server) getGatewayBot(*call) (any, *refusal) {
	return object{"url": s.gatewayURL(), "shards": 1, "session_start_limit": object{
		"total": s.config.SessionStarts, "remaining": max(0, s.config.SessionStarts-len(s.identifies)), "reset_after": 14400000, "max_concurrency": 1}}, nil
}

// Source: resources/application#application-object-application-flags.
func (s *Server) appFlags() int {
	flags := 0
	for intent, flag := range map[int]int{intentPresences: 1 << 13, intentMembers: 1 << 15, intentMessageContent: 1 << 19} {
		if s.config.Privileged > 0 && s.config.Privileged&intent != 0 {
			flags |= flag
		}
	}
	return flags
}

// Source: resources/application#application-object.
func (s *Server) getApplication(*call) (any, *refusal) {
	o := object{"id": s.app, "name": "Harness", "icon": nil, "description": "", "bot_public": true, "bot_require_code_grant": false,
		"owner": s.userObject(s.owner.id), "team": nil, "flags": s.appFlags(), "verify_key": "", "bot": s.userObject(s.bot.id)}
	if s.config.OwnerIsTeam {
		team := s.app
		o["owner"] = object{"id": team, "username": "team" + team, "discriminator": "0", "flags": 1024, "avatar": nil}
		o["team"] = object{"id": team, "name": "Team", "icon": nil, "owner_user_id": s.owner.id,
			"members": []object{{"membership_state": 2, "team_id": team, "role": "admin", "user": s.userObject(s.owner.id)}}}
	}
	return o, nil
}

func (s *Server) getGuilds(*call) (any, *refusal) {
	list := []object{}
	for _, g := range s.joined() {
		list = append(list, object{"id": g.id, "name": g.name, "icon": nil, "owner": false, "permissions": strconv.FormatUint(g.permissions, 10), "features": []string{}})
	}
	return list, nil
}

// joined are the guilds that the bot is in, the oldest first.
func (s *Server) joined() []*guild {
	var list []*guild
	for _, g := range s.guilds {
		if !g.gone {
			list = append(list, g)
		}
	}
	slices.SortFunc(list, func(a, b *guild) int { return cmp.Compare(parseID(a.id), parseID(b.id)) })
	return list
}

func (s *Server) getGuild(c *call) (any, *refusal) {
	g := s.guilds[c.path("guild")]
	if g == nil || g.gone {
		return nil, unknownGuild
	}
	o := s.guildObject(g)
	for _, field := range onlyInEvents {
		delete(o, field)
	}
	return o, nil
}

// Source: events/gateway-events#guild-create-guild-create-extra-fields.
var onlyInEvents = []string{"unavailable", "large", "joined_at", "member_count", "members", "channels", "threads", "presences",
	"voice_states", "stage_instances", "guild_scheduled_events", "soundboard_sounds"}

func (s *Server) getMember(c *call) (any, *refusal) {
	g := s.guilds[c.path("guild")]
	if g == nil || g.gone {
		return nil, unknownGuild
	}
	member := s.memberObject(g, c.path("user"))
	if member == nil {
		return nil, refuse(404, 10007, "Unknown Member")
	}
	member["user"] = s.userObject(c.path("user"))
	return member, nil
}

// Source: resources/user#create-dm.
func (s *Server) createDM(c *call) (any, *refusal) {
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	c.known("", o, "recipient_id")
	id := c.text(o, "", "recipient_id", 1, 20, RuleForm)
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	if u := s.users[id]; u == nil || u.bot {
		return nil, unknownUser
	}
	return s.channelObject(s.direct(id)), nil
}

// direct is the channel of direct messages with somebody.
func (s *Server) direct(user string) *channel {
	for _, c := range s.channels {
		if c.direct() && c.recipients[0] == user {
			return c
		}
	}
	c := &channel{id: s.id(), kind: KindDM, recipients: []string{user}}
	s.channels[c.id] = c
	return c
}

// shares reports whether the bot may write to somebody: they take direct messages and are
// in a guild with it.
func (s *Server) shares(user string) bool {
	if s.users[user].closed {
		return false
	}
	for _, g := range s.guilds {
		if !g.gone && slices.ContainsFunc(g.members, func(m *member) bool { return m.user == user }) {
			return true
		}
	}
	return false
}
