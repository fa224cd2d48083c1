// Package wire is what Discord sends, as far as the plugin reads it. Unlike the types of a
// library these leave out all else, so that a field or a kind of component that Discord
// adds tomorrow keeps no message from being read, and a large guild takes little memory.
//
// Source: https://docs.discord.com/developers, version 10 of the API.
package wire

import (
	"encoding/json"
	"time"
)

// User is somebody, people and bots alike.
// Source: resources/user#user-object.
type User struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"` // what people call themselves; may be empty
	Bot        bool   `json:"bot"`
	System     bool   `json:"system"`
}

// Name is what people know the user by.
func (u User) Name() string {
	if u.GlobalName != "" {
		return u.GlobalName
	}
	return u.Username
}

// Member is a user in a guild.
// Source: resources/guild#guild-member-object.
type Member struct {
	User        *User    `json:"user"` // absent in messages
	Nick        string   `json:"nick"`
	Roles       []string `json:"roles"`
	Permissions string   `json:"permissions"` // in interactions only
}

// The kinds of channel that the plugin tells apart.
// Source: resources/channel#channel-object-channel-types.
const (
	ChannelText          = 0
	ChannelDM            = 1
	ChannelVoice         = 2
	ChannelGroupDM       = 3
	ChannelCategory      = 4
	ChannelAnnouncement  = 5
	ThreadOfAnnouncement = 10
	ThreadPublic         = 11
	ThreadPrivate        = 12
	ChannelStage         = 13
	ChannelForum         = 15
	ChannelMedia         = 16
)

// Channel is a place where people write: a channel, a thread, a direct message.
// Source: resources/channel#channel-object.
type Channel struct {
	ID            string `json:"id"`
	Type          int    `json:"type"`
	GuildID       string `json:"guild_id"`
	Name          string `json:"name"`
	ParentID      string `json:"parent_id"` // of a thread its channel, of a channel its category
	OwnerID       string `json:"owner_id"`  // of a thread who opened it
	LastMessageID string `json:"last_message_id"`
	Recipients    []User `json:"recipients"` // of a direct message
	// Metadata is a thread's own.
	// Source: resources/channel#thread-metadata-object.
	Metadata struct {
		Archived bool `json:"archived"`
	} `json:"thread_metadata"`
	// NewlyCreated tells a thread that was opened from one that the bot was added to.
	// Source: events/gateway-events#thread-create.
	NewlyCreated bool `json:"newly_created"`
}

// Thread reports whether the channel is a thread, posts of forums included.
func (c Channel) Thread() bool {
	return c.Type == ThreadOfAnnouncement || c.Type == ThreadPublic || c.Type == ThreadPrivate
}

// Direct reports whether the channel is one of direct messages.
func (c Channel) Direct() bool { return c.Type == ChannelDM || c.Type == ChannelGroupDM }

// The kinds of message that people write.
// Source: resources/message#message-object-message-types.
const (
	MessageDefault       = 0
	MessageReply         = 19
	MessageChatCommand   = 20
	MessageThreadStarter = 21
	MessageContextMenu   = 23
)

// Message is one message of a channel.
// Source: resources/message#message-object.
type Message struct {
	ID              string       `json:"id"`
	ChannelID       string       `json:"channel_id"`
	GuildID         string       `json:"guild_id"` // in events only
	Author          User         `json:"author"`
	Member          *Member      `json:"member"` // in events only
	Content         string       `json:"content"`
	Timestamp       time.Time    `json:"timestamp"`
	EditedTimestamp *time.Time   `json:"edited_timestamp"`
	Type            int          `json:"type"`
	Flags           int          `json:"flags"`
	WebhookID       string       `json:"webhook_id"`
	Mentions        []User       `json:"mentions"`
	MentionRoles    []string     `json:"mention_roles"`
	Attachments     []Attachment `json:"attachments"`
	Stickers        []Sticker    `json:"sticker_items"`
	Embeds          []Embed      `json:"embeds"`
	// Reference is the message that this one answers, forwards or began with.
	Reference *Reference `json:"message_reference"`
	// Referenced is the message that a reply answers; nil when it was deleted.
	Referenced *Message `json:"referenced_message"`
	// Snapshots are the messages that were forwarded.
	Snapshots []Snapshot `json:"message_snapshots"`
	// Nonce is what the sender gave: a text or a number.
	Nonce      json.RawMessage `json:"nonce"`
	Components []Component     `json:"components"`
}

