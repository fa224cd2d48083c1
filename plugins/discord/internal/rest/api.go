package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// The endpoints that several methods ask.
const (
	channelPath  = "/channels/{channel}"
	messagesPath = channelPath + "/messages"
	messagePath  = messagesPath + "/{message}"
	reactionPath = messagePath + "/reactions/{emoji}/@me"
	webhookPath  = "/webhooks/{application}/{token}"
	originalPath = webhookPath + "/messages/@original"
)

// Gateway says where to connect, and how many sessions may still be begun.
// Source: events/gateway#get-gateway-bot.
func (c *Client) Gateway(ctx context.Context) (wire.GatewayBot, error) {
	return got[wire.GatewayBot](ctx, c, at("GET", "/gateway/bot"))
}

// Application is the bot's own.
// Source: resources/application#get-current-application.
func (c *Client) Application(ctx context.Context) (wire.Application, error) {
	return got[wire.Application](ctx, c, at("GET", "/applications/@me"))
}

// Me is the bot.
// Source: resources/user#get-current-user.
func (c *Client) Me(ctx context.Context) (wire.User, error) {
	return got[wire.User](ctx, c, at("GET", "/users/@me"))
}

// Channel asks for a channel or thread.
// Source: resources/channel#get-channel.
func (c *Client) Channel(ctx context.Context, id string) (wire.Channel, error) {
	return got[wire.Channel](ctx, c, at("GET", channelPath, id))
}

// Member asks for a user as a member of a guild.
// Source: resources/guild#get-guild-member.
func (c *Client) Member(ctx context.Context, guild, user string) (wire.Member, error) {
	return got[wire.Member](ctx, c, at("GET", "/guilds/{guild}/members/{user}", guild, user))
}

// Messages are the first that come after one, oldest first; from the channel's beginning
// when it is empty. Limit is 1 to 100; fewer than that are all.
// Source: resources/message#get-channel-messages.
func (c *Client) Messages(ctx context.Context, channel, after string, limit int) ([]wire.Message, error) {
	if after == "" {
		after = "0"
	}
	return c.messages(ctx, channel, url.Values{"after": {after}}, limit)
}

// MessagesBefore are the last that come before one, oldest first; the channel's last when
// it is empty. Limit is as with Messages.
func (c *Client) MessagesBefore(ctx context.Context, channel, before string, limit int) ([]wire.Message, error) {
	query := url.Values{}
	if before != "" {
		query.Set("before", before)
	}
	return c.messages(ctx, channel, query, limit)
}

func (c *Client) messages(ctx context.Context, channel string, query url.Values, limit int) ([]wire.Message, error) {
	query.Set("limit", strconv.Itoa(min(max(limit, 1), 100)))
	r := at("GET", messagesPath, channel)
	r.query = query
	messages, err := got[[]wire.Message](ctx, c, r)
	slices.SortFunc(messages, func(a, b wire.Message) int {
		switch {
		case wire.Later(a.ID, b.ID):
			return 1
		case wire.Later(b.ID, a.ID):
			return -1
		}
		return 0
	})
	return messages, err
}

// Message asks for one message.
// Source: resources/message#get-channel-message.
func (c *Client) Message(ctx context.Context, channel, id string) (wire.Message, error) {
	return got[wire.Message](ctx, c, at("GET", messagePath, channel, id))
}

// Send posts a message. It is not sent again by itself when the answer is lost: a caller
// that does so gives a Nonce.
// Source: resources/message#create-message.
func (c *Client) Send(ctx context.Context, channel string, message Message) (sent wire.Message, err error) {
	err = c.post(ctx, at("POST", messagesPath, channel), message.created(), message.Files, &sent)
	return sent, err
}

// Edit changes a message of the bot's.
// Source: resources/message#edit-message.
func (c *Client) Edit(ctx context.Context, channel, id string, message Message) (edited wire.Message, err error) {
	err = c.post(ctx, at("PATCH", messagePath, channel, id), message.changed(), message.Files, &edited)
	return edited, err
}

// Delete removes a message. That it is gone already is an error that Gone knows.
// Source: resources/message#delete-message.
func (c *Client) Delete(ctx context.Context, channel, id string) error {
	return c.ask(ctx, at("DELETE", messagePath, channel, id), nil, nil)
}

