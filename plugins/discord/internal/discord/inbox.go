package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	submitFirst = time.Second // before a submission is tried again
	submitMax   = time.Minute
	nameUnits   = 90
	// editable is how old a message may be that is edited and was not meant for the bot
	// before: later it is taken for a correction of something old.
	editable = 15 * time.Minute
)

// written takes in what was written.
func (s *session) written(message wire.Message) {
	if !s.readable(message) {
		return
	}
	s.seen.begin(message.ChannelID, message.ID)
	s.mu.Lock()
	gap := s.gaps[message.ChannelID]
	s.mu.Unlock()
	if gap {
		return // the channel is read from Discord in a moment, this message with it
	}
	if s.lanes.push(message.ChannelID, false, func(ctx context.Context) { s.take(ctx, message, false) }) {
		return
	}
	s.mu.Lock()
	s.gaps[message.ChannelID] = true
	s.mu.Unlock()
	s.lanes.push(message.ChannelID, true, func(ctx context.Context) {
		s.mu.Lock()
		delete(s.gaps, message.ChannelID)
		s.mu.Unlock()
		s.fetch(ctx, message.ChannelID, message.ID)
	})
}

// edited takes in that a message was changed. Discord tells the same when it has looked up
// a link, and then nothing was edited.
func (s *session) edited(message wire.Message) {
	if message.EditedTimestamp == nil || !s.readable(message) || time.Since(wire.TimeOf(message.ID)) > editable {
		return
	}
	s.lanes.push(message.ChannelID, false, func(ctx context.Context) { s.take(ctx, message, true) })
}

// readable reports whether a message is one that a person wrote. Bots are not listened to,
// so that two of them never talk to each other without end.
func (s *session) readable(message wire.Message) bool {
	if message.Author.ID == "" || message.Author.Bot || message.Author.System || message.WebhookID != "" || message.Author.ID == s.me() {
		return false
	}
	return message.Type == wire.MessageDefault || message.Type == wire.MessageReply
}

// recent are the messages that were dealt with not long ago, so that one that is told of
// twice is not read twice. What it has forgotten, the key of the submission catches.
type recent struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int
}

// recentMessages is how many messages are remembered.
const recentMessages = 512

func newRecent() *recent {
	return &recent{ids: make(map[string]bool, recentMessages), ring: make([]string, recentMessages)}
}

// add remembers a message, and reports whether it was not known.
func (r *recent) add(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids[id] {
		return false
	}
	delete(r.ids, r.ring[r.next])
	r.ring[r.next], r.ids[id] = id, true
	r.next = (r.next + 1) % len(r.ring)
	return true
}

// take deals with a message: it is given to the assistant, or it is none of its business.
// What may pass is tried again, and holds up only what comes after it in its channel.
func (s *session) take(ctx context.Context, message wire.Message, edit bool) {
	if !edit && !s.recent.add(message.ID) {
		return
	}
	for pause := submitFirst; ; pause = min(2*pause, submitMax) {
		err := s.deal(ctx, message)
		if ctx.Err() != nil {
			return // it is read again after the next start
		}
		if err == nil || !passing(err) {
			if err != nil {
				s.refused(ctx, message, err)
			}
			s.seen.mark(message.ChannelID, message.ID)
			return
		}
		s.p.host.Log.Warn("a message could not be taken in; trying again", "channel", message.ChannelID, "message", message.ID, "err", err, "in", pause.String())
		if !s.rest(pause) {
			return
		}
	}
}

// deal looks who has written and whether it is meant for the assistant, and submits it.
func (s *session) deal(ctx context.Context, message wire.Message) error {
	of := s.account()
	channel, err := s.channels.of(ctx, s.client(), message.ChannelID)
	if err != nil {
		return err
	}
	at := spotOf(channel)
	message.GuildID = channel.GuildID // a message that was fetched does not say
	if !s.addressed(of, message, channel) {
		return nil
	}
	who, err := s.author(ctx, of, message, at)
	if err != nil {
		return err
	}
	if !of.mayTalk(s.owner(), who, at) {
		return s.turnAway(ctx, of, message, who)
	}
	return s.submit(ctx, of, message, channel, who)
}

// addressed reports whether a message is meant for the assistant: in direct messages, in
// threads that the bot has opened for a question, and where everything is, each one; else
// those that mention it or answer it.
func (s *session) addressed(of *account, message wire.Message, channel wire.Channel) bool {
	at := spotOf(channel)
	if channel.Direct() {
		return true
	}
	starts := of.starts(at)
	if starts == startsNothing {
		return false
	}
	if starts == startsEverything || channel.Thread() && channel.OwnerID == s.me() {
		return true
	}
	self := s.me()
	if slices.ContainsFunc(message.Mentions, func(user wire.User) bool { return user.ID == self }) {
		return true
	}
	if role := s.channels.role(at.Guild); role != "" && slices.Contains(message.MentionRoles, role) {
		return true
	}
	return message.Type == wire.MessageReply && message.Referenced != nil && message.Referenced.Author.ID == self
}

