package discord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// parkedUnknown is the time at which a run goes on that waits for a plan, where it was not told.
const parkedUnknown = -1

// parking is what came of showing that a run waits for a plan.
type parking struct {
	waits bool   // false: it waits no more, or was not asked for on Discord
	live  string // the message that says so; empty: the settings want none before the answer
	err   error
}

// parks takes in that a run waits for a window of a plan: nothing more is shown as at work, and
// a message says when it goes on, with buttons that have it go on now or end it. The channel gets
// what came of that.
func (p *Plugin) parks(run string) <-chan parking {
	over := make(chan parking, 1)
	p.runs.note(run, func(r *record) { r.parking = true }) // an attempt that begins now is shown after this
	p.side.push(run, true, func(ctx context.Context) {
		defer p.runs.note(run, func(r *record) { r.parking = false })
		p.views.stop(run)
		of := p.showParked(ctx, run)
		if of.err != nil {
			p.host.Log.Warn("a message may not say that its answer waits for a plan", "run", run, "err", of.err)
		}
		over <- of
	})
	return over
}

// parked has the message that stands in the answer's place tell what the delivery tells: that
// its run waits for a plan. It returns that message's id. told is false when the delivery is to be
// posted as any other: it tells something else, its run was not asked for here, or the settings
// want no message before the answer. Of a run that waits no more nothing is told.
func (d *delivery) parked(ctx context.Context) (id string, told bool, err error) {
	switch {
	case d.event() != "pipeline_parked":
		return "", false, nil
	case !d.asked: // or its record is forgotten, since the run is over
		over, err := d.p.isOver(ctx, d.request.Message.RunID)
		return "", over, err
	case d.run.Channel != d.channel:
		return "", false, nil
	}
	select {
	case of := <-d.p.parks(d.request.Message.RunID):
		return of.live, !of.waits || of.live != "", of.err
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

// isOver reports whether a run is over, or not there any more.
func (p *Plugin) isOver(ctx context.Context, run string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	found, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: run})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return true, nil
	}
	return err == nil && found.Run.State.Final(), err
}

// showParked shows that a run waits, if it was asked for on Discord and does wait: it may have
// ended, or go on, since somebody said so.
func (p *Plugin) showParked(ctx context.Context, run string) parking {
	ctx, cancel := context.WithTimeout(ctx, 2*hostTime)
	defer cancel()
	of, ok, err := p.runs.get(ctx, run)
	account := p.account.Load()
	if err != nil || !ok || of.Over || of.ends || account.client == nil {
		return parking{err: err}
	}
	found, err := p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: run})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
		return parking{}
	}
	if err != nil || found.Run.Parked == nil || found.Run.State.Final() {
		return parking{err: err}
	}
	p.reactions.set(of, queued)
	parked, until := *found.Run.Parked, int64(parkedUnknown)
	if !parked.Until.IsZero() {
		until = parked.Until.Unix()
	}
	if of.Parked == until && of.Live != "" && of.Live != unknownLive {
		return parking{waits: true, live: of.Live}
	}
	live, err := p.postParked(ctx, account, run, of, rest.Message{Content: parkedLine(parked), Components: parkedButtons(run)})
	if err == nil {
		err = p.runs.change(ctx, run, func(r *record) { r.Live, r.Answer, r.Parked = live, nil, until })
	}
	return parking{waits: true, live: live, err: err}
}

// postParked puts a message into the place of the answer that is awaited: below what there is of
// it, into the answer to an interaction, or behind the question. It returns its id; empty: the
// settings want no message before the answer.
func (p *Plugin) postParked(ctx context.Context, account *account, run string, of record, message rest.Message) (string, error) {
	if of.Answer != nil && time.Now().Before(of.Answer.Until) {
		posted, err := account.client.EditResponse(ctx, of.Answer.App, of.Answer.Token, message)
		if err == nil || passing(err) {
			return posted.ID, err
		} // it cannot be answered any more: a message says it
	}
	live, err := p.liveMessage(ctx, account, run, of)
	if err != nil {
		return "", err
	}
	if live != "" {
		shown, err := account.client.Message(ctx, of.Channel, live)
		if err == nil {
			line := message.Content
			message.Content = strings.TrimSpace(text.Clip(withoutFooter(shown.Content), text.Limit-text.Units(line)-1) + "\n" + line)
			_, err = account.client.Edit(ctx, of.Channel, live, message)
		}
		if err == nil || passing(err) {
			return live, err
		} // somebody has deleted it
	}
	if !account.Live {
		return "", nil
	}
	since := of.asked()
	if err := p.runs.change(ctx, run, func(r *record) { r.Live, r.Since = unknownLive, since }); err != nil {
		return "", err
	}
	message.Nonce, message.ReplyTo = nonce("parked", run, 0), of.replyTo()
	posted, err := account.client.Send(ctx, of.Channel, message)
	return posted.ID, err
}

// parkedLine says what a run waits for, in the line that stands below an answer that is not
// finished.
func parkedLine(parked pluginsdk.Parked) string {
	line := footer + " waits for the plan (" + text.Escape(text.Name(pluginsdk.WindowName(parked.Window, parked.Model), footerUnits/2)) + ")"
	if parked.Plugin != "" {
		line = footer + " waits for the budget " + text.Escape(text.Name(parked.Budget, footerUnits/2))
	}
	if parked.Until.IsZero() && parked.Plugin != "" {
		return line + ", goes on when that is raised"
	}
	if parked.Until.IsZero() {
		return line + ", tries again by itself"
	}
	return line + fmt.Sprintf(", goes on at <t:%[1]d:t> (<t:%[1]d:R>)", parked.Until.Unix())
}

// parkedButtons are below what says that a run waits for a plan.
func parkedButtons(run string) []discordgo.MessageComponent {
	return buttons(
		discordgo.Button{Label: "Go now", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Go, Of: run}.String()},
		discordgo.Button{Label: "Cancel", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Stop, Of: run}.String()},
	)
}

// resume has a run of this channel go on that waits for a plan.
func (a *act) resume(ctx context.Context, run string) error {
	of, ok, err := a.s.p.runs.get(ctx, run)
	if err != nil {
		return err
	}
	if !ok || of.Channel != a.i.ChannelID {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "it is over already")
	}
	_, err = a.s.p.host.Runs.Resume(ctx, &pluginsdk.ResumeRunRequest{RunID: run, Author: a.who.Name, Scope: a.of.scope(a.s.owner(), a.who)})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "the message is being answered already, or its run is over")
	}
	return err
}