// Reference names another message. Type 1 forwards it.
// Source: resources/message#message-reference-structure.
type Reference struct {
	Type      int    `json:"type"`
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
}

// Snapshot is a forwarded message, without its author.
// Source: resources/message#message-snapshot-object.
type Snapshot struct {
	Message struct {
		Content     string       `json:"content"`
		Timestamp   time.Time    `json:"timestamp"`
		Attachments []Attachment `json:"attachments"`
		Embeds      []Embed      `json:"embeds"`
	} `json:"message"`
}

// Attachment is a file of a message.
// Source: resources/message#attachment-object.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"` // bytes
	URL         string `json:"url"`
}

// Sticker is a picture that was sent in the place of words.
// Source: resources/sticker#sticker-item-object.
type Sticker struct {
	Name string `json:"name"`
}

// Embed is what is shown below a message.
// Source: resources/message#embed-object.
type Embed struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

// Component is a part of a message that people press, or a row of such parts. Of kinds
// that are not known here only the type is there.
// Source: components/reference.
type Component struct {
	Type       int         `json:"type"`
	CustomID   string      `json:"custom_id"`
	Label      string      `json:"label"`
	Value      string      `json:"value"`  // of a text, in what a form hands in
	Values     []string    `json:"values"` // of a menu, there
	Components []Component `json:"components"`
	Component  *Component  `json:"component"` // of a label
}

// Role is a role of a guild.
// Source: topics/permissions#role-object.
type Role struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions string `json:"permissions"`
	Tags        struct {
		BotID string `json:"bot_id"` // the bot that the role is made for
	} `json:"tags"`
}

// RoleEvent tells of a role that was made or changed.
// Source: events/gateway-events#guild-role-create.
type RoleEvent struct {
	GuildID string `json:"guild_id"`
	Role    Role   `json:"role"`
}

// Guild is a server, as GUILD_CREATE tells of it.
// Source: events/gateway-events#guild-create.
type Guild struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	OwnerID     string    `json:"owner_id"`
	Roles       []Role    `json:"roles"`
	Unavailable bool      `json:"unavailable"`
	Channels    []Channel `json:"channels"`
	Threads     []Channel `json:"threads"` // active ones that the bot can see
}

// Ready is the first event of a session.
// Source: events/gateway-events#ready.
type Ready struct {
	User             User    `json:"user"`
	Guilds           []Guild `json:"guilds"` // unavailable ones: GUILD_CREATE follows
	SessionID        string  `json:"session_id"`
	ResumeGatewayURL string  `json:"resume_gateway_url"`
	Application      struct {
		ID    string `json:"id"`
		Flags int    `json:"flags"`
	} `json:"application"`
}

// Flags of an application that say which privileged intents it may use.
// Source: resources/application#application-object-application-flags.
const (
	FlagMessageContent        = 1 << 18
	FlagMessageContentLimited = 1 << 19
)

// Application is the bot's own.
// Source: resources/application#application-object.
type Application struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Flags int    `json:"flags"`
	Owner *User  `json:"owner"`
	Team  *struct {
		OwnerUserID string `json:"owner_user_id"`
	} `json:"team"`
	BotPublic           bool `json:"bot_public"`
	BotRequireCodeGrant bool `json:"bot_require_code_grant"`
}

// OwnerID is the user whose application it is; of a team's, the team's owner.
func (a Application) OwnerID() string {
	if a.Team != nil && a.Team.OwnerUserID != "" {
		return a.Team.OwnerUserID
	}
	if a.Owner != nil {
		return a.Owner.ID
	}
	return ""
}

// GatewayBot says where to connect, and how often that may be done.
// Source: events/gateway#get-gateway-bot.
type GatewayBot struct {
	URL    string `json:"url"`
	Shards int    `json:"shards"`
	Limit  struct {
		Total          int   `json:"total"`
		Remaining      int   `json:"remaining"`
		ResetAfter     int64 `json:"reset_after"` // milliseconds
		MaxConcurrency int   `json:"max_concurrency"`
	} `json:"session_start_limit"`
}
