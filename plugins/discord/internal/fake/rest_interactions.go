package fake

import (
	"slices"
	"time"
)

var interactionRoutes = []route{
	{pattern: "POST /interactions/{interaction}/{token}/callback", bucket: "callback", open: true, files: true, handle: (*Server).callback},
	{pattern: "POST /webhooks/{app}/{token}", bucket: "webhook", open: true, files: true, handle: (*Server).followUp},
	{pattern: "GET /webhooks/{app}/{token}/messages/{message}", bucket: "webhook", open: true, handle: (*Server).getAnswer},
	{pattern: "PATCH /webhooks/{app}/{token}/messages/{message}", bucket: "webhook", open: true, files: true, handle: (*Server).editAnswer},
	{pattern: "DELETE /webhooks/{app}/{token}/messages/{message}", bucket: "webhook", open: true, handle: (*Server).deleteAnswer},
}

// callback: interactions/receiving-and-responding#create-interaction-response.
func (s *Server) callback(c *call) (any, *refusal) {
	i := s.interactions[c.path("interaction")]
	if i == nil || i.token != c.path("token") {
		return nil, unknownInteraction
	}
	if i.answer != 0 {
		if !i.lost {
			c.note(RuleInteractionTwice, "the interaction %s has its first answer", i.id)
		}
		return nil, answeredTwice
	}
	if since := s.now().Sub(i.at); since > s.config.InteractionWithin {
		c.note(RuleInteractionLate, "the first answer came %v after the interaction", since)
		return nil, unknownInteraction
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	c.known("", o, "type", "data")
	kind, given := c.number(o, "", "type", 1, 12, RuleCallbackType)
	data := c.object(o, "", "data", RuleCallbackType)
	if data == nil {
		data = object{}
	}
	if !given || !i.takes(kind) {
		c.fail("type", RuleCallbackType, "BASE_TYPE_CHOICES", "An interaction of the type %d takes no answer of the type %d.", i.kind, kind)
		return nil, c.refusal()
	}
	if refused := s.respond(c, i, kind, data); refused != nil {
		return nil, refused
	}
	i.answer = kind
	if c.request.URL.Query().Get("with_response") != "true" {
		return nil, nil
	}
	about := object{"id": i.id, "type": i.kind}
	answer := object{"interaction": about}
	if i.original != nil {
		about["response_message_id"], about["response_message_loading"], about["response_message_ephemeral"] = i.original.id, kind == callbackDeferred, i.original.only != ""
		answer["resource"] = object{"type": kind, "message": s.messageObject(i.original, true)}
	}
	return answer, nil
}

// takes reports whether a first answer of the kind fits.
func (i *interaction) takes(kind int) bool {
	switch kind {
	case callbackMessage, callbackDeferred:
		return i.kind != interactionAutocomplete
	case callbackDeferredUpdate, callbackUpdate:
		return i.kind == interactionComponent || i.kind == interactionModal && i.source != nil
	case callbackChoices:
		return i.kind == interactionAutocomplete
	case callbackModal:
		return i.kind == interactionCommand || i.kind == interactionComponent
	}
	return false
}

func (s *Server) respond(c *call, i *interaction, kind int, data object) *refusal {
	switch kind {
	case callbackMessage:
		m, refused := s.answerMessage(c, i, data, "data", inCallback)
		if refused != nil {
			return refused
		}
		i.original = m
	case callbackDeferred:
		c.known("data", data, "flags")
		flags, _ := c.number(data, "data", "flags", 0, 1<<31, RuleFlags)
		if flags&^flagEphemeral != 0 {
			c.note(RuleFlags, "the only flag of a deferred answer is EPHEMERAL")
		}
		m := &message{channel: i.channel, author: s.bot.id, flags: flags&flagEphemeral | flagLoading}
		s.start(m, i)
		s.store(m)
		i.original = m
	case callbackDeferredUpdate:
		i.original = i.source
	case callbackUpdate:
		if _, refused := s.change(c, data, "data", where{fields: inCallback.fields, flags: inCallback.flags, webhook: true}, i.source); refused != nil {
			return refused
		}
		i.original = i.source
	case callbackChoices:
		c.known("data", data, "choices")
		list := c.list(data, "data", "choices", 25, RuleChoices)
		c.choices(list, "data.choices", i.optionKind, RuleChoices)
		if refused := c.refusal(); refused != nil {
			return refused
		}
		i.choices = list
	case callbackModal:
		c.modal(data, "data")
		if refused := c.refusal(); refused != nil {
			return refused
		}
		i.modal = data
	}
	return c.refusal()
}

// start makes a message the answer to an interaction: to a command, or to the message
// whose menu or component it was.
func (s *Server) start(m *message, i *interaction) {
	m.interaction = i
	guild := s.channels[i.channel].guild
	switch {
	case i.target != nil:
		m.reply(i.target, guild)
		m.kind = typeContextMenu
	case i.source != nil:
		m.reply(i.source, guild)
	case i.kind == interactionCommand:
		m.kind = typeCommand
	}
	if m.flags&flagEphemeral != 0 {
		m.only = i.user
	}
}

// answerMessage stores an answer to an interaction.
func (s *Server) answerMessage(c *call, i *interaction, o object, path string, in where) (*message, *refusal) {
	d := s.draft(c, o, path, in, s.channels[i.channel])
	if refused := c.refusal(); refused != nil {
		return nil, refused
	}
	if d.empty() {
		c.note(RuleEmptyMessage, "the message has nothing in it")
		return nil, emptyMessage
	}
	s.start(d.message, i)
	s.mention(d.message, d.allowed, nil)
	s.store(d.message)
	return d.message, nil
}

// continued is the interaction whose token a request has.
func (s *Server) continued(c *call) (*interaction, *refusal) {
	if c.path("app") != s.app {
		return nil, unknownWebhook
	}
	i := s.interactionOf[c.path("token")]
	if i == nil {
		c.note(RuleInteractionToken, "there is no interaction with this token")
		return nil, invalidWebhook
	}
	if since := s.now().Sub(i.at); since > s.config.InteractionFor {
		c.note(RuleInteractionToken, "the token is %v old", since.Round(time.Second))
		return nil, invalidWebhook
	}
	if i.answer == 0 {
		c.note(RuleInteractionToken, "the interaction %s has no first answer yet", i.id)
		return nil, unknownWebhook
	}
	return i, nil
}

// followUp: interactions/receiving-and-responding#create-followup-message.
func (s *Server) followUp(c *call) (any, *refusal) {
	i, refused := s.continued(c)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	if m := i.original; m != nil && m.flags&flagLoading != 0 && !m.deleted {
		return s.change(c, o, "", inFollowup, m)
	}
	m, refused := s.answerMessage(c, i, o, "", inFollowup)
	if refused != nil {
		return nil, refused
	}
	i.sent = append(i.sent, m)
	return s.messageObject(m, true), nil
}

// answerOf is the message of a request about an answer.
func (s *Server) answerOf(c *call) (*message, *refusal) {
	i, refused := s.continued(c)
	if refused != nil {
		return nil, refused
	}
	id := c.path("message")
	if id == "@original" {
		if i.original == nil || i.original.deleted {
			return nil, unknownMessage
		}
		return i.original, nil
	}
	for _, m := range append(slices.Clone(i.sent), i.original) {
		if m != nil && m.id == id && !m.deleted {
			return m, nil
		}
	}
	return nil, unknownMessage
}

func (s *Server) getAnswer(c *call) (any, *refusal) {
	m, refused := s.answerOf(c)
	if refused != nil {
		return nil, refused
	}
	return s.messageObject(m, true), nil
}

func (s *Server) editAnswer(c *call) (any, *refusal) {
	m, refused := s.answerOf(c)
	if refused != nil {
		return nil, refused
	}
	o, refused := c.form()
	if refused != nil {
		return nil, refused
	}
	return s.change(c, o, "", inWebhookEdit, m)
}

func (s *Server) deleteAnswer(c *call) (any, *refusal) {
	m, refused := s.answerOf(c)
	if refused != nil {
		return nil, refused
	}
	s.remove(m)
	return nil, nil
}
