package fake

import (
	"regexp"
	"slices"
)

// Pinged is whom a message notifies.
type Pinged struct {
	Everyone    bool     `json:"everyone,omitempty"` // @everyone or @here
	Users       []string `json:"users,omitempty"`    // ids
	Roles       []string `json:"roles,omitempty"`    // ids
	RepliedUser string   `json:"replied_user,omitempty"`
}

// Nobody reports whether nobody is notified.
func (p Pinged) Nobody() bool {
	return !p.Everyone && len(p.Users) == 0 && len(p.Roles) == 0 && p.RepliedUser == ""
}

// allowed is the field allowed_mentions.
type allowed struct {
	parse        []string
	users, roles []string
	replied      bool
}

// allowedMentions judges the field. Without it, everything is allowed, and to webhooks and
// interactions, users.
// Source: resources/message#allowed-mentions-object.
func (c *check) allowedMentions(o object, path string, webhook bool) *allowed {
	a := c.object(o, path, "allowed_mentions", RuleAllowedMentions)
	if a == nil {
		if webhook {
			return &allowed{parse: []string{"users"}}
		}
		return &allowed{parse: []string{"users", "roles", "everyone"}, replied: true}
	}
	at := join(path, "allowed_mentions")
	c.known(at, a, "parse", "roles", "users", "replied_user")
	result := &allowed{
		users:   c.snowflakes(a, at, "users", 100, RuleAllowedMentions),
		roles:   c.snowflakes(a, at, "roles", 100, RuleAllowedMentions),
		replied: c.flag(a, at, "replied_user", RuleAllowedMentions),
	}
	for _, value := range c.list(a, at, "parse", 3, RuleAllowedMentions) {
		kind, _ := value.(string)
		if !slices.Contains([]string{"users", "roles", "everyone"}, kind) {
			c.fail(join(at, "parse"), RuleAllowedMentions, "BASE_TYPE_CHOICES", "Value must be one of ('roles', 'users', 'everyone').")
		}
		result.parse = append(result.parse, kind)
	}
	for kind, list := range map[string][]string{"users": result.users, "roles": result.roles} {
		if len(list) > 0 && slices.Contains(result.parse, kind) {
			c.fail(join(at, "parse"), RuleAllowedMentions, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse:[%q] and %s: [ids...] are mutually exclusive.", kind, kind)
		}
	}
	return result
}

var (
	userMention = regexp.MustCompile(`<@!?(\d+)>`)
	roleMention = regexp.MustCompile(`<@&(\d+)>`)
	allMention  = regexp.MustCompile(`@(everyone|here)`)
)

// mention finds out whom a message mentions and notifies. What people write notifies
// whom they name.
// Source: resources/message#allowed-mentions-object, reference#message-formatting-formats.
func (s *Server) mention(m *message, a *allowed, replies *message) {
	c := s.channels[m.channel]
	g := s.guilds[c.guild]
	texts := m.content
	walk(m.components, func(o object) {
		if content, ok := o["content"].(string); ok {
			texts += "\n" + content
		}
	})
	permitted := m.author != s.bot.id || s.can(c, MayMentionAll)
	m.mentions, m.mentionRoles, m.mentionEveryone, m.pinged = nil, nil, false, Pinged{}
	for _, found := range userMention.FindAllStringSubmatch(texts, -1) {
		id := found[1]
		if s.users[id] == nil || slices.Contains(m.mentions, id) {
			continue
		}
		m.mentions = append(m.mentions, id)
		if slices.Contains(a.parse, "users") || slices.Contains(a.users, id) {
			m.pinged.Users = append(m.pinged.Users, id)
		}
	}
	if g != nil {
		for _, found := range roleMention.FindAllStringSubmatch(texts, -1) {
			i := slices.IndexFunc(g.roles, func(r *role) bool { return r.id == found[1] })
			if i < 0 || slices.Contains(m.mentionRoles, found[1]) {
				continue
			}
			if (permitted || g.roles[i].mentionable) && (slices.Contains(a.parse, "roles") || slices.Contains(a.roles, found[1])) {
				m.mentionRoles = append(m.mentionRoles, found[1])
				m.pinged.Roles = append(m.pinged.Roles, found[1])
			}
		}
		if permitted && slices.Contains(a.parse, "everyone") && allMention.MatchString(texts) {
			m.mentionEveryone, m.pinged.Everyone = true, true
		}
	}
	if replies != nil && a.replied {
		m.pinged.RepliedUser = replies.author
		if !slices.Contains(m.mentions, replies.author) {
			m.mentions = append(m.mentions, replies.author)
		}
	}
}
