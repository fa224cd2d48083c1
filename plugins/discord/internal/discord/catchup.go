package discord

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

const (
	// overlap is how far before the last message a channel is read again: two that were
	// written in the same moment can be told of in the other order.
	overlap = 5 * time.Second
	// fetched is how many messages of a channel are looked through, whatever they are.
	fetched = 3000
)

// catchUp fetches what was written in a channel while the bot was not told, if there is
// something. base is from where on a channel is read that never was.
func (s *session) catchUp(channel wire.Channel, base string) {
	after := s.seen.after(channel.ID, base)
	if after == "" || channel.LastMessageID == "" || !wire.Later(channel.LastMessageID, after) || !s.mayBeAnswered(channel) {
		return
	}
	s.lanes.push(channel.ID, true, func(ctx context.Context) { s.fetch(ctx, channel.ID, after) })
}

// mayBeAnswered reports whether anything that is written in a channel can be for the
// assistant, by the settings.
func (s *session) mayBeAnswered(channel wire.Channel) bool {
	switch channel.Type {
	case wire.ChannelCategory, wire.ChannelForum, wire.ChannelMedia:
		return false
	}
	of := s.account()
	return channel.Direct() || of.starts(spotOf(channel)) != startsNothing
}

// direct fetches what was written in direct messages: Discord does not tell of these when
// the bot connects. Those of the people who are named are opened, so that the first message
// of one who has never written before is found as well.
func (s *session) direct(base string) {
	of := s.account()
	for _, user := range append([]string{s.owner()}, of.Users...) {
		if user == "" {
			continue
		}
		channel, err := s.client().DM(s.ctx, user)
		if err != nil {
			s.p.host.Log.Debug("direct messages cannot be looked for", "user", user, "err", err)
			continue
		}
		s.channels.put(channel)
		s.catchUp(channel, base)
	}
	s.seen.live(s.ctx)
}

// fetch reads a channel from a message on, and deals with what was written since, the
// oldest first. What is too old, or too much, is left out, and the channel is told.
func (s *session) fetch(ctx context.Context, channel, after string) {
	var missed []wire.Message
	var all bool
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		var err error
		if missed, all, err = s.missed(ctx, channel, after); err == nil {
			break
		}
		if !rest.Passing(err) || ctx.Err() != nil {
			s.p.host.Log.Info("a channel cannot be read", "channel", channel, "err", err)
			return
		}
		s.p.host.Log.Warn("what was written while the bot was away cannot be fetched; trying again", "channel", channel, "err", err, "in", pause.String())
		if !s.rest(pause) {
			return
		}
	}
	of := s.account()
	taken := s.within(of, missed)
	left := 0
	for _, message := range missed[:len(missed)-len(taken)] {
		if s.meant(ctx, of, message) {
			left++
		}
	}
	if left > 0 || !all {
		s.tellLeft(ctx, channel, after, left, all)
	}
	if n := len(missed) - len(taken); n > 0 {
		s.seen.mark(channel, missed[n-1].ID)
	}
	for _, message := range taken {
		if ctx.Err() != nil {
			return
		}
		s.take(ctx, message, false)
	}
}

// missed are the messages of people in a channel behind one, the oldest first; all is false
// when there are more, older ones.
func (s *session) missed(ctx context.Context, channel, after string) (messages []wire.Message, all bool, err error) {
	from := wire.IDAt(wire.TimeOf(after).Add(-overlap))
	before := ""
	for looked := 0; looked < fetched; {
		page, err := s.client().MessagesBefore(ctx, channel, before, messagePage)
		if err != nil {
			return nil, false, err
		}
		looked += len(page)
		older := false
		for _, message := range slices.Backward(page) {
			if !wire.Later(message.ID, from) {
				older = true
				break
			}
			if s.readable(message) {
				messages = append(messages, message)
			}
		}
		if older || len(page) < messagePage {
			slices.Reverse(messages)
			return messages, true, nil
		}
		before = page[0].ID
	}
	slices.Reverse(messages)
	return messages, false, nil
}

// within are the messages that are not too old, and of these the newest that are not too
// many: those that are answered are counted.
func (s *session) within(of *account, missed []wire.Message) []wire.Message {
	oldest := time.Now().Add(-time.Duration(of.CatchUpHours) * time.Hour)
	from, counted := len(missed), 0
	for i, message := range slices.Backward(missed) {
		if wire.TimeOf(message.ID).Before(oldest) {
			break
		}
		if s.meant(s.ctx, of, message) {
			if counted == of.CatchUpMessages {
				break
			}
			counted++
		}
		from = i
	}
	return missed[from:]
}

// meant reports whether a message is for the assistant, and from somebody who may talk to
// it, as far as that is known without asking Discord.
func (s *session) meant(ctx context.Context, of *account, message wire.Message) bool {
	channel, err := s.channels.of(ctx, s.client(), message.ChannelID)
	if err != nil {
		return true
	}
	message.GuildID = channel.GuildID
	at := spotOf(channel)
	who := person{ID: message.Author.ID}
	if len(of.Roles) > 0 {
		who.Roles = of.Roles // they are asked for when the message is dealt with
	}
	return s.addressed(of, message, channel) && of.mayTalk(s.owner(), who, at)
}

// tellLeft tells a channel that not all that was written while the bot was away is answered.
func (s *session) tellLeft(ctx context.Context, channel, after string, left int, all bool) {
	if left == 0 {
		return
	}
	of := s.account()
	many := fmt.Sprintf("%d messages", left)
	if left == 1 {
		many = "1 message"
	}
	if !all {
		many = "At least " + many
	}
	said := fmt.Sprintf("I was away since <t:%d:R>. %s from then are older than %d h, or more than %d: I have not answered these. Send again what still matters.",
		wire.TimeOf(after).Unix(), many, of.CatchUpHours, of.CatchUpMessages)
	if _, err := s.client().Send(ctx, channel, rest.Message{Content: said, Nonce: nonce("away", channel+after, 0)}); err != nil {
		s.p.host.Log.Warn("a channel could not be told that messages were left out", "channel", channel, "left", left, "err", err)
	}
}
