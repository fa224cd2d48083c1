// Package rest asks Discord's HTTP API.
package rest

import (
	"context"
	"log/slog"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

// Base is where Discord's API is.
const Base = "https://discord.com/api/v10"

// Config says whom to ask, and as whom.
type Config struct {
	Token   string // of the bot, without "Bot "
	Base    string // default Base
	Version string // of the plugin, for the User-Agent
	Log     *slog.Logger
}

// Client asks the API. It may be used by several goroutines.
type Client struct{ config Config }

// New makes a client.
func New(config Config) *Client { return &Client{config} }

// Error is Discord's refusal.
type Error struct {
	Status     int           // of HTTP
	Code       int           // Discord's own: topics/opcodes-and-status-codes#json
	Message    string        // in Discord's words
	RetryAfter time.Duration // of 429: when it can be tried again
}

func (e *Error) Error() string { return e.Message }

// Message is what is sent as a message, or what one is changed to. The zero of a field
// leaves it as it is when it is changed, but for Content, which is always set.
type Message struct {
	Content string
	// Nonce makes a message that is sent again the same one, for a few minutes; at most
	// 25 characters.
	Nonce   string
	ReplyTo string // the message of the channel that is answered
	// Components replace those of a changed message; an empty slice that is not nil takes
	// them away.
	Components []discordgo.MessageComponent
	Embeds     []*discordgo.MessageEmbed
	Files      []*discordgo.File
	Ephemeral  bool // shown to one person only: of answers to interactions
}

// Send posts a message.
func (c *Client) Send(ctx context.Context, channel string, message Message) (wire.Message, error) {
	return wire.Message{}, nil
}
