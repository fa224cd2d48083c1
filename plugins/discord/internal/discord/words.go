package discord

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// quotedUnits is how much of a message that is answered is repeated to the agent.
const quotedUnits = 600

// Source: reference#message-formatting.
var (
	userMention    = regexp.MustCompile(`<@!?(\d+)>`)
	roleMention    = regexp.MustCompile(`<@&(\d+)>`)
	channelMention = regexp.MustCompile(`<#(\d+)>`)
	customEmoji    = regexp.MustCompile(`<a?(:\w+:)\d+>`)
)

// words is what a message says, for the agent: without the mention of the bot at its
// beginning, with names in the place of ids, and with what it answers or forwards.
func (s *session) words(message wire.Message) string {
	said := s.plain(strings.TrimSpace(s.unaddressed(message)), message.Mentions)
	if isCommand(said) {
		return said
	}
	var before []string
	if message.Reference != nil && message.Reference.Type == 1 {
		for _, snapshot := range message.Snapshots {
			before = append(before, "Forwarded:\n"+quote(content(snapshot.Message.Content, snapshot.Message.Embeds)))
		}
	}
	if answered := message.Referenced; message.Type == wire.MessageReply && answered != nil {
		by := personName(answered.Author)
		if answered.Author.ID == s.me() {
			by = "you"
		}
		before = append(before, fmt.Sprintf("In reply to %s:\n%s", by, quote(s.plain(content(answered.Content, answered.Embeds), answered.Mentions))))
	}
	for _, sticker := range message.Stickers {
		said = joined(said, "[sticker: "+text.Name(sticker.Name, nameUnits)+"]")
	}
	return joined(append(before, said)...)
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

// plain puts names in the place of ids.
func (s *session) plain(said string, mentioned []wire.User) string {
	if !strings.Contains(said, "<") {
		return said
	}
	said = userMention.ReplaceAllStringFunc(said, func(mention string) string {
		id := userMention.FindStringSubmatch(mention)[1]
		for _, user := range mentioned {
			if user.ID == id {
				return "@" + text.Name(user.Name(), nameUnits)
			}
		}
		return mention
	})
	said = channelMention.ReplaceAllStringFunc(said, func(mention string) string {
		if channel, ok := s.channels.known(channelMention.FindStringSubmatch(mention)[1]); ok && channel.Name != "" {
			return "#" + channel.Name
		}
		return mention
	})
	said = roleMention.ReplaceAllString(said, "@role")
	return customEmoji.ReplaceAllString(said, "$1")
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
