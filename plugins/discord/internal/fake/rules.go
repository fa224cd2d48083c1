package fake

import (
	"fmt"
	"time"
)

// Breach is one thing that the bot did against the documentation.
type Breach struct {
	Rule  string    `json:"rule"` // one of the names below
	What  string    `json:"what"` // what was done, in words
	Where string    `json:"where,omitempty"`
	At    time.Time `json:"at"`
}

// The names of the rules. They are stable: tests expect breaches by them.
const (
	// Rule: reference#user-agent
	RuleUserAgent = "user agent"
	// Rule: reference#authentication
	RuleAuthorization = "authorization"
	// Rule: reference#content-type
	RuleContentType = "content type"
	// Rule: reference#api-versioning
	RuleRoute = "unknown route"
	// Rule: topics/opcodes-and-status-codes#json-json-error-codes
	RuleJSON = "invalid json"
	// Rule: reference#error-messages
	RuleForm = "invalid form"
	// Rule: reference#error-messages
	RuleUnknownField = "unknown field"

	// Rule: resources/message#create-message-json/form-params
	RuleContentLength = "content length"
	// Rule: resources/message#create-message-json/form-params
	RuleEmptyMessage = "empty message"
	// Rule: resources/message#create-message-json/form-params
	RuleNonce = "nonce"
	// Rule: resources/message#message-object-message-flags
	RuleFlags = "message flags"
	// Rule: resources/message#message-reference-structure
	RuleReference = "message reference"
	// Rule: resources/message#allowed-mentions-object
	RuleAllowedMentions = "allowed mentions"
	// Rule: resources/message#embed-object-embed-limits
	RuleEmbeds = "embed limits"
	// Rule: reference#uploading-files
	RuleFiles = "files"
	// Rule: resources/message#edit-message
	RuleEditForeign = "edit of a foreign message"
	// Rule: resources/message#get-channel-messages-query-string-params
	RulePaging = "paging"
	// Rule: resources/message#create-reaction
	RuleEmoji = "emoji"
	// Rule: resources/channel#start-thread-from-message-json-params
	RuleThread = "thread"
	// Rule: resources/channel#modify-channel
	RuleChannel = "channel"

	// Rule: components/reference#legacy-message-component-behavior
	RuleComponents = "components"
	// Rule: components/reference#anatomy-of-a-component-custom-id
	RuleCustomID = "custom id"
	// Rule: interactions/receiving-and-responding#interaction-response-object-modal
	RuleModal = "modal"

	// Rule: interactions/application-commands#application-command-object
	RuleCommand = "command"
	// Rule: interactions/application-commands#application-command-object-application-command-naming
	RuleCommandName = "command name"
	// Rule: interactions/application-commands#application-command-object-application-command-option-structure
	RuleCommandOption = "command option"
	// Rule: interactions/application-commands#slash-commands
	RuleCommandSize = "command size"
	// Rule: interactions/application-commands#registering-a-command
	RuleCommandCount = "command count"
	// Rule: interactions/application-commands#application-command-object-application-command-structure
	RuleCommandContext = "command contexts"

	// Rule: interactions/receiving-and-responding#interaction-callback
	RuleInteractionLate = "interaction answered late"
	// Rule: interactions/receiving-and-responding#interaction-callback
	RuleInteractionTwice = "interaction answered twice"
	// Rule: interactions/receiving-and-responding#interaction-response-object-interaction-callback-type
	RuleCallbackType = "callback type"
	// Rule: interactions/receiving-and-responding#followup-messages
	RuleInteractionToken = "interaction token"
	// Rule: interactions/receiving-and-responding#interaction-response-object-autocomplete
	RuleChoices = "autocomplete choices"

	// Rule: topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
	RuleRateLimit = "rate limit ignored"
	// Rule: topics/rate-limits#global-rate-limit
	RuleGlobalLimit = "global rate limit ignored"

	// Rule: events/gateway#connecting-gateway-url-query-string-params
	RuleGatewayURL = "gateway url"
	// Rule: events/gateway#preparing-to-resume
	RuleResumeURL = "resume url"
	// Rule: events/gateway#sending-events
	RulePayload = "gateway payload"
	// Rule: topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
	RuleNotIdentified = "payload before identify"
	// Rule: topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
	RuleIdentifyTwice = "identify twice"
	// Rule: events/gateway-events#identify-identify-structure
	RuleIdentify = "identify"
	// Rule: events/gateway#gateway-intents
	RuleIntents = "intents"
	// Rule: events/gateway#identifying
	RuleIdentifyRate = "identify too soon"
	// Rule: events/gateway#preparing-to-resume
	RuleAfterInvalid = "after invalid session"
	// Rule: events/gateway#sending-heartbeats
	RuleHeartbeatSeq = "heartbeat sequence"
	// Rule: events/gateway#heartbeat-interval
	RuleHeartbeatLate = "heartbeat late"
	// Rule: events/gateway#heartbeat-requests
	RuleHeartbeatAsked = "heartbeat not at once"
	// Rule: events/gateway#rate-limiting
	RuleGatewayRate = "gateway rate"
	// Rule: events/gateway-events#resume-resume-structure
	RuleResume = "resume"
	// Rule: topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
	RuleReconnect = "reconnect after a final close"
)

