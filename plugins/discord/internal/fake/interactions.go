package fake

import (
	"strings"
	"time"
)

// The kinds of interaction and of first answers.
// Source: interactions/receiving-and-responding#interaction-object-interaction-type and
// #interaction-response-object-interaction-callback-type.
const (
	interactionCommand      = 2
	interactionComponent    = 3
	interactionAutocomplete = 4
	interactionModal        = 5

	callbackMessage        = 4
	callbackDeferred       = 5
	callbackDeferredUpdate = 6
	callbackUpdate         = 7
	callbackChoices        = 8
	callbackModal          = 9
)

// interaction is something that somebody did, and what became of it.
type interaction struct {
	id, token, user, channel string
	kind                     int
	at                       time.Time
	source                   *message // whose component it was
	target                   *message // whose menu it was
	optionKind               int      // of autocomplete

	answer   int  // the kind of the first answer; 0 without one
	lost     bool // the bot did not hear that its answer arrived
	original *message
	sent     []*message // what followed
	modal    object
	choices  []any
}

// interact makes an interaction and tells the sessions of it.
// Source: interactions/receiving-and-responding#interaction-object.
func (s *Server) interact(i *interaction, data object) string {
	c := s.channels[i.channel]
	i.id, i.at = s.id(), s.now()
	i.token = "aW50ZXJhY3Rpb24" + i.id + strings.Repeat("x", 40)
	s.interactions[i.id], s.interactionOf[i.token] = i, i
	o := object{"id": i.id, "application_id": s.app, "type": i.kind, "token": i.token, "version": 1, "data": data, "locale": "en-US",
		"channel_id": c.id, "channel": s.channelObject(c), "entitlements": []object{}, "attachment_size_limit": 10 << 20, "app_permissions": "562949953863680"}
	if c.guild == "" {
		o["user"], o["context"], o["authorizing_integration_owners"] = s.userObject(i.user), 1, object{"0": "0"}
	} else {
		member := s.memberObject(s.guilds[c.guild], i.user)
		if member == nil {
			misuse("the user %q is not in the guild of the channel %q", i.user, c.id)
		}
		member["user"], member["permissions"] = s.userObject(i.user), s.permissionsOf(c.guild, i.user)
		o["member"], o["guild_id"], o["guild_locale"], o["context"] = member, c.guild, "en-US", 0
		o["guild"] = object{"id": c.guild, "locale": "en-US", "features": []string{}}
		o["authorizing_integration_owners"] = object{"0": c.guild}
	}
	if i.source != nil {
		o["message"] = s.messageObject(i.source, true)
	}
	s.dispatch("INTERACTION_CREATE", 0, func(*session) object { return o })
	return i.id
}
