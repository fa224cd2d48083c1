package rest

import (
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

// Field is a text that a form asks for.
// Source: components/reference#text-input.
type Field struct {
	ID          string
	Label       string // at most 45 characters
	Placeholder string // at most 100
	Long        bool
	Required    bool
}

// Form opens a form (modal) of one to five fields; its title has at most 45 characters.
// Source: interactions/receiving-and-responding#interaction-response-object-modal.
func Form(id, title string, fields ...Field) Response {
	const label, input, short, paragraph = 18, 4, 1, 2
	components := make([]map[string]any, len(fields))
	for i, field := range fields {
		style := short
		if field.Long {
			style = paragraph
		}
		text := map[string]any{"type": input, "custom_id": field.ID, "style": style, "required": field.Required}
		if field.Placeholder != "" {
			text["placeholder"] = field.Placeholder
		}
		components[i] = map[string]any{"type": label, "label": field.Label, "component": text}
	}
	return Response{Type: answerModal, Data: map[string]any{"custom_id": id, "title": title, "components": components}}
}
