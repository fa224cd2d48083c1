package fake

import (
	"fmt"
	"slices"
	"time"
)

// world is who and what there is.
type world struct {
	bot      *user
	owner    *user
	app      string
	users    map[string]*user
	guilds   map[string]*guild
	channels map[string]*channel
	messages map[string]*message
	files    map[string]*file
	commands map[string][]object // by guild; "" has the global ones
	nonces   []nonce
}

type user struct {
	id, name, shown string
	bot             bool
	closed          bool // takes no direct messages
}

type guild struct {
	id, name, owner string
	roles           []*role
	members         []*member
	permissions     uint64 // of the bot
	gone            bool   // the bot is no longer in it
}

type role struct {
	id, name    string
	permissions uint64
	mentionable bool
}

type member struct {
	user  string
	nick  string
	roles []string
}

type channel struct {
	id, guild, parent, name, topic string
	kind                           int
	recipients                     []string // of direct messages, without the bot
	owner                          string   // of a thread
	last                           string
	denied                         uint64 // permissions that the bot lacks here
	archived, locked               bool
	archiveAfter                   int
	tags                           []string
	messages                       []*message // oldest first, without the deleted
}

type message struct {
	id, channel, author string
	content             string
	past                []string // what it said before, oldest first
	nonce               any
	at                  time.Time
	edited              time.Time
	kind, flags         int
	embeds              []any
	components          []any
	files               []*file
	stickers            []object
	reference           object
	referenced          string
	snapshots           []any
	reactions           []reaction
	pinged              Pinged
	mentions            []string
	mentionRoles        []string
	mentionEveryone     bool
	interaction         *interaction
	only                string // of ephemeral ones: who sees it
	thread              string
	webhook             string // through which it was sent; not by the bot
	deleted             bool
}

type reaction struct {
	emoji string
	users []string
}

type file struct {
	id, channel, name, kind, description string
	data                                 []byte
}

type nonce struct {
	author, value string
	at            time.Time
	message       *message
}

// The kinds of channel.
// Source: resources/channel#channel-object-channel-types.
const (
	KindText          = 0
	KindDM            = 1
	KindVoice         = 2
	KindCategory      = 4
	KindAnnouncement  = 5
	KindAnnounced     = 10 // a thread of announcements
	KindPublicThread  = 11
	KindPrivateThread = 12
	KindForum         = 15
	KindMedia         = 16
)

// Permissions of the bot.
// Source: topics/permissions#permissions-bitwise-permission-flags.
const (
	MayManageChannels = 1 << 4
	MayReact          = 1 << 6
	MayView           = 1 << 10
	MaySend           = 1 << 11
	MayManageMessages = 1 << 13
	MayEmbed          = 1 << 14
	MayAttach         = 1 << 15
	MayReadHistory    = 1 << 16
	MayMentionAll     = 1 << 17
	MayManageThreads  = 1 << 34
	MayOpenThreads    = 1 << 35
	MayOpenPrivate    = 1 << 36
	MaySendInThreads  = 1 << 38
	mayByDefault      = MayReact | MayView | MaySend | MayEmbed | MayAttach | MayReadHistory | MayMentionAll |
		MayManageThreads | MayOpenThreads | MayOpenPrivate | MaySendInThreads
)

func (s *Server) newWorld() {
	s.world = world{
		users: make(map[string]*user), guilds: make(map[string]*guild), channels: make(map[string]*channel),
		messages: make(map[string]*message), files: make(map[string]*file), commands: make(map[string][]object),
	}
	s.bot = &user{id: s.id(), name: "harness", bot: true}
	s.owner = &user{id: s.id(), name: "owner", shown: "Owner"}
	s.app = s.id()
	s.users[s.bot.id], s.users[s.owner.id] = s.bot, s.owner
}

func (c *channel) thread() bool {
	return c.kind == KindAnnounced || c.kind == KindPublicThread || c.kind == KindPrivateThread
}
func (c *channel) forum() bool  { return c.kind == KindForum || c.kind == KindMedia }
func (c *channel) direct() bool { return c.kind == KindDM }

// can reports whether the bot has all these permissions in the channel.
// Source: topics/permissions#permission-overwrites and #inherited-permissions-threads.
func (s *Server) can(c *channel, wanted uint64) bool {
	if c.direct() {
		return true
	}
	g := s.guilds[c.guild]
	if g == nil || g.gone {
		return false
	}
	has := g.permissions &^ c.denied
	if parent := s.channels[c.parent]; c.thread() && parent != nil {
		has &^= parent.denied
		if wanted&MaySend != 0 {
			wanted = wanted&^MaySend | MaySendInThreads
		}
		has |= g.permissions & ^parent.denied & ^c.denied & MaySendInThreads
	}
	return has&MayView != 0 && has&wanted == wanted
}

// need is the refusal of what the bot may not do there, or nil.
func (s *Server) need(c *channel, wanted uint64) *refusal {
	switch {
	case s.can(c, wanted):
		return nil
	case !s.can(c, MayView):
		return missingAccess
	}
	return missingPermissions
}

// seen are the channel's messages that the bot can see, oldest first.
func (c *channel) seen() []*message {
	return slices.DeleteFunc(slices.Clone(c.messages), func(m *message) bool { return m.only != "" })
}

func misuse(format string, args ...any) { panic(Misuse(fmt.Sprintf(format, args...))) }

// Misuse is what a test asked that cannot be.
type Misuse string

func (m Misuse) Error() string { return string(m) }

func find[T any](of map[string]T, id, what string) T {
	found, ok := of[id]
	if !ok {
		misuse("there is no %s %q", what, id)
	}
	return found
}
