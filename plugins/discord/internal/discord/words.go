package discord

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// quotedUnits is how much of a message that is answered is repeated to the agent.
const quotedUnits = 600

// marked is what Discord writes for mentions, emoji of servers, moments and its own pages.
// Source: reference#message-formatting.
var marked = lazy.Regexp(`<(@!?|@&|#|a?:\w+:|t:|/[^<>:]+:|id:)([\w-]+)(:\w)?>`)

// said is what a message itself says: without the mention of the bot at its beginning, with
// names in the place of ids.
func (s *session) said(message wire.Message) string {
	return s.plain(strings.TrimSpace(s.unaddressed(message)), message.GuildID, message.Mentions)
}

// words is what a message says, for the agent, with what it answers or forwards. Of a
// command it is the command alone.
func (s *session) words(message wire.Message) string {
	said := s.said(message)
	if isCommand(said) {
		return said
	}
	var parts []string
	if message.Reference != nil && message.Reference.Type == 1 {
		for _, snapshot := range message.Snapshots {
			parts = append(parts, "Forwarded:\n"+quote(s.plain(content(snapshot.Message.Content, snapshot.Message.Embeds), message.GuildID, nil)))
		}
	}
	if answered := message.Referenced; message.Type == wire.MessageReply && answered != nil {
		by := "what you have said"
		if answered.Author.ID != s.me() {
			by = "what " + personName(answered.Author) + " has said"
		}
		parts = append(parts, fmt.Sprintf("In reply to %s:\n%s", by, quote(s.plain(content(answered.Content, answered.Embeds), message.GuildID, answered.Mentions))))
	}
	parts = append(parts, said)
	for _, sticker := range message.Stickers {
		parts = append(parts, "[sticker: "+text.Name(sticker.Name, nameUnits)+"]")
	}
	return joined(parts...)
}

// unaddressed is a message's text without the mention that it begins with, of the bot or of
// the role that is the bot's.
func (s *session) unaddressed(message wire.Message) string {
	said := strings.TrimSpace(message.Content)
	for _, mention := range []string{"<@" + s.me() + ">", "<@!" + s.me() + ">", "<@&" + s.channels.role(message.GuildID) + ">"} {
		if rest, ok := strings.CutPrefix(said, mention); ok {
			return strings.TrimLeft(rest, " \t\n,:")
		}
	}
	return said
}

// plain puts names in the place of ids: those of a guild's channels and roles in that guild
// only.
func (s *session) plain(said, guild string, mentioned []wire.User) string {
	return marked.ReplaceAllStringFunc(said, func(mark string) string {
		parts := marked.FindStringSubmatch(mark)
		kind, id := parts[1], parts[2]
		switch {
		case kind == "@" || kind == "@!":
			i := slices.IndexFunc(mentioned, func(user wire.User) bool { return user.ID == id })
			if i >= 0 {
				return "@" + personName(mentioned[i])
			}
		case kind == "@&":
			if name := text.Name(s.channels.roleName(guild, id), nameUnits); name != "" {
				return "@" + name
			}
		case kind == "#":
			if channel, ok := s.channels.known(id); ok && channel.Name != "" && channel.GuildID == guild {
				return "#" + text.Name(channel.Name, nameUnits)
			}
		case kind == "t:":
			if seconds, err := strconv.ParseInt(id, 10, 64); err == nil {
				return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04 MST")
			}
		case kind[0] == '/':
			return strings.TrimSuffix(kind, ":")
		case kind != "id:":
			return strings.TrimPrefix(kind, "a")
		}
		return mark
	})
}

// content is a message's text, or that of what is shown in its place.
func content(said string, embeds []wire.Embed) string {
	if said != "" {
		return said
	}
	var parts []string
	for _, embed := range embeds {
		parts = append(parts, joined(embed.Title, embed.Description, embed.URL))
	}
	return joined(parts...)
}

// quote marks each line of what somebody else has said.
func quote(said string) string {
	said = strings.TrimSpace(text.Clip(said, quotedUnits))
	if said == "" {
		return "> (nothing to read)"
	}
	return "> " + strings.ReplaceAll(said, "\n", "\n> ")
}

// joined puts an empty line between the texts that say something.
func joined(texts ...string) string {
	var said []string
	for _, each := range texts {
		if strings.TrimSpace(each) != "" {
			said = append(said, each)
		}
	}
	return strings.Join(said, "\n\n")
}
