package discord

import (
	"context"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/slash"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// answerTime bounds the first answer to an interaction, for which Discord waits three
	// seconds. Source: interactions/receiving-and-responding#interaction-callback.
	answerTime = 3 * time.Second
	// answerPause is between two attempts to give it.
	answerPause = 100 * time.Millisecond
	// actTime bounds all of it. What was begun is finished also when the session ends: the
	// person was told that it is seen to.
	actTime = time.Minute
	// submitTime is how long a command is submitted again and again: one that comes late may
	// stop what was begun after it.
	submitTime = 10 * time.Second
	// insistPause is the longest wait between two attempts.
	insistPause = 5 * time.Second
)

const (
	notForYou  = "I talk only to those whom my owner has named."
	notYours   = "You may not decide this: my owner names who may."
	noSuchPush = "This button is of another time, and does nothing any more."
)

// act is one interaction while it is dealt with.
type act struct {
	s   *session
	i   wire.Interaction
	of  *account
	who person
	at  wire.Channel
}

// interacted deals with what somebody did, beside everything else: Discord waits for three
// seconds. What is told of twice was done once.
func (s *session) interacted(i wire.Interaction) {
	if !s.recent.add(i.ID) {
		return
	}
	s.lanes.push("interaction "+i.ID, false, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), actTime)
		defer cancel()
		a := &act{s: s, i: i, of: s.account(), who: person{ID: i.By().ID, Name: personName(i.By())}}
		if i.Member != nil {
			a.who.Roles = i.Member.Roles
		}
		a.at = s.where(i)
		a.deal(ctx)
	})
}

// where is the channel of an interaction, without asking Discord.
func (s *session) where(i wire.Interaction) wire.Channel {
	if known, ok := s.channels.known(i.ChannelID); ok {
		return known
	}
	at := wire.Channel{ID: i.ChannelID, GuildID: i.GuildID}
	if i.Channel != nil {
		at = *i.Channel
		at.GuildID = i.GuildID
	}
	if i.GuildID == "" {
		at.Type = wire.ChannelDM
	}
	return at
}

func (a *act) deal(ctx context.Context) {
	mayAct := a.of.mayTalk(a.s.owner(), a.who, spotOf(a.at)) || a.of.mayApprove(a.s.owner(), a.who)
	if !mayAct || a.i.Context == wire.ContextPrivate { // in a conversation of others it might speak to these as well
		a.turnAway(ctx)
		return
	}
	switch a.i.Type {
	case wire.InteractionAutocomplete:
		a.suggest(ctx)
	case wire.InteractionCommand:
		if a.mayTalk(ctx) {
			a.command(ctx)
		}
	case wire.InteractionComponent, wire.InteractionModal:
		a.pressed(ctx)
	}
}

// turnAway answers somebody who may do nothing here. Discord wants an answer: it is one
// line that nobody else sees.
func (a *act) turnAway(ctx context.Context) {
	if a.i.Type == wire.InteractionAutocomplete {
		a.reply(ctx, rest.Offer(nil))
		return
	}
	a.s.p.host.Log.Info("somebody who may not talk to the assistant was not answered", "user", a.who.ID, "name", a.who.Name, "channel", a.i.ChannelID, "interaction", a.i.ID)
	a.reply(ctx, rest.Whisper(notForYou))
}

// mayTalk reports whether who did it may talk to the assistant here, and tells them if not.
func (a *act) mayTalk(ctx context.Context) bool {
	if a.of.mayTalk(a.s.owner(), a.who, spotOf(a.at)) {
		return true
	}
	a.turnAway(ctx)
	return false
}

// mayApprove reports whether who did it may answer for the agent, and tells them if not.
func (a *act) mayApprove(ctx context.Context) bool {
	if a.of.mayApprove(a.s.owner(), a.who) {
		return true
	}
	a.s.p.host.Log.Info("somebody who may not decide was refused", "user", a.who.ID, "name", a.who.Name, "channel", a.i.ChannelID, "pressed", a.i.Data.CustomID)
	a.reply(ctx, rest.Whisper(notYours))
	return false
}

// reply gives the first answer. False: Discord did not take it, and shows that itself. An
// answer of which it is not known whether it arrived is given again.
func (a *act) reply(ctx context.Context, with rest.Response) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for again := false; ; again = true {
		err := a.s.client().Respond(ctx, a.i.ID, a.i.Token, with)
		if err == nil || again && rest.Acknowledged(err) {
			return true
		}
		if !rest.Passing(err) || !pause(ctx, answerPause) {
			a.s.p.host.Log.Warn("an interaction could not be answered", "interaction", a.i.ID, "channel", a.i.ChannelID, "err", err)
			return false
		}
	}
}

// pause waits; false: the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// whisper tells who did it something more, and nobody else.
func (a *act) whisper(ctx context.Context, said string) {
	_, err := a.s.client().Followup(ctx, a.i.ApplicationID, a.i.Token, rest.Message{Content: text.Clip(said, text.Limit), Ephemeral: true})
	if err != nil {
		a.s.p.host.Log.Warn("somebody could not be told what became of a press", "channel", a.i.ChannelID, "err", err)
	}
}

