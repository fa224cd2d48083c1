package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
)

const (
	// lookedAt is how many messages of a channel are looked at, whatever they are.
	lookedAt = 3000
	// readers is how many channels are read at the same time: Discord bans those who ask
	// too much at once. Source: topics/rate-limits#invalid-request-limit-aka-cloudflare-bans.
	readers = 4
)

// catchUp reads what was written in a channel while the bot was not told, if there is
// something. From then on events tell of all that is written there.
func (s *session) catchUp(channel wire.Channel) {
	// An event of a direct message can come while its channel is looked up here. When it is
	// handled, either the channel is noted and its reading waits in its lane, or neither is so.
	s.filling.Lock()
	defer s.filling.Unlock()
	s.told(channel.ID)
	after, own := s.seen.after(channel.ID)
	// A channel with a mark of its own was at work not long ago: what was told of in
	// another order than it was written is found again.
	if channel.LastMessageID == "" || !own && !wire.Later(channel.LastMessageID, after) || !s.mayBeAnswered(channel) {
		return
	}
	s.read(channel.ID, channel.LastMessageID)
}

// told notes that events tell of all that is written in a channel, and reports whether they
// did already.
func (s *session) told(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.current[channel]
	s.current[channel] = true
	return before
}

// read puts the reading of a channel at the end of its lane. Up to the message away it was
// written while the bot was not told.
func (s *session) read(channel, away string) {
	s.seen.begin(channel, "")
	s.lanes.push(channel, true, func(ctx context.Context) { s.fetch(ctx, channel, away) })
}

// mayBeAnswered reports whether anything that is written in a channel can be for the
// assistant, by the settings.
func (s *session) mayBeAnswered(channel wire.Channel) bool {
	switch channel.Type {
	case wire.ChannelCategory, wire.ChannelForum, wire.ChannelMedia:
		return false
	}
	return channel.Direct() || s.account().starts(spotOf(channel)) != startsNothing
}

// direct reads what was written in direct messages: Discord does not tell of these when the
// bot connects. Those of the people who are named are opened, so that the first message of
// one who has never written before is found as well.
func (s *session) direct(context.Context) {
	for _, user := range append([]string{s.owner()}, s.account().Users...) {
		if user == "" {
			continue
		}
		var channel wire.Channel
		err := s.insist("direct messages cannot be looked for", func() (err error) {
			channel, err = s.client().DM(s.ctx, user)
			return err
		})
		switch {
		case s.ctx.Err() != nil:
			return
		case err != nil:
			s.p.host.Log.Info("direct messages cannot be looked for", "user", user, "err", err)
		default:
			s.channels.put(channel)
			s.catchUp(channel)
		}
	}
	s.mu.Lock()
	s.directs = true
	s.mu.Unlock()
}

// fetch reads a channel from its mark on, and deals with what was written since, the oldest
// first. Of what was written while the bot was away, what is too old or too much is left
// out, and the channel is told.
func (s *session) fetch(ctx context.Context, channel, away string) {
	mark, _ := s.seen.after(channel)
	missed, all, err := s.missed(ctx, channel, s.seen.before(mark))
	if err != nil {
		if ctx.Err() == nil {
			s.p.host.Log.Info("a channel cannot be read", "channel", channel, "err", err)
		}
		return
	}
	of := s.account()
	taken := s.within(of, missed, away)
	left := missed[:len(missed)-len(taken)]
	missing := 0
	for _, message := range left {
		if wire.Later(message.ID, mark) && s.meant(ctx, of, message) {
			missing++
		}
	}
	if !all {
		s.p.host.Log.Warn("more was written in a channel while the bot was away than is looked at", "channel", channel, "looked_at", lookedAt, "since", wire.TimeOf(mark))
	}
	if missing > 0 {
		s.tellLeft(ctx, of, channel, mark, missing, all)
	}
	if len(left) > 0 {
		s.seen.mark(channel, left[len(left)-1].ID)
	}
	s.takeAll(ctx, taken, s.turnedDown(missed))
}

// turnedDown are those of a channel's messages whose writers were told that they were not taken
// in, and have not edited them since. They stay so, whatever their writers may by now.
func (s *session) turnedDown(messages []wire.Message) map[string]bool {
	told := make(map[string]time.Time)
	for _, message := range messages {
		if message.Author.ID == s.me() && message.Reference != nil && strings.HasPrefix(message.Content, notTaken) {
			told[message.Reference.MessageID] = wire.TimeOf(message.ID)
		}
	}
	refused := make(map[string]bool)
	for _, message := range messages {
		at, is := told[message.ID]
		refused[message.ID] = is && (message.EditedTimestamp == nil || message.EditedTimestamp.Before(at))
	}
	return refused
}

// takeAll deals with messages that were read from Discord, but for those that were refused.
func (s *session) takeAll(ctx context.Context, messages []wire.Message, refused map[string]bool) {
	for _, message := range messages {
		if ctx.Err() != nil {
			return
		}
		if s.readable(message) && !refused[message.ID] {
			s.take(ctx, message)
		} else {
			s.seen.mark(message.ChannelID, message.ID)
		}
	}
}

