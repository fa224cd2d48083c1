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
	Values     []string    `json:"values"`    // of a select menu
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

// Fields are the values of a modal's fields, by their custom ids.
func (d InteractionData) Fields() map[string]string {
	fields := make(map[string]string)
	var walk func(Component)
	walk = func(c Component) {
		if c.CustomID != "" {
			fields[c.CustomID] = c.Value
		}
		for _, below := range c.Components {
			walk(below)
		}
		if c.Component != nil {
			walk(*c.Component)
		}
	}
	for _, component := range d.Components {
		walk(component)
	}
	return fields
}
