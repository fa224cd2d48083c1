package rest

import (
	"errors"

	"github.com/bwmarrin/discordgo"
)

// The ways to answer an interaction.
// Source: interactions/receiving-and-responding#interaction-response-object-interaction-callback-type.
const (
	answerMessage = 4
	answerLater   = 5
	answerNothing = 6
	answerChoices = 8
	answerModal   = 9
)

// Response is the first answer to an interaction, which Discord waits for for three
// seconds. It is made by the functions below.
// Source: interactions/receiving-and-responding#interaction-response-object.
type Response struct {
	Type int `json:"type"`
	Data any `json:"data,omitempty"`
}

// Later says that a message will follow (EditResponse); shown to one person only when it
// is ephemeral.
func Later(ephemeral bool) Response {
	if ephemeral {
		return Response{Type: answerLater, Data: map[string]any{"flags": flagEphemeral}}
	}
	return Response{Type: answerLater}
}

// Nothing says that the press of a button was seen.
func Nothing() Response { return Response{Type: answerNothing} }

// Whisper is a message for the one person alone.
func Whisper(content string) Response {
	return Response{Type: answerMessage, Data: Message{Content: content, Ephemeral: true}.answer()}
}

// Offer is what an option that is being filled in can be.
func Offer(choices []*discordgo.ApplicationCommandOptionChoice) Response {
	if choices == nil {
		choices = []*discordgo.ApplicationCommandOptionChoice{}
	}
	return Response{Type: answerChoices, Data: map[string]any{"choices": choices}}
}

// Field is what a form asks for: a text, or one of several options.
// Source: components/reference#label, #text-input, #string-select.
type Field struct {
	ID          string
	Label       string // at most 45 characters
	About       string // below the label, at most 100
	Placeholder string // at most 100
	Required    bool
	Long        bool // of a text: it has several lines

	Options  []Option // to pick from, at most 25
	Multiple bool     // several of them
}

// Option is something to pick.
type Option struct {
	Label       string `json:"label"` // at most 100 characters, as the others
	Value       string `json:"value"` // which no other option has
	Description string `json:"description,omitempty"`
}

// The kinds of component that a form has.
// Source: components/reference#component-object-component-types.
const (
	componentSelect = 3
	componentText   = 4
	componentLabel  = 18
)

// Form opens a form (modal) of one to five fields; its title has at most 45 characters.
// Source: interactions/receiving-and-responding#interaction-response-object-modal.
func Form(id, title string, fields ...Field) Response {
	components := make([]map[string]any, len(fields))
	for i, field := range fields {
		components[i] = map[string]any{"type": componentLabel, "label": field.Label, "component": field.input()}
		if field.About != "" {
			components[i]["description"] = field.About
		}
	}
	return Response{Type: answerModal, Data: map[string]any{"custom_id": id, "title": title, "components": components}}
}

func (f Field) input() map[string]any {
	const short, paragraph = 1, 2
	input := map[string]any{"custom_id": f.ID, "required": f.Required}
	if f.Placeholder != "" {
		input["placeholder"] = f.Placeholder
	}
	if len(f.Options) == 0 {
		input["type"], input["style"] = componentText, short
		if f.Long {
			input["style"] = paragraph
		}
		return input
	}
	input["type"], input["options"] = componentSelect, f.Options
	if !f.Required {
		input["min_values"] = 0
	}
	if f.Multiple {
		input["max_values"] = len(f.Options)
	}
	return input
}

// Acknowledged reports whether an interaction has its first answer already.
// Source: topics/opcodes-and-status-codes#json.
func Acknowledged(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == 40060
}