// command gives a command as if it was typed. Its answer comes by Deliver, and takes the
// place that Discord keeps for it.
func (a *act) command(ctx context.Context) {
	if a.i.Data.Type == wire.CommandMessage {
		a.s.asked.keep(a.i.Data.Resolved.Messages[a.i.Data.TargetID])
		a.reply(ctx, rest.Form(press.ID{Action: press.Ask, Of: a.i.ChannelID + "/" + a.i.Data.TargetID}.String(), "Ask about this message",
			rest.Field{ID: press.Said, Label: "What do you want to know?", Placeholder: "Empty: what is to be said about it", Long: true}))
		return
	}
	if !a.reply(ctx, rest.Later(false)) {
		return // Discord has given it up, and has told so: nothing is done behind that
	}
	a.question(ctx, slash.Text(a.s.offers.command(ctx, a.i.Data.Name), a.i.Data), nil)
}

// question submits what an interaction says whose answer has been put off. What the
// assistant says takes the place of that answer; so does what goes wrong. Deliveries to the
// channel wait: one that answers an attempt whose outcome is not known must find the record.
func (a *act) question(ctx context.Context, said string, attached []pluginsdk.Attachment) {
	noted := false
	submit := func() error {
		return a.submit(ctx, a.i.ID, said, attached, func(r *record) {
			noted = true
			r.Answer = &pending{App: a.i.ApplicationID, Token: a.i.Token, Until: wire.TimeOf(a.i.ID).Add(tokenTime)}
		})
	}
	over := a.s.p.at.begin(a.at.ID)
	err := a.insist(ctx, submitTime, submit)
	over()
	switch {
	case err != nil:
		a.refuse(ctx, err)
	case !noted: // an attempt that seemed to fail has submitted it, and its run is over
		a.settle(ctx, "The answer to this is a message below.")
	}
}

// submit gives the assistant what an interaction says, once for each key. note fills in
// what is to be known of its run.
func (a *act) submit(ctx context.Context, key, said string, attached []pluginsdk.Attachment, note func(*record)) error {
	from := a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at))
	thread, err := a.s.p.thread(ctx, from, a.at)
	if err != nil {
		return err
	}
	return a.s.p.give(ctx, pluginsdk.Submission{
		ThreadID: thread, Source: from, Key: key, Author: a.who.Name, Content: said, Attachments: attached,
		Scope:    a.of.scope(a.s.owner(), a.who),
		Metadata: metadata(origin{Guild: a.i.GuildID, Channel: a.i.ChannelID, User: a.who.ID}),
	}, a.at.ID, note)
}

// insist does something again as long as what goes wrong may pass, the session lasts and the
// time is not over: the database is away for a moment, or Discord is. Of what is full nobody
// knows when it is not any more, and who asked waits: that is no reason to do it again.
func (a *act) insist(ctx context.Context, during time.Duration, do func() error) error {
	waiting, stop := context.WithTimeout(ctx, during)
	defer stop()
	defer context.AfterFunc(a.s.ctx, stop)()
	for wait := a.s.p.pace; ; wait = min(2*wait, insistPause) {
		err := do()
		if err == nil || !passing(err) || pluginsdk.CodeOf(err) == pluginsdk.CodeExhausted || !pause(waiting, wait) {
			return err
		}
		a.s.p.host.Log.Warn("what somebody asked for cannot be seen to; trying again", "channel", a.i.ChannelID, "interaction", a.i.ID, "err", err)
	}
}

// refuse says in the place of the answer that was put off that there will be none.
func (a *act) refuse(ctx context.Context, why error) {
	a.s.p.host.Log.Warn("what somebody asked for was not taken in", "channel", a.i.ChannelID, "interaction", a.i.ID, "err", why)
	a.settle(ctx, text.Clip("This was not taken in: "+text.Escape(why.Error()), text.Limit))
}

// settle puts words in the place of the answer that was put off, also when there is no time left.
func (a *act) settle(ctx context.Context, words string) {
	ctx = context.WithoutCancel(ctx)
	err := a.insist(ctx, actTime, func() error {
		ctx, cancel := context.WithTimeout(ctx, showTime)
		defer cancel()
		_, err := a.s.client().EditResponse(ctx, a.i.ApplicationID, a.i.Token, rest.Message{Content: words})
		return err
	})
	if err != nil {
		a.s.p.host.Log.Warn("who asked for it could not be told", "channel", a.i.ChannelID, "err", err)
	}
}

// asked keeps the last messages that somebody is about to ask something about, until the
// form comes: without the intent for it the bot reads them in no other way.
// Source: events/gateway#message-content-intent.
type asked struct {
	mu   sync.Mutex
	byID map[string]wire.Message
	ring [askedMessages]string
	next int
}

const askedMessages = 64

func (k *asked) keep(message wire.Message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if message.ID == "" {
		return
	}
	if _, ok := k.byID[message.ID]; !ok {
		delete(k.byID, k.ring[k.next])
		k.ring[k.next] = message.ID
		k.next = (k.next + 1) % askedMessages
	}
	k.byID[message.ID] = message
}

// message is one that was kept, or as Discord tells of it.
func (k *asked) message(ctx context.Context, client *rest.Client, channel, id string) (wire.Message, error) {
	k.mu.Lock()
	message, ok := k.byID[id]
	k.mu.Unlock()
	if ok {
		return message, nil
	}
	return client.Message(ctx, channel, id)
}
