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
	nameUnits = 90
	// notTaken begins what somebody is told whose message will never be answered.
	notTaken = "This message was not taken in: "
	// editable is how old a message may be that is edited: later it is taken for a
	// correction of something old.
	editable = 15 * time.Minute
)

// written takes in what was written.
func (s *session) written(message wire.Message) {
	if !s.readable(message) {
		return
	}
	s.filling.Lock()
	defer s.filling.Unlock()
	if !s.told(message.ChannelID) {
		// A direct message, or a thread that is opened again: others may be before it of
		// which nobody has told.
		s.read(message.ChannelID, wire.Before(message.ID))
	}
	s.seen.begin(message.ChannelID, wire.Before(message.ID))
	s.mu.Lock()
	gap := s.gaps[message.ChannelID]
	s.mu.Unlock()
	if gap {
		return // the channel is being read, this message with it
	}
	if !s.lanes.push(message.ChannelID, false, func(ctx context.Context) { s.take(ctx, message) }) {
		s.gap(message.ChannelID, true)
		s.lanes.push(message.ChannelID, true, func(ctx context.Context) { s.refill(ctx, message.ChannelID, wire.Before(message.ID)) })
	}
}

// edited takes in that a message was changed. Discord tells the same when it has looked up
// a link, and then nothing was edited.
func (s *session) edited(message wire.Message) {
	if message.EditedTimestamp == nil || !s.readable(message) || time.Since(wire.TimeOf(message.ID)) > editable {
		return
	}
	s.mu.Lock()
	_, waits := s.edits[message.ID]
	s.edits[message.ID] = message
	s.mu.Unlock()
	if !waits {
		s.lanes.push(message.ChannelID, true, func(ctx context.Context) { s.correct(ctx, message) })
	}
}

// readable reports whether a message is one that a person wrote. Bots are not listened to,
// so that two of them never talk to each other without end.
func (s *session) readable(message wire.Message) bool {
	if message.Author.ID == "" || message.Author.Bot || message.Author.System || message.WebhookID != "" || message.Author.ID == s.me() {
		return false
	}
	return message.Type == wire.MessageDefault || message.Type == wire.MessageReply
}

// recent are the messages and interactions that were dealt with not long ago, so that one that
// is told of twice is not dealt with twice. What it has forgotten, the key of the submission
// catches.
type recent struct {
	mu   sync.Mutex
	ids  map[string]bool
	ring []string
	next int
}

// recentLength is how many messages and interactions are remembered.
const recentLength = 512

func newRecent() *recent {
	return &recent{ids: make(map[string]bool, recentLength), ring: make([]string, recentLength)}
}

// has reports whether a message or interaction is known.
func (r *recent) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}

// add remembers a message or interaction, and reports whether it was not known.
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
func (s *session) take(ctx context.Context, message wire.Message) {
	if s.recent.add(message.ID) {
		s.mu.Lock()
		if now, ok := s.edits[message.ID]; ok { // while it waited in the lane
			message = now
		}
		s.mu.Unlock()
		s.deal(&intake{message: message})
	}
	if ctx.Err() == nil { // else it is read again after the next start
		s.seen.mark(message.ChannelID, message.ID)
	}
}

// correct deals with an edit of a message that was dealt with.
func (s *session) correct(_ context.Context, message wire.Message) {
	s.mu.Lock()
	if now, ok := s.edits[message.ID]; ok {
		message = now
	}
	delete(s.edits, message.ID)
	s.mu.Unlock()
	s.deal(&intake{message: message, edit: true})
}

// intake is a message while it is dealt with: what was done of it is not done again when
// something after it fails.
type intake struct {
	message wire.Message
	edit    bool
	of      *account // the settings by which it is dealt with
	channel wire.Channel
	at      spot
	who     person
	may     bool // who wrote it may talk to the assistant here
	files   intakeFiles
}

// deal takes a message in. What keeps it out for good is told to who wrote it, if they may
// talk to the assistant at all.
func (s *session) deal(in *intake) {
	err := s.insist("a message cannot be taken in", func() error { return s.attempt(in) })
	if err == nil || s.ctx.Err() != nil {
		return
	}
	s.p.host.Log.Error("a message was not accepted", "channel", in.message.ChannelID, "message", in.message.ID, "err", err)
	if in.may {
		s.sayRefused(in.message, err)
	}
}