// refill reads a channel of which more was told than its lane holds, from behind what the
// lane held on, page by page, until it has come to what the lane holds again.
func (s *session) refill(ctx context.Context, channel, after string) {
	defer s.gap(channel, false)
	if mark, _ := s.seen.after(channel); wire.Later(mark, after) {
		after = mark // another refill has come this far
	}
	for full := true; full && ctx.Err() == nil; {
		s.gap(channel, false) // what is written from now on is in the lane, or on this page
		var page []wire.Message
		err := s.reading("a channel cannot be read", func() (err error) {
			page, err = s.client().Messages(ctx, channel, after, messagePage)
			return err
		})
		if err != nil {
			s.p.host.Log.Error("messages are lost: there were too many at once, and the channel cannot be read", "channel", channel, "behind", after, "err", err)
			return
		}
		if full = len(page) == messagePage; full {
			s.gap(channel, true)
			after = page[len(page)-1].ID
		}
		s.takeAll(ctx, page, s.turnedDown(page))
	}
}

// gap notes whether a channel is being read, so that what is written there need not be put
// into its lane, and reports whether it was.
func (s *session) gap(channel string, is bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.gaps[channel]
	if is {
		s.gaps[channel] = true
	} else {
		delete(s.gaps, channel)
	}
	return before
}

// reading asks Discord for messages, a few at a time.
func (s *session) reading(what string, do func() error) error {
	return s.insist(what, func() error {
		select {
		case s.readers <- struct{}{}:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		defer func() { <-s.readers }()
		return do()
	})
}

// missed are the messages in a channel behind one, the oldest first; all is false when
// there are more, older ones.
func (s *session) missed(ctx context.Context, channel, behind string) (messages []wire.Message, all bool, err error) {
	before := ""
	for len(messages) < lookedAt {
		var page []wire.Message
		err := s.reading("what was written while the bot was away cannot be read", func() (err error) {
			page, err = s.client().MessagesBefore(ctx, channel, before, messagePage)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		newer := slices.IndexFunc(page, func(message wire.Message) bool { return wire.Later(message.ID, behind) })
		if newer < 0 {
			newer = len(page)
		}
		messages = append(slices.Clone(page[newer:]), messages...)
		if newer > 0 || len(page) < messagePage {
			return messages, true, nil
		}
		before = page[0].ID
	}
	return messages, false, nil
}

// within are the messages that are not too old, and of these the newest that are not too
// many: those that are answered are counted. Neither holds for what was written later than
// the message away.
func (s *session) within(of *account, missed []wire.Message, away string) []wire.Message {
	now := time.Now()
	if last := wire.TimeOf(away); last.After(now) {
		now = last // Discord's clock is ahead
	}
	oldest := now.Add(-time.Duration(of.CatchUpHours) * time.Hour)
	from, counted := len(missed), 0
	for i, message := range slices.Backward(missed) {
		if !wire.Later(message.ID, away) {
			if wire.TimeOf(message.ID).Before(oldest) {
				break
			}
			if s.meant(s.ctx, of, message) {
				if counted == of.CatchUpMessages {
					break
				}
				counted++
			}
		}
		from = i
	}
	return missed[from:]
}

// meant reports whether a message is for the assistant, and from somebody who may talk to
// it, as far as that is known without asking Discord.
func (s *session) meant(ctx context.Context, of *account, message wire.Message) bool {
	if !s.readable(message) {
		return false
	}
	channel, err := s.channels.of(ctx, s.client(), message.ChannelID)
	if err != nil {
		return true
	}
	message.GuildID = channel.GuildID
	who := person{ID: message.Author.ID, Roles: of.Roles} // which they have is asked when the message is dealt with
	return s.addressed(of, message, channel) && of.mayTalk(s.owner(), who, spotOf(channel))
}

// tellLeft tells a channel that not all that was written while the bot was away is answered.
func (s *session) tellLeft(ctx context.Context, of *account, channel, mark string, left int, all bool) {
	many := fmt.Sprintf("%d messages", left)
	if left == 1 {
		many = "1 message"
	}
	if !all {
		many = "at least " + many
	}
	said := fmt.Sprintf("I was away since <t:%d:R>, and have not answered %s from then: I go back %d h and %d messages at most. Send again what still matters.",
		wire.TimeOf(mark).Unix(), many, of.CatchUpHours, of.CatchUpMessages)
	err := s.insist("a channel cannot be told that messages were left out", func() error {
		_, err := s.client().Send(ctx, channel, rest.Message{Content: said, Nonce: nonce("away", channel+mark, 0)})
		return err
	})
	if err != nil {
		s.p.host.Log.Warn("a channel could not be told that messages were left out", "channel", channel, "left", left, "err", err)
	}
}
