package fake

import (
	"encoding/json"
	"mime"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Flags and types of messages.
// Source: resources/message#message-object-message-flags and #message-object-message-types.
const (
	flagSuppressEmbeds        = 1 << 2
	flagHasThread             = 1 << 5
	flagEphemeral             = 1 << 6
	flagLoading               = 1 << 7
	flagSuppressNotifications = 1 << 12
	flagVoice                 = 1 << 13
	flagSnapshot              = 1 << 14
	flagComponentsV2          = 1 << 15

	typeDefault       = 0
	typeThreadCreated = 18
	typeReply         = 19
	typeCommand       = 20
	typeThreadStarter = 21
	typeContextMenu   = 23
)

// draft is a message as a body describes it.
type draft struct {
	*message
	allowed   *allowed
	enforce   bool
	replies   *message
	keepFiles []string // ids that an edit names; nil when it names none
	listed    bool     // it has the field attachments
}

// where a body describes a message: its fields and flags differ.
type where struct {
	fields  []string
	flags   int  // that can be set
	had     int  // that the message has
	webhook bool // of an interaction, which has other defaults
}

var (
	// Source: resources/message#create-message-json/form-params
	inCreate = where{fields: []string{"content", "nonce", "tts", "embeds", "allowed_mentions", "message_reference", "components", "sticker_ids",
		"attachments", "flags", "enforce_nonce", "poll", "shared_client_theme"},
		flags: flagSuppressEmbeds | flagSuppressNotifications | flagVoice | flagComponentsV2}
	// Source: resources/message#edit-message-json/form-params
	inEdit = where{fields: []string{"content", "embeds", "flags", "allowed_mentions", "components", "attachments"},
		flags: flagSuppressEmbeds | flagComponentsV2}
	// Source: resources/channel#start-thread-in-forum-or-media-channel-forum-and-media-thread-message-params-object
	inForum = where{fields: []string{"content", "embeds", "allowed_mentions", "components", "sticker_ids", "attachments", "flags"},
		flags: flagSuppressEmbeds | flagSuppressNotifications}
	// Source: interactions/receiving-and-responding#interaction-response-object-messages
	inCallback = where{fields: []string{"tts", "content", "embeds", "allowed_mentions", "flags", "components", "attachments", "poll"},
		flags: flagSuppressEmbeds | flagEphemeral | flagComponentsV2 | flagVoice | flagSuppressNotifications, webhook: true}
	// Source: interactions/receiving-and-responding#create-followup-message
	inFollowup = where{fields: []string{"content", "tts", "embeds", "allowed_mentions", "components", "attachments", "flags", "poll"},
		flags: flagSuppressEmbeds | flagSuppressNotifications | flagComponentsV2 | flagEphemeral, webhook: true}
	// Source: resources/webhook#edit-webhook-message-json/form-params
	inWebhookEdit = where{fields: []string{"content", "embeds", "flags", "allowed_mentions", "components", "attachments", "poll"},
		flags: flagSuppressEmbeds | flagComponentsV2, webhook: true}
)

// draft judges a body that describes a message in the channel.
func (s *Server) draft(c *call, o object, path string, in where, channel *channel) draft {
	d := draft{message: &message{channel: channel.id, author: s.bot.id}}
	c.known(path, o, in.fields...)
	d.content = strings.TrimSpace(c.text(o, path, "content", 0, 2000, RuleContentLength))
	d.flags, _ = c.number(o, path, "flags", 0, 1<<31, RuleFlags)
	if d.flags&^in.flags != 0 {
		c.note(RuleFlags, "%s: the flags %d cannot be set here", path, d.flags&^in.flags)
		d.flags &= in.flags
	}
	d.nonce, d.enforce = c.nonceOf(o, path), c.flag(o, path, "enforce_nonce", RuleNonce)
	c.flag(o, path, "tts", RuleForm)
	d.embeds = c.embeds(o, path)
	d.components = c.components(o, path, (d.flags|in.had)&flagComponentsV2 != 0)
	d.allowed = c.allowedMentions(o, path, in.webhook)
	stickers := c.snowflakes(o, path, "sticker_ids", 3, RuleForm)
	for _, id := range stickers {
		d.stickers = append(d.stickers, object{"id": id, "name": "sticker", "format_type": 1})
	}
	s.draftFiles(c, o, path, &d)
	if d.flags&flagComponentsV2 != 0 && (d.content != "" || len(d.embeds) > 0 || len(d.stickers) > 0) {
		c.fail(join(path, "flags"), RuleFlags, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The content, embeds, stickers and poll fields cannot be used when using MessageFlags.IS_COMPONENTS_V2")
	}
	s.draftReference(c, o, path, &d, channel)
	return d
}

// empty reports whether there is nothing in the message.
func (d draft) empty() bool {
	return d.content == "" && len(d.embeds) == 0 && len(d.components) == 0 && len(d.files) == 0 && len(d.stickers) == 0 && len(d.snapshots) == 0
}

// Source: resources/message#create-message-json/form-params.
func (c *check) nonceOf(o object, path string) any {
	switch value := o["nonce"].(type) {
	case nil:
	case string:
		c.text(o, path, "nonce", 0, 25, RuleNonce)
		return value
	case json.Number:
		if len(value) > 25 || strings.ContainsAny(value.String(), ".eE") {
			c.fail(join(path, "nonce"), RuleNonce, "NONCE_TYPE_INVALID_TYPE", "Value must be an integer or a string of up to 25 characters.")
		}
		return value
	default:
		c.fail(join(path, "nonce"), RuleNonce, "NONCE_TYPE_INVALID_TYPE", "Value must be an integer or a string of up to 25 characters.")
	}
	return nil
}

// draftFiles reads the uploads and what the field attachments says of them.
// Source: reference#uploading-files, resources/message#attachment-object-attachment-request-structure.
func (s *Server) draftFiles(c *call, o object, path string, d *draft) {
	at := join(path, "attachments")
	if len(c.uploads) > 10 {
		c.fail("files", RuleFiles, "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
	}
	uploads := make(map[string]*file)
	for _, u := range c.uploads {
		if uploads[u.n] != nil {
			c.fail("files."+u.n, RuleFiles, "BASE_TYPE_BAD", "Each file must have a unique name.")
		}
		kind := u.kind
		if kind == "" || kind == "application/octet-stream" {
			kind = mime.TypeByExtension(filepath.Ext(u.name))
		}
		f := &file{id: s.id(), channel: d.channel, name: u.name, kind: kind, data: u.data}
		uploads[u.n] = f
		d.files = append(d.files, f)
	}
	_, d.listed = o["attachments"]
	c.each(c.list(o, path, "attachments", 10, RuleFiles), at, RuleFiles, func(a object, path string) {
		c.known(path, a, "id", "filename", "title", "description", "duration_secs", "waveform", "is_spoiler")
		description := c.text(a, path, "description", 0, 1024, RuleFiles)
		var id string
		switch value := a["id"].(type) {
		case string:
			id = value
		case json.Number:
			id = value.String()
		default:
			c.fail(join(path, "id"), RuleFiles, "BASE_TYPE_REQUIRED", "This field is required")
			return
		}
		if f := uploads[id]; f != nil {
			f.description = description
			if name := c.text(a, path, "filename", 0, 260, RuleFiles); name != "" {
				f.name = name
			}
			return
		}
		d.keepFiles = append(d.keepFiles, id)
	})
}

// draftReference reads what is answered or forwarded.
// Source: resources/message#message-reference-structure.
func (s *Server) draftReference(c *call, o object, path string, d *draft, channel *channel) {
	r := c.object(o, path, "message_reference", RuleReference)
	if r == nil {
		return
	}
	at := join(path, "message_reference")
	c.known(at, r, "type", "message_id", "channel_id", "guild_id", "fail_if_not_exists")
	kind, _ := c.number(r, at, "type", 0, 1, RuleReference)
	id, _ := r["message_id"].(string)
	in, _ := r["channel_id"].(string)
	if parseID(id) == 0 {
		c.fail(join(at, "message_id"), RuleReference, "NUMBER_TYPE_COERCE", "Value %v is not snowflake.", r["message_id"])
		return
	}
	m := s.messages[id]
	if kind == 1 {
		if m == nil || m.deleted || in != m.channel {
			c.fail(at, RuleReference, "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "A forward needs type, message_id and channel_id of a message that there is.")
			return
		}
		s.forward(d.message, m)
		return
	}
	if in != "" && in != channel.id {
		c.fail(at, RuleReference, "MESSAGE_REFERENCE_CHANNEL", "A reply is in the channel of the message.")
		return
	}
	must, present := r["fail_if_not_exists"].(bool)
	if m == nil || m.deleted || m.channel != channel.id || m.only != "" {
		if must || !present {
			c.errors = nonNil(c.errors)
			c.errors["message_reference"] = object{"_errors": []any{object{"code": "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "message": "Unknown message"}}}
		}
		return
	}
	d.replies = m
	d.reply(m, s.channels[m.channel].guild)
}

func nonNil(o object) object {
	if o == nil {
		return object{}
	}
	return o
}

// reply makes a message an answer.
func (m *message) reply(to *message, guild string) {
	m.kind, m.referenced = typeReply, to.id
	m.reference = object{"type": 0, "message_id": to.id, "channel_id": to.channel}
	if guild != "" {
		m.reference["guild_id"] = guild
	}
}

// forward makes a message a copy of another at this moment, without its author.
// Source: resources/message#message-reference-content-attribution-forwards.
func (s *Server) forward(m, of *message) {
	m.reference = object{"type": 1, "message_id": of.id, "channel_id": of.channel}
	if g := s.channels[of.channel].guild; g != "" {
		m.reference["guild_id"] = g
	}
	all := s.messageObject(of, true)
	copied := object{}
	for _, field := range []string{"content", "timestamp", "edited_timestamp", "attachments", "embeds", "type", "flags", "mentions", "mention_roles", "components", "sticker_items"} {
		if value, ok := all[field]; ok {
			copied[field] = value
		}
	}
	m.snapshots = []any{object{"message": copied}}
	m.flags |= flagSnapshot
}

// store puts a message into its channel and tells the sessions.
func (s *Server) store(m *message) { s.storeAs(s.id(), m) }

// storeAs is store for a message that shares its id: the first one of a post of a forum
// has that of the post.
func (s *Server) storeAs(id string, m *message) {
	m.id, m.at = id, s.now()
	c := s.channels[m.channel]
	for _, f := range m.files {
		s.files[f.id] = f
	}
	s.messages[m.id] = m
	c.messages = append(c.messages, m)
	c.archived = false
	if m.only == "" {
		c.last = m.id
	}
	s.dispatchMessage("MESSAGE_CREATE", m)
}

// remembered is the message that was sent with this nonce a few minutes ago.
// Source: resources/message#create-message-json/form-params, enforce_nonce.
func (s *Server) remembered(m *message) *message {
	s.nonces = slices.DeleteFunc(s.nonces, func(n nonce) bool { return s.now().Sub(n.at) > s.config.NonceFor })
	value := nonceText(m.nonce)
	for _, n := range s.nonces {
		if n.author == m.author && n.value == value {
			return n.message
		}
	}
	return nil
}

func (s *Server) remember(m *message) {
	if m.nonce != nil {
		s.nonces = append(s.nonces, nonce{author: m.author, value: nonceText(m.nonce), at: s.now(), message: m})
	}
}

func nonceText(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case json.Number:
		return value.String()
	}
	return ""
}
