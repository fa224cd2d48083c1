// Package rest asks Discord's HTTP API.
package rest

import (
	"log/slog"

	"github.com/bwmarrin/discordgo"
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

// New makes a client. It asks nobody; a Base that cannot be meant is an error.
func New(config Config) (*Client, error) { return &Client{config}, nil }

// Message is what is sent as a message, or what one is changed to. Nobody is pinged by it.
type Message struct {
	// Content is always set, also when a message is changed.
	Content string
	// Nonce makes a message that is sent again the same one, for a few minutes; at most
	// 25 characters.
	Nonce   string
	ReplyTo string // the message of the channel that is answered
	// Components replace those of a changed message; an empty slice that is not nil takes
	// them away.
	Components []discordgo.MessageComponent
	// Embeds replace those of a changed message. Without any, none is shown: neither
	// earlier ones nor what Discord makes of links.
	Embeds []*discordgo.MessageEmbed
	// Files replace those of a changed message, as Components do.
	Files     []*discordgo.File
	Ephemeral bool // shown to one person only: of answers to interactions
}