// author is who wrote a message. Events have the member's roles; of a message that was
// fetched Discord is asked for them, where they matter.
func (s *session) author(ctx context.Context, of *account, message wire.Message, at spot) (person, error) {
	who := person{ID: message.Author.ID, Name: personName(message.Author)}
	if message.Member != nil {
		who.Roles = message.Member.Roles
		return who, nil
	}
	if at.Guild == "" || who.ID == s.owner() || len(of.Roles) == 0 {
		return who, nil
	}
	member, err := s.client().Member(ctx, at.Guild, who.ID)
	if rest.Gone(err) {
		return who, nil // they have left
	}
	who.Roles = member.Roles
	return who, err
}

// personName is what the agent is told of who writes: what they call themselves, and the
// name that is theirs alone, so that nobody passes for another.
func personName(user wire.User) string {
	shown := text.Name(user.GlobalName, nameUnits)
	if shown == "" || strings.EqualFold(shown, user.Username) {
		return user.Username
	}
	return fmt.Sprintf("%s (%s)", shown, user.Username)
}

// turnAway is what those get who may not talk to the assistant: silence, or one line.
func (s *session) turnAway(ctx context.Context, of *account, message wire.Message, who person) error {
	s.p.host.Log.Info("somebody who may not talk to the assistant was not answered", "user", who.ID, "name", who.Name, "channel", message.ChannelID, "message", message.ID)
	if of.Strangers != strangersLine {
		return nil
	}
	_, err := s.client().Send(ctx, message.ChannelID, rest.Message{
		Content: "I talk only to those whom my owner has named.", Nonce: nonce("stranger", message.ID, 0), ReplyTo: message.ID,
	})
	if err != nil && !rest.Passing(err) {
		return nil
	}
	return err
}

// refused tells who wrote a message that it will never be answered, and why.
func (s *session) refused(ctx context.Context, message wire.Message, cause error) {
	s.p.host.Log.Error("a message was not accepted", "channel", message.ChannelID, "message", message.ID, "err", cause)
	_, err := s.client().Send(ctx, message.ChannelID, rest.Message{
		Content: text.Clip("This message was not taken in: "+text.Escape(cause.Error()), text.Limit),
		Nonce:   nonce("refused", message.ID, 0), ReplyTo: message.ID,
	})
	if err != nil {
		s.p.host.Log.Warn("who wrote it could not be told", "channel", message.ChannelID, "err", err)
	}
}

// origin says in a message's metadata where on Discord it was written.
type origin struct {
	Guild   string `json:"guildId,omitempty"`
	Channel string `json:"channelId"`
	Message string `json:"messageId,omitempty"`
	User    string `json:"userId"`
}

// submit gives a message to the thread of its channel. Once accepted, it is answered,
// whatever happens to anybody. One that is known already, in other words, was edited.
func (s *session) submit(ctx context.Context, of *account, message wire.Message, channel wire.Channel, who person) error {
	words := s.words(message)
	if of.newThreads(spotOf(channel)) && channel.GuildID != "" && !channel.Thread() && !isCommand(words) {
		opened, err := s.open(ctx, message, words)
		if err != nil {
			return err
		}
		channel = opened
	}
	threadID, err := s.p.thread(ctx, of.sourceOf(s.owner(), who, spotOf(channel)), channel)
	if err != nil {
		return err
	}
	attached, left, err := s.attachments(ctx, of, message, threadID, who)
	if err != nil {
		return err
	}
	content := joined(words, left)
	if content == "" && len(attached) == 0 {
		return nil
	}
	if content == "" {
		content = "(no words, see what is attached)"
	}
	submission := pluginsdk.Submission{
		ThreadID: threadID, Source: of.sourceOf(s.owner(), who, spotOf(channel)), Key: message.ID, Author: who.Name, Content: content, Attachments: attached,
		Metadata: metadata(origin{Guild: channel.GuildID, Channel: message.ChannelID, Message: message.ID, User: who.ID}),
	}
	return s.p.give(ctx, submission, channel.ID, func(r *record) { r.Questions = []question{{message.ChannelID, message.ID}} })
}

// open makes a Discord thread of a question. One that was opened before is found again: it
// has the question's id.
func (s *session) open(ctx context.Context, message wire.Message, words string) (wire.Channel, error) {
	title := text.Name(words, nameUnits)
	if title == "" {
		title = "Question"
	}
	opened, err := s.client().StartThread(ctx, message.ChannelID, message.ID, title)
	if err != nil && !rest.Passing(err) {
		opened, err = s.client().Channel(ctx, message.ID)
	}
	if err == nil {
		s.channels.put(opened)
	}
	return opened, err
}

// metadata of a message; nothing in it can fail to be written as JSON.
func metadata(of origin) json.RawMessage {
	raw, _ := json.Marshal(map[string]origin{"discord": of})
	return raw
}

// isCommand reports whether what was written is one of Harness's commands.
func isCommand(words string) bool { return strings.HasPrefix(words, "/") }