// attempt looks who has written and whether it is meant for the assistant, and submits it.
func (s *session) attempt(in *intake) (err error) {
	ctx := s.ctx
	in.of = s.account()
	if in.channel, err = s.channels.of(ctx, s.client(), in.message.ChannelID); err != nil {
		return err
	}
	in.at = spotOf(in.channel)
	in.message.GuildID = in.channel.GuildID // a message that was fetched does not say
	addressed := s.addressed(in.of, in.message, in.channel)
	if !addressed && !in.edit {
		return nil
	}
	if err := s.identify(ctx, in); err != nil {
		return err
	}
	switch {
	case in.may && in.edit:
		known, err := s.amend(ctx, in)
		if err != nil || known || !addressed {
			return err
		}
	case !in.may && in.edit:
		return nil
	case !in.may:
		return s.turnAway(ctx, in)
	}
	return s.submit(ctx, in)
}

// addressed reports whether a message is meant for the assistant: in direct messages, in
// threads that the bot has opened for a question, and where everything is, each one; else
// those that mention it or answer it.
func (s *session) addressed(of *account, message wire.Message, channel wire.Channel) bool {
	at := spotOf(channel)
	if channel.Direct() {
		return true
	}
	self, starts := s.me(), of.starts(at)
	switch {
	case starts == startsNothing:
		return false
	case slices.ContainsFunc(message.Mentions, func(user wire.User) bool { return user.ID == self }):
		return true
	case !s.reads():
		return false // Discord does not tell what it says
	case starts == startsEverything, channel.Thread() && channel.OwnerID == self:
		return true
	}
	if role := s.channels.role(at.Guild); role != "" && slices.Contains(message.MentionRoles, role) {
		return true
	}
	return message.Type == wire.MessageReply && message.Referenced != nil && message.Referenced.Author.ID == self
}

// reads reports whether Discord tells the bot what messages say that do not mention it.
func (s *session) reads() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content
}

// identify finds out who wrote a message, and whether they may talk to the assistant. Events
// have the member's roles; of a message that was fetched Discord is asked for them, where
// they decide.
func (s *session) identify(ctx context.Context, in *intake) error {
	owner, message := s.owner(), in.message
	in.who = person{ID: message.Author.ID, Name: personName(message.Author)}
	if message.Member != nil {
		in.who.Roles = message.Member.Roles
	}
	in.may = in.of.mayTalk(owner, in.who, in.at)
	asAll := person{ID: in.who.ID, Roles: slices.Concat(in.of.Roles, in.of.Approvers, in.of.Workers)}
	if message.Member != nil || in.at.Guild == "" || !in.of.mayTalk(owner, asAll, in.at) || in.may && in.of.scope(owner, in.who) == in.of.scope(owner, asAll) {
		return nil
	}
	member, err := s.client().Member(ctx, in.at.Guild, in.who.ID)
	switch {
	case rest.Passing(err):
		return err
	case err != nil: // they have left
		s.p.host.Log.Info("the roles of somebody are not known", "user", in.who.ID, "guild", in.at.Guild, "err", err)
		return nil
	}
	in.who.Roles = member.Roles
	in.may = in.of.mayTalk(owner, in.who, in.at)
	return nil
}

// personName is what the agent is told of who writes: what they call themselves, and the
// name that is theirs alone, so that nobody passes for another.
func personName(user wire.User) string {
	shown := text.Name(strings.NewReplacer("(", "", ")", "").Replace(user.GlobalName), nameUnits)
	own := strings.Join(strings.Fields(user.Username), " ")
	if shown == "" || strings.EqualFold(shown, own) {
		return own
	}
	return fmt.Sprintf("%s (%s)", shown, own)
}

// turnAway is what those get who may not talk to the assistant: silence, or one line, once
// in a channel.
func (s *session) turnAway(ctx context.Context, in *intake) error {
	message := in.message
	s.p.host.Log.Info("somebody who may not talk to the assistant was not answered", "user", in.who.ID, "name", in.who.Name, "channel", message.ChannelID, "message", message.ID)
	if in.of.Strangers != strangersLine || s.warned.has(in.who.ID+" "+message.ChannelID) {
		return nil
	}
	_, err := s.client().Send(ctx, message.ChannelID, rest.Message{Content: notForYou, Nonce: nonce("stranger", message.ID, 0), ReplyTo: message.ID})
	if rest.Passing(err) {
		return err
	}
	s.warned.add(in.who.ID + " " + message.ChannelID)
	return nil
}

