package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/bwmarrin/discordgo"
)

// Message is what is sent as a message, or what one is changed to. Nobody is pinged by it,
// whatever it says.
type Message struct {
	// Content is always set, also when a message is changed.
	Content string
	// Nonce makes a message that is sent again the same one, for a few minutes; at most
	// 25 characters. Answers to interactions have none.
	Nonce   string
	ReplyTo string // the message of the channel that is answered, if it is still there
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

// The flags of messages that are sent.
// Source: resources/message#message-object-message-flags.
const (
	flagSuppressEmbeds = 1 << 2
	flagEphemeral      = 1 << 6
)

// payload is a message as Discord reads it. What is nil is left out, what is empty is not.
// Source: resources/message#create-message, #edit-message.
type payload struct {
	Content      string                       `json:"content"`
	Flags        int                          `json:"flags"`
	Nonce        string                       `json:"nonce,omitempty"`
	EnforceNonce bool                         `json:"enforce_nonce,omitempty"`
	Mentions     mentions                     `json:"allowed_mentions"`
	Reference    *reference                   `json:"message_reference,omitempty"`
	Components   []discordgo.MessageComponent `json:"components,omitzero"`
	Embeds       []*discordgo.MessageEmbed    `json:"embeds,omitzero"`
	Attachments  []attachment                 `json:"attachments,omitzero"`
}

// mentions say who is pinged: nobody. Without them those whom the text names would be.
// Source: resources/message#allowed-mentions-object.
type mentions struct {
	Parse       [0]string `json:"parse"` // always []
	RepliedUser bool      `json:"replied_user"`
}

type reference struct {
	MessageID       string `json:"message_id"`
	FailIfNotExists bool   `json:"fail_if_not_exists"`
}

// attachment names a file of the request. A change keeps only what is named.
// Source: reference#editing-message-attachments.
type attachment struct {
	ID       int    `json:"id"` // of files[ID]
	Filename string `json:"filename"`
}

// changed is the message as a change of one.
func (m Message) changed() payload {
	p := payload{Content: m.Content, Components: m.Components, Embeds: m.Embeds}
	if len(m.Embeds) == 0 {
		p.Flags = flagSuppressEmbeds // which would hide the message's own as well
	}
	if m.Files != nil {
		p.Attachments = make([]attachment, len(m.Files))
	}
	for i, file := range m.Files {
		p.Attachments[i] = attachment{i, file.Name}
	}
	return p
}

// answer is the message as an answer to an interaction.
func (m Message) answer() payload {
	p := m.changed()
	if m.Ephemeral {
		p.Flags |= flagEphemeral
	}
	return p
}

// created is the message as a new one in a channel.
func (m Message) created() payload {
	p := m.changed()
	p.Nonce, p.EnforceNonce = m.Nonce, m.Nonce != ""
	if m.ReplyTo != "" {
		p.Reference = &reference{MessageID: m.ReplyTo}
	}
	return p
}

// post sends a body as JSON, or as a form with files.
// Source: reference#uploading-files.
func (c *Client) post(ctx context.Context, r route, body any, files []*discordgo.File, answer any) error {
	if len(files) == 0 {
		return c.ask(ctx, r, body, answer)
	}
	kind, form, err := discordgo.MultipartBodyWithJSON(body, files)
	if err != nil {
		return &Error{Status: http.StatusBadRequest, Message: "its files cannot be read: " + err.Error(), route: r.name()}
	}
	return c.send(ctx, r, kind, form, answer)
}

// withoutNulls is a value as JSON reads it, without the fields that are null: the library
// writes lists that are not there so.
func withoutNulls(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	var prune func(any)
	prune = func(tree any) {
		switch tree := tree.(type) {
		case map[string]any:
			for name, below := range tree {
				if below == nil {
					delete(tree, name)
				}
				prune(below)
			}
		case []any:
			for _, below := range tree {
				prune(below)
			}
		}
	}
	prune(tree)
	return tree, nil
}
