package wire

import "encoding/json"

// The kinds of interaction.
// Source: interactions/receiving-and-responding#interaction-object-interaction-type.
const (
	InteractionCommand      = 2
	InteractionComponent    = 3
	InteractionAutocomplete = 4
	InteractionModal        = 5
)

// ContextPrivate is that of an interaction between people, in whose conversation the bot is
// not.
// Source: interactions/receiving-and-responding#interaction-object-interaction-context-types.
const ContextPrivate = 2

// The kinds of command.
// Source: interactions/application-commands#application-command-object-application-command-types.
const (
	CommandChat    = 1
	CommandMessage = 3 // in the menu of a message
)

// Interaction is something that a person did with what the bot offers: a command, a
// button, a form.
// Source: interactions/receiving-and-responding#interaction-object.
type Interaction struct {
	ID            string          `json:"id"`
	ApplicationID string          `json:"application_id"`
	Type          int             `json:"type"`
	Token         string          `json:"token"` // for answers, for 15 minutes
	GuildID       string          `json:"guild_id"`
	ChannelID     string          `json:"channel_id"`
	Channel       *Channel        `json:"channel"`
	Member        *Member         `json:"member"` // in a guild; with its user
	User          *User           `json:"user"`   // in direct messages
	Message       *Message        `json:"message"`
	Context       int             `json:"context"`
	Data          InteractionData `json:"data"`
}

// By is who did it.
func (i Interaction) By() User {
	switch {
	case i.Member != nil && i.Member.User != nil:
		return *i.Member.User
	case i.User != nil:
		return *i.User
	}
	return User{}
}

// InteractionData is what was done.
// Source: interactions/receiving-and-responding#interaction-object-interaction-data.
type InteractionData struct {
	Name     string   `json:"name"` // of a command
	Type     int      `json:"type"` // of a command
	GuildID  string   `json:"guild_id"`
	TargetID string   `json:"target_id"` // the message whose menu it was
	Options  []Option `json:"options"`

	CustomID   string      `json:"custom_id"` // of a component or modal
	Components []Component `json:"components"`

	Resolved struct {
		Messages map[string]Message `json:"messages"`
	} `json:"resolved"`
}

// Option is an option of a command as it was filled in.
// Source: interactions/receiving-and-responding#interaction-object-application-command-interaction-data-option-structure.
type Option struct {
	Name    string          `json:"name"`
	Type    int             `json:"type"`
	Value   json.RawMessage `json:"value"`
	Focused bool            `json:"focused"` // it is what is being typed
}

// Field is what was handed in of one field of a form, by its custom id.
func (d InteractionData) Field(id string) Component {
	var find func(Component) (Component, bool)
	find = func(c Component) (Component, bool) {
		if c.CustomID == id {
			return c, true
		}
		below := c.Components
		if c.Component != nil {
			below = append([]Component{*c.Component}, below...)
		}
		for _, inside := range below {
			if found, ok := find(inside); ok {
				return found, true
			}
		}
		return Component{}, false
	}
	found, _ := find(Component{Components: d.Components})
	return found
}