// sayRefused tells who wrote a message that it will never be answered, and why.
func (s *session) sayRefused(message wire.Message, cause error) {
	edition := 0 // each is refused for itself
	if message.EditedTimestamp != nil {
		edition = int(message.EditedTimestamp.Unix())
	}
	err := s.insist("who wrote a message cannot be told that it was not taken in", func() error {
		_, err := s.client().Send(s.ctx, message.ChannelID, rest.Message{
			Content: text.Clip(notTaken+text.Escape(cause.Error()), text.Limit),
			Nonce:   nonce("refused", message.ID, edition), ReplyTo: message.ID,
		})
		return err
	})
	if err != nil {
		s.p.host.Log.Warn("who wrote a message could not be told that it was not taken in", "channel", message.ChannelID, "err", err)
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
func (s *session) submit(ctx context.Context, in *intake) error {
	message, said := in.message, s.said(in.message)
	if in.of.newThreads(in.at) && in.channel.GuildID != "" && !in.channel.Thread() && !isCommand(said) {
		if err := s.open(ctx, in, said); err != nil {
			return err
		}
	}
	source := in.of.sourceOf(s.owner(), in.who, in.at)
	threadID, err := s.p.thread(ctx, source, in.channel)
	if err != nil {
		return err
	}
	if err := s.takeFiles(ctx, &in.files, in.of, message, threadID, in.who); err != nil {
		return err
	}
	content := joined(s.words(message), in.files.left)
	if content == "" {
		content = noWords
	}
	submission := pluginsdk.Submission{
		ThreadID: threadID, Source: source, Key: message.ID, Author: in.who.Name, Content: content, Attachments: in.files.taken,
		Scope:    in.of.scope(s.owner(), in.who),
		Metadata: metadata(origin{Guild: in.channel.GuildID, Channel: message.ChannelID, Message: message.ID, User: in.who.ID}),
	}
	return s.p.give(ctx, submission, in.channel.ID, func(r *record) {
		if asked := (question{message.ChannelID, message.ID}); !slices.Contains(r.Questions, asked) {
			r.Questions = append(r.Questions, asked)
		}
	})
}

// noWords stands for a message that says nothing that can be read: a mention alone, a poll,
// files.
const noWords = "(no words)"

// amend changes the words of a message that was edited; false: it was never submitted. Its
// files stay what they are.
func (s *session) amend(ctx context.Context, in *intake) (known bool, err error) {
	_, left := fitting(in.of, in.message)
	content := joined(s.words(in.message), left)
	if content == "" {
		content = noWords
	}
	_, err = s.p.amend(ctx, in.of.sourceOf(s.owner(), in.who, in.at), in.message.ID, content)
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return false, nil
	}
	return true, err
}

// open makes a Discord thread of a question. One that was opened before is found again: it
// has the question's id. Where none can be opened, the question is answered in its channel.
func (s *session) open(ctx context.Context, in *intake, said string) error {
	title := text.Name(said, nameUnits)
	if title == "" {
		title = "Question"
	}
	opened, err := s.client().StartThread(ctx, in.message.ChannelID, in.message.ID, title)
	if err != nil && !rest.Passing(err) {
		refusal := err
		if opened, err = s.client().Channel(ctx, in.message.ID); err != nil && !rest.Passing(err) {
			s.p.host.Log.Warn("no thread can be opened for a question; it is answered in the channel", "channel", in.message.ChannelID, "message", in.message.ID, "err", refusal)
			return nil
		}
	}
	if err != nil {
		return err
	}
	s.channels.put(opened)
	in.channel = opened
	return nil
}

// metadata of a message; nothing in it can fail to be written as JSON.
func metadata(of origin) json.RawMessage {
	raw, _ := json.Marshal(map[string]origin{"discord": of})
	return raw
}

// isCommand reports whether what was written is one of Harness's commands.
func isCommand(said string) bool {
	_, _, is := pluginsdk.ParseCommand(said)
	return is
}