// Typing shows that the bot is at work, for ten seconds or until it sends a message.
// Source: resources/channel#trigger-typing-indicator.
func (c *Client) Typing(ctx context.Context, channel string) error {
	return c.ask(ctx, at("POST", channelPath+"/typing", channel), nil, nil)
}

// React puts an emoji below a message: a character, or NAME:ID of one of a guild's.
// Source: resources/message#create-reaction.
func (c *Client) React(ctx context.Context, channel, id, emoji string) error {
	return c.ask(ctx, at("PUT", reactionPath, channel, id, emoji), nil, nil)
}

// Unreact takes the bot's own away.
// Source: resources/message#delete-own-reaction.
func (c *Client) Unreact(ctx context.Context, channel, id, emoji string) error {
	return c.ask(ctx, at("DELETE", reactionPath, channel, id, emoji), nil, nil)
}

// StartThread begins a thread at a message; its id is the message's. A name has 1 to 100
// characters.
// Source: resources/channel#start-thread-from-message.
func (c *Client) StartThread(ctx context.Context, channel, message, name string) (thread wire.Channel, err error) {
	err = c.ask(ctx, at("POST", messagePath+"/threads", channel, message), map[string]string{"name": name}, &thread)
	return thread, err
}

// DM is the channel of direct messages with a user, made when there is none.
// Source: resources/user#create-dm.
func (c *Client) DM(ctx context.Context, user string) (channel wire.Channel, err error) {
	err = c.ask(ctx, at("POST", "/users/@me/channels"), map[string]string{"recipient_id": user}, &channel)
	return channel, err
}

// commandsAt is where the commands of a guild are, or the global ones when it is empty.
func commandsAt(method, app, guild string) route {
	if guild == "" {
		return at(method, "/applications/{application}/commands", app)
	}
	return at(method, "/applications/{application}/guilds/{guild}/commands", app, guild)
}

// Commands are those that are registered: in a guild, or globally when it is empty.
// Source: interactions/application-commands#get-global-application-commands.
func (c *Client) Commands(ctx context.Context, app, guild string) ([]*discordgo.ApplicationCommand, error) {
	r := commandsAt("GET", app, guild)
	r.query = url.Values{"with_localizations": {"true"}}
	return got[[]*discordgo.ApplicationCommand](ctx, c, r)
}

// SetCommands replaces all of them.
// Source: interactions/application-commands#bulk-overwrite-global-application-commands.
func (c *Client) SetCommands(ctx context.Context, app, guild string, commands []*discordgo.ApplicationCommand) error {
	if commands == nil {
		commands = []*discordgo.ApplicationCommand{}
	}
	r := commandsAt("PUT", app, guild)
	list, err := withoutNulls(commands)
	if err != nil {
		return &Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("the commands cannot be written as JSON: %v", err), route: r.name()}
	}
	return c.ask(ctx, r, list, nil)
}

// Respond is an interaction's first answer, which it must have within three seconds.
// Source: interactions/receiving-and-responding#create-interaction-response.
func (c *Client) Respond(ctx context.Context, interaction, token string, with Response) error {
	return c.ask(ctx, at("POST", "/interactions/{interaction}/{token}/callback", interaction, token), with, nil)
}

// EditResponse changes the first answer, or gives it after a deferred one. Ephemeral stays
// what it was.
// Source: interactions/receiving-and-responding#edit-original-interaction-response.
func (c *Client) EditResponse(ctx context.Context, app, token string, message Message) (edited wire.Message, err error) {
	err = c.post(ctx, at("PATCH", originalPath, app, token), message.changed(), message.Files, &edited)
	return edited, err
}

// Followup sends a further answer.
// Source: interactions/receiving-and-responding#create-followup-message.
func (c *Client) Followup(ctx context.Context, app, token string, message Message) (sent wire.Message, err error) {
	err = c.post(ctx, at("POST", webhookPath, app, token), message.answer(), message.Files, &sent)
	return sent, err
}

// got asks for something.
func got[T any](ctx context.Context, c *Client, r route) (answer T, err error) {
	err = c.ask(ctx, r, nil, &answer)
	return answer, err
}
