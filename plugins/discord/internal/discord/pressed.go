package discord

import (
	"context"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// pressed does what a button or a form of the bot's own messages stands for.
func (a *act) pressed(ctx context.Context) {
	id, ok := press.Decode(a.i.Data.CustomID)
	if !ok {
		a.reply(ctx, rest.Whisper(noSuchPush))
		return
	}
	switch id.Action {
	case press.Stop, press.Retry, press.Continue, press.Go, press.Ask, press.Type:
		if a.mayTalk(ctx) {
			a.control(ctx, id)
		}
	case press.Approve, press.Deny, press.Words, press.Answer, press.Answers, press.Accept, press.Reject, press.Feedback:
		if a.mayApprove(ctx) {
			a.decide(ctx, id)
		}
	}
}

// control does what those may who may talk to the assistant.
func (a *act) control(ctx context.Context, id press.ID) {
	switch id.Action { //nolint:exhaustive // the others are decide's
	case press.Stop:
		a.does(ctx, func(ctx context.Context) error { return a.stop(ctx, id.Of) })
	case press.Retry:
		a.does(ctx, func(ctx context.Context) error { return a.retry(ctx, id.Of) })
	case press.Continue:
		a.does(ctx, a.goOn)
	case press.Go:
		a.does(ctx, func(ctx context.Context) error { return a.resume(ctx, id.Of) })
	case press.Ask:
		a.ask(ctx, id.Of)
	case press.Type:
		a.does(ctx, func(ctx context.Context) error { return a.types(ctx, id) })
	}
}

// does sees to a press at once, and tells who pressed what went wrong.
func (a *act) does(ctx context.Context, what func(context.Context) error) {
	if !a.reply(ctx, rest.Nothing()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	if err := what(ctx); err != nil {
		a.whisper(ctx, text.Escape(err.Error()))
	}
}

// stop ends a run that was asked for in this channel.
func (a *act) stop(ctx context.Context, run string) error {
	of, ok, err := a.s.p.runs.get(ctx, run)
	if err != nil {
		return err
	}
	if !ok || of.Channel != a.i.ChannelID {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "it is over already")
	}
	_, err = a.s.p.host.Runs.Cancel(ctx, &pluginsdk.CancelRunRequest{ID: run, Author: a.who.Name})
	return err
}

// retry has a run of this channel's thread once more, and takes the buttons away.
func (a *act) retry(ctx context.Context, run string) error {
	found, err := a.s.p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: run})
	if err != nil {
		return err
	}
	thread, err := a.s.p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: found.Run.ThreadID})
	if err != nil {
		return err
	}
	if thread.Thread.SourceID != a.i.ChannelID {
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "it was asked for somewhere else")
	}
	again, err := a.again(ctx, run)
	if err != nil {
		return err
	}
	if again.Existed { // somebody was faster, who has taken the buttons away
		return pluginsdk.Errorf(pluginsdk.CodeStale, "it was tried again already")
	}
	return a.close(ctx, "tried again by "+a.who.Name)
}

// again has a run once more. Its answer waits until it is noted where it goes.
func (a *act) again(ctx context.Context, run string) (pluginsdk.Accepted, error) {
	defer a.s.p.at.begin(a.i.ChannelID)()
	again, err := a.s.p.host.Runs.Retry(ctx, &pluginsdk.RetryRunRequest{ID: run, Author: a.who.Name, Scope: a.of.scope(a.s.owner(), a.who)})
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if again.Accepted.Existed {
		begun, err := a.s.p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: again.Accepted.RunID})
		if err != nil || begun.Run.State.Final() {
			return again.Accepted, err
		}
	}
	return again.Accepted, a.s.p.runs.begin(ctx, again.Accepted.RunID, func(r *record) { r.Thread, r.Channel = again.Accepted.ThreadID, a.i.ChannelID })
}

// goOn has the agent go on after it was stopped, once for each message that offers it.
func (a *act) goOn(ctx context.Context) error {
	key := a.i.ID
	if a.i.Message != nil {
		key = "continue/" + a.i.Message.ID
	}
	if err := a.submit(ctx, key, "Go on where you were stopped.", nil, func(*record) {}); err != nil {
		return err
	}
	return a.close(ctx, "continued by "+a.who.Name)
}

// close takes the buttons of the message away that was pressed, and says why.
func (a *act) close(ctx context.Context, why string) error { return a.closeBut(ctx, why, nil) }

// closeBut is close for a message of which some buttons stay.
func (a *act) closeBut(ctx context.Context, why string, stay []discordgo.MessageComponent) error {
	if a.i.Message == nil {
		return nil
	}
	line := "-# " + text.Escape(why)
	said := joined(text.Clip(a.i.Message.Content, text.Limit-text.Units(line)-2), line)
	_, err := a.s.client().Edit(ctx, a.i.ChannelID, a.i.Message.ID, rest.Message{Content: said, Components: present(stay)})
	return gone(err)
}

// ask submits a question about a message, from the form that was opened in its menu.
func (a *act) ask(ctx context.Context, of string) {
	channel, id, _ := strings.Cut(of, "/")
	if channel != a.i.ChannelID {
		a.reply(ctx, rest.Whisper(noSuchPush))
		return
	}
	if !a.reply(ctx, rest.Later(false)) {
		return
	}
	var about wire.Message
	err := a.insist(ctx, submitTime, func() (err error) {
		about, err = a.s.asked.message(ctx, a.s.client(), channel, id)
		return err
	})
	if err != nil {
		a.refuse(ctx, pluginsdk.Errorf(rest.Code(err), "the message cannot be read: %w", err))
		return
	}
	said := a.i.Data.Field(press.Said).Value
	if strings.TrimSpace(said) == "" {
		said = "What is to be said about this message?"
	}
	var thread string
	err = a.insist(ctx, submitTime, func() (err error) {
		thread, err = a.s.p.thread(ctx, a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at)), a.at)
		return err
	})
	if err != nil {
		a.refuse(ctx, err)
		return
	}
	attached, left, err := a.s.attachments(ctx, a.of, about, thread, a.who)
	if err != nil {
		a.s.p.host.Log.Warn("the files of a message that is asked about were not taken in", "message", id, "err", err)
		left = "[its files could not be taken in]"
	}
	a.question(ctx, joined("About this message of "+personName(about.Author)+":\n"+a.whole(about), said, left), attached)
}

// whole is all that a message says, as a quotation.
func (a *act) whole(message wire.Message) string {
	said := content(message.Content, message.Embeds)
	for _, forwarded := range message.Snapshots {
		said = joined(said, "Forwarded:", content(forwarded.Message.Content, forwarded.Message.Embeds))
	}
	said = strings.TrimSpace(a.s.plain(said, a.i.GuildID, message.Mentions))
	if said == "" {
		said = "(nothing to read)"
	}
	return "> " + strings.ReplaceAll(said, "\n", "\n> ")
}
