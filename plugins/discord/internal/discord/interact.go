package discord

import (
	"context"
	"fmt"
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
// seconds.
func (s *session) interacted(i wire.Interaction) {
	s.lanes.push("interaction "+i.ID, false, func(ctx context.Context) {
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
	if !a.of.mayTalk(a.s.owner(), a.who, spotOf(a.at)) && !a.of.mayApprove(a.s.owner(), a.who) {
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
	a.s.p.host.Log.Info("somebody who may not talk to the assistant was not answered", "user", a.who.ID, "name", a.who.Name, "channel", a.i.ChannelID, "interaction", a.i.ID)
	if a.i.Type == wire.InteractionAutocomplete {
		a.reply(ctx, rest.Offer(nil))
		return
	}
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

// reply gives the first answer. False: Discord did not take it, and shows that itself.
func (a *act) reply(ctx context.Context, with rest.Response) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := a.s.client().Respond(ctx, a.i.ID, a.i.Token, with); err != nil {
		a.s.p.host.Log.Warn("an interaction could not be answered", "interaction", a.i.ID, "channel", a.i.ChannelID, "err", err)
		return false
	}
	return true
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
		target, ok := a.i.Data.Resolved.Messages[a.i.Data.TargetID]
		if !ok {
			target = wire.Message{ID: a.i.Data.TargetID}
		}
		a.reply(ctx, rest.Form(press.ID{Action: press.Ask, Of: a.i.ChannelID + "/" + target.ID}.String(), "Ask about this message",
			rest.Field{ID: press.Said, Label: "What do you want to know?", Placeholder: "Empty: what is to be said about it", Long: true}))
		return
	}
	if !a.reply(ctx, rest.Later(false)) {
		return // Discord has given it up, and has told so: nothing is done behind that
	}
	spec, ok := a.s.offers.command(a.i.Data.Name)
	if !ok { // before the list of commands was read
		spec = pluginsdk.Command{CommandSpec: pluginsdk.CommandSpec{Name: a.i.Data.Name}}
	}
	a.submit(ctx, slash.Text(spec, a.i.Data), nil)
}

// submit gives the assistant what an interaction says. What goes wrong is its answer.
func (a *act) submit(ctx context.Context, said string, attached []pluginsdk.Attachment) {
	from := a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at))
	thread, err := a.s.p.thread(ctx, from, a.at)
	if err == nil {
		err = a.s.p.give(ctx, pluginsdk.Submission{
			ThreadID: thread, Source: from, Key: a.i.ID, Author: a.who.Name, Content: said, Attachments: attached,
			Metadata: metadata(origin{Guild: a.i.GuildID, Channel: a.i.ChannelID, User: a.who.ID}),
		}, a.at.ID, func(r *record) {
			r.Answer = &pending{App: a.i.ApplicationID, Token: a.i.Token, Until: wire.TimeOf(a.i.ID).Add(tokenTime)}
		})
	}
	if err == nil {
		return
	}
	a.s.p.host.Log.Warn("a command was not taken in", "channel", a.i.ChannelID, "interaction", a.i.ID, "err", err)
	_, err = a.s.client().EditResponse(ctx, a.i.ApplicationID, a.i.Token, rest.Message{Content: text.Clip("This was not taken in: "+text.Escape(err.Error()), text.Limit)})
	if err != nil {
		a.s.p.host.Log.Warn("who gave it could not be told", "channel", a.i.ChannelID, "err", err)
	}
}

// suggest offers what an option that is being filled in can be.
func (a *act) suggest(ctx context.Context) {
	spec, ok := a.s.offers.command(a.i.Data.Name)
	if !ok || !a.of.mayTalk(a.s.owner(), a.who, spotOf(a.at)) {
		a.reply(ctx, rest.Offer(nil))
		return
	}
	option, typed, ok := slash.Focused(spec, a.i.Data)
	if !ok {
		a.reply(ctx, rest.Offer(nil))
		return
	}
	a.reply(ctx, rest.Offer(slash.Suggest(a.s.candidates(ctx, option, typed, a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at)) == sourceOwner), typed)))
}

// suggested is how many threads and tasks are looked at for suggestions.
const suggested = 100

// candidates are what an option can be. The names of threads and tasks are for the owner's
// places alone: they tell what the owner does elsewhere.
func (s *session) candidates(ctx context.Context, option pluginsdk.CommandOption, typed string, owners bool) (found []slash.Candidate) {
	ctx, cancel := context.WithTimeout(ctx, answerTime/2)
	defer cancel()
	switch {
	case option.Type == pluginsdk.OptionModel:
		for _, model := range []string{"haiku", "sonnet", "opus"} {
			found = append(found, slash.Candidate{Value: model})
		}
	case option.Type == pluginsdk.OptionThread && owners:
		list, err := s.p.host.Threads.List(ctx, &pluginsdk.ListThreadsRequest{Query: pluginsdk.ThreadQuery{Order: pluginsdk.ActivityFirst, Limit: suggested}})
		if err != nil {
			return nil
		}
		for _, thread := range list.Threads {
			found = append(found, slash.Candidate{Value: thread.ID, Name: thread.Name})
		}
	case option.Type == pluginsdk.OptionTask && owners:
		list, err := s.p.host.Tasks.List(ctx, &pluginsdk.ListTasksRequest{Query: pluginsdk.TaskQuery{Newest: true, Limit: suggested}})
		if err != nil {
			return nil
		}
		for _, task := range list.Tasks {
			found = append(found, slash.Candidate{Value: task.ID, Name: fmt.Sprintf("%s: %s", task.Status, task.OriginalMessage)})
		}
	default:
		found = slash.Choices(option)
	}
	return found
}