// Breaches lists what the bot did against the documentation so far.
func (s *Server) Breaches() []Breach {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Breach{}, s.breaches...)
}

// ClearBreaches forgets the breaches so far.
func (s *Server) ClearBreaches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaches = nil
	s.touch()
}

// breach records one. The lock is held.
func (s *Server) breach(where, rule, format string, args ...any) {
	s.breaches = append(s.breaches, Breach{Rule: rule, What: fmt.Sprintf(format, args...), Where: where, At: s.now()})
	s.touch()
}

// refusal is an error as Discord answers it.
// Source: reference#error-messages.
type refusal struct {
	status int
	code   int
	text   string
	errors object
}

func (r *refusal) body() object {
	body := object{"code": r.code, "message": r.text}
	if r.errors != nil {
		body["errors"] = r.errors
	}
	return body
}

func refuse(status, code int, text string) *refusal {
	return &refusal{status: status, code: code, text: text}
}

// Refusals that are no breach: the thing may have been there a moment ago.
// Source: topics/opcodes-and-status-codes#json-json-error-codes.
var (
	unknownChannel     = refuse(404, 10003, "Unknown Channel")
	unknownGuild       = refuse(404, 10004, "Unknown Guild")
	unknownMessage     = refuse(404, 10008, "Unknown Message")
	unknownUser        = refuse(400, 50033, "Invalid Recipient(s)")
	unknownEmoji       = refuse(400, 10014, "Unknown Emoji")
	unknownWebhook     = refuse(404, 10015, "Unknown Webhook")
	unknownInteraction = refuse(404, 10062, "Unknown interaction")
	unknownCommand     = refuse(404, 10063, "Unknown application command")
	unknownApplication = refuse(404, 10002, "Unknown Application")
	missingAccess      = refuse(403, 50001, "Missing Access")
	missingPermissions = refuse(403, 50013, "Missing Permissions")
	cannotSendToUser   = refuse(403, 50007, "Cannot send messages to this user")
	foreignMessage     = refuse(403, 50005, "Cannot edit a message authored by another user")
	emptyMessage       = refuse(400, 50006, "Cannot send an empty message")
	nonText            = refuse(400, 50008, "Cannot send messages in a non-text channel")
	wrongChannelType   = refuse(400, 50024, "Cannot execute action on this channel type")
	archivedThread     = refuse(400, 50083, "Thread is archived")
	lockedThread       = refuse(400, 160005, "Thread is locked")
	threadExists       = refuse(400, 160004, "A thread has already been created for this message")
	answeredTwice      = refuse(400, 40060, "Interaction has already been acknowledged.")
	invalidWebhook     = refuse(401, 50027, "Invalid Webhook Token")
	unauthorized       = refuse(401, 0, "401: Unauthorized")
	invalidJSON        = refuse(400, 50109, "The request body contains invalid JSON.")
	tooLarge           = refuse(413, 40005, "Request entity too large")
	noHistory          = refuse(400, 160002, "Cannot reply without permission to read message history")
)
