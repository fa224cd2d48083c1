package rest

import (
	"context"
	"io"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// Gateway says where to connect.
func (c *Client) Gateway(ctx context.Context) (wire.GatewayBot, error) { return wire.GatewayBot{}, nil }

// Application is the bot's own.
func (c *Client) Application(ctx context.Context) (wire.Application, error) {
	return wire.Application{}, nil
}

// Me is the bot.
func (c *Client) Me(ctx context.Context) (wire.User, error) { return wire.User{}, nil }

// Channel asks for a channel or thread.
func (c *Client) Channel(ctx context.Context, id string) (wire.Channel, error) {
	return wire.Channel{}, nil
}

// Guild asks for a guild, without its channels.
func (c *Client) Guild(ctx context.Context, id string) (wire.Guild, error) { return wire.Guild{}, nil }

// Messages are the first after one, oldest first; at most 100.
func (c *Client) Messages(ctx context.Context, channel, after string, limit int) ([]wire.Message, error) {
	return nil, nil
}

// MessagesBefore are the last before one, oldest first; at most 100.
func (c *Client) MessagesBefore(ctx context.Context, channel, before string, limit int) ([]wire.Message, error) {
	return nil, nil
}

// Message asks for one message.
func (c *Client) Message(ctx context.Context, channel, id string) (wire.Message, error) {
	return wire.Message{}, nil
}

// Send posts a message.
func (c *Client) Send(ctx context.Context, channel string, message Message) (wire.Message, error) {
	return wire.Message{}, nil
}

// Edit changes a message of the bot's.
func (c *Client) Edit(ctx context.Context, channel, id string, message Message) (wire.Message, error) {
	return wire.Message{}, nil
}

// Delete removes a message.
func (c *Client) Delete(ctx context.Context, channel, id string) error { return nil }

// Typing shows that the bot is at work, for ten seconds.
func (c *Client) Typing(ctx context.Context, channel string) error { return nil }

// React puts an emoji below a message: a character, or NAME:ID of one of a guild's.
func (c *Client) React(ctx context.Context, channel, id, emoji string) error { return nil }

// Unreact takes the bot's own away.
func (c *Client) Unreact(ctx context.Context, channel, id, emoji string) error { return nil }

// StartThread begins a thread at a message. Its id is the message's.
func (c *Client) StartThread(ctx context.Context, channel, message, name string) (wire.Channel, error) {
	return wire.Channel{}, nil
}

// DM is the channel of direct messages with a user, made when there is none.
func (c *Client) DM(ctx context.Context, user string) (wire.Channel, error) {
	return wire.Channel{}, nil
}

// ActiveThreads are those of a guild that the bot can see.
func (c *Client) ActiveThreads(ctx context.Context, guild string) ([]wire.Channel, error) {
	return nil, nil
}

// Commands are those that are registered: in a guild, or globally when it is empty.
func (c *Client) Commands(ctx context.Context, app, guild string) ([]*discordgo.ApplicationCommand, error) {
	return nil, nil
}

// SetCommands replaces all of them.
func (c *Client) SetCommands(ctx context.Context, app, guild string, commands []*discordgo.ApplicationCommand) error {
	return nil
}

// Respond answers an interaction first; within three seconds.
func (c *Client) Respond(ctx context.Context, interaction, token string, response *discordgo.InteractionResponse) error {
	return nil
}

// EditResponse changes the first answer.
func (c *Client) EditResponse(ctx context.Context, app, token string, message Message) (wire.Message, error) {
	return wire.Message{}, nil
}

// DeleteResponse removes the first answer.
func (c *Client) DeleteResponse(ctx context.Context, app, token string) error { return nil }

// Followup sends another answer.
func (c *Client) Followup(ctx context.Context, app, token string, message Message) (wire.Message, error) {
	return wire.Message{}, nil
}

// Download opens an attachment. The size is -1 when it is not told; reading more than
// limit bytes is an error.
func (c *Client) Download(ctx context.Context, url string, limit int64) (content io.ReadCloser, size int64, err error) {
	return nil, 0, nil
}
