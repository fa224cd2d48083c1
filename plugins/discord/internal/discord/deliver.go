package discord

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Deliver posts a message in its channel. A delivery that was begun and has no known end
// comes again under the same id: what of it is in the channel already is not posted again.
func (p *Plugin) Deliver(ctx context.Context, request *pluginsdk.DeliverRequest) (*pluginsdk.DeliverResponse, error) {
	of := p.account.Load()
	if of.client == nil {
		return nil, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "the bot has no token: %s", tokenRemedy)
	}
	channel := request.Delivery.Place
	if channel == "" {
		channel = of.Channel
	}
	switch {
	case channel == "":
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "it is not said to which channel the message goes; set the setting channel, or %s, to the id of one", channelVariable)
	case !wire.Snowflake(channel):
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the message goes to %q, which is no channel of Discord's: name the id of one, as in discord:123456789012345678", channel)
	}
	if err := p.at.wait(ctx, channel); err != nil {
		return nil, err
	}
	d := &delivery{p: p, of: of, channel: channel, request: request}
	id, err := d.carry(ctx)
	if err != nil {
		return nil, refusal(channel, err)
	}
	return &pluginsdk.DeliverResponse{ExternalID: id}, nil
}

// remedies say of Discord's refusals what to do about them.
// Source: topics/opcodes-and-status-codes#json.
var remedies = map[int]string{
	codeNoChannel: "there is no such channel any more, or the bot was taken out of its server",
	50001:         "the bot may not see the channel: give it the permissions View Channel and Send Messages there",
	50007:         "this person takes no direct messages from the bot, or has no server in common with it",
	50013:         "the bot lacks a permission there: it needs Send Messages, and in threads Send Messages in Threads",
	50278:         "this person has no server in common with the bot",
	codeLocked:    "the thread is locked: unlock it, or give the bot the permission Manage Threads",
}

// What Discord refuses, where more follows from it than words.
const (
	codeNoChannel = 10003
	codeTooLarge  = 40005
	codeForbidden = 50013
	codeNoHistory = 160002
	codeLocked    = 160005
)

// refusal is why a delivery was not made. Its code says whether it is tried again.
func refusal(channel string, err error) error {
	var refused *rest.Error
	if errors.As(err, &refused) && remedies[refused.Code] != "" {
		return pluginsdk.Errorf(rest.Code(err), "channel %s: %s (%w)", channel, remedies[refused.Code], err)
	}
	return pluginsdk.Errorf(rest.Code(err), "channel %s: %w", channel, err)
}

// refused reports whether Discord has refused something with one of these codes.
func refused(err error, codes ...int) bool {
	var refused *rest.Error
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code)
}

// delivery is one message on its way to a channel.
type delivery struct {
	p       *Plugin
	of      *account
	channel string
	request *pluginsdk.DeliverRequest

	run   record // of what is answered
	asked bool   // there is such a run
	ends  bool   // it is the run's last message
}

// carry posts what is delivered, and returns the id of its last message.
func (d *delivery) carry(ctx context.Context) (id string, err error) {
	if d.request.Approval != nil {
		return d.ask(ctx, *d.request.Approval)
	}
	run := d.request.Message.RunID
	if run != "" {
		if d.run, d.asked, err = d.p.runs.get(ctx, run); err != nil {
			return "", err
		}
	}
	if last := d.run.Last; last != nil && last.Delivery == d.request.Delivery.ID {
		return last.Message, nil
	}
	if id, told, err := d.parked(ctx); told || err != nil {
		return id, err
	}
	if d.ends, err = d.isEnd(ctx); err != nil {
		return "", err
	}
	if d.ends {
		d.p.views.end(run)
		if err = d.p.side.flush(ctx, run); err != nil { // what is about to show that it waits
			return "", err
		}
		if d.run, _, err = d.p.runs.get(ctx, run); err != nil { // with what the view has posted
			return "", err
		}
	}
	parts, err := d.parts(ctx)
	if err != nil {
		return "", err
	}
	if id, err = d.answer(ctx, parts); err != nil {
		return "", err
	}
	receipt := &receipt{d.request.Delivery.ID, id}
	switch {
	case d.ends:
		d.p.reactions.set(d.run, d.outcome())
		err = d.p.runs.change(ctx, run, func(r *record) { r.Live, r.Answer, r.Last, r.Over = "", nil, receipt, true })
	case d.run.Answer != nil && d.run.Channel == d.channel: // only the first of what a run has delivered stands there
		err = d.p.runs.change(ctx, run, func(r *record) { r.Answer, r.Last = nil, receipt })
	}
	return id, err
}

// isEnd reports whether the message is the last one of a run that was asked for on Discord:
// the agent's answer, the line that says why there is none, or what a typed command has
// come to.
func (d *delivery) isEnd(ctx context.Context) (bool, error) {
	message := d.request.Message
	switch {
	case !d.asked || d.run.Over:
		return false, nil
	case message.Role == pluginsdk.RoleSystem && message.Kind == pluginsdk.MessageText:
		ctx, cancel := context.WithTimeout(ctx, hostTime)
		defer cancel()
		found, err := d.p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: message.RunID})
		if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound {
			return true, nil
		}
		return err == nil && found.Run.Kind == pluginsdk.RunCommand, err
	}
	return message.Plugin == "" && (message.Kind == pluginsdk.MessageText || message.Kind == pluginsdk.MessageStatus), nil
}

// outcome is what the end of a run is to who asked: done or failed.
func (d *delivery) outcome() string {
	if d.request.Message.Kind == pluginsdk.MessageStatus {
		switch d.event() {
		case "pipeline_files", "pipeline_empty", "pipeline_emptied":
		default: // also without any
			return failed
		}
	}
	return done
}

// event is what the message's metadata says that it tells of; empty: nothing.
func (d *delivery) event() string {
	var of struct {
		Event string `json:"event"`
	}
	_ = json.Unmarshal(d.request.Message.Metadata, &of) // that of others has other fields
	return of.Event
}

// answer posts what belongs to a run that was asked for here, and other messages. The
// agent's answer takes the place of the message that has shown it while it was written, and
// what answers an interaction the place that Discord keeps for it.
func (d *delivery) answer(ctx context.Context, parts []rest.Message) (id string, err error) {
	if d.asked && d.run.Channel == d.channel {
		if d.run.Answer != nil {
			if id, err = d.respond(ctx, *d.run.Answer, parts[0]); err != nil {
				return "", err
			}
			if id != "" {
				return d.postFrom(ctx, 1, id, parts)
			}
		}
		parts[0].ReplyTo = d.run.replyTo()
	}
	live := ""
	if d.ends {
		if live, err = d.p.liveMessage(ctx, d.of, d.request.Message.RunID, d.run); err != nil {
			return "", err
		}
	}
	switch {
	case live == "":
	case d.request.Message.Kind == pluginsdk.MessageStatus && d.outcome() == failed:
		// The answer was broken off: what there is of it stays.
		if err := d.of.breakOff(ctx, d.run.Channel, live); err != nil {
			return "", err
		}
		live = ""
	default:
		last, err := d.lastDelivered(ctx)
		if err != nil {
			return "", err
		}
		// In the place of what was there before the last delivery, the answer would stand
		// before what came first.
		if d.run.Channel != d.channel || wire.Later(last, live) {
			break
		}
		first := parts[0]
		first.Components = present(first.Components)
		if _, err = d.of.client.Edit(ctx, d.channel, live, rewound(first)); err == nil {
			return d.postFrom(ctx, 1, live, parts)
		}
		if rest.Passing(err) {
			return "", err
		} // somebody has deleted it, its thread was archived, it is too old: a new one takes its place
	}
	if id, err = d.postFrom(ctx, 0, "", parts); err == nil && live != "" {
		err = d.of.client.Delete(ctx, d.run.Channel, live)
		if err != nil && !rest.Passing(err) {
			err = nil // it is gone, or stays where the bot may do nothing any more
		}
	}
	return id, err
}

// respond answers an interaction. Nothing, when it cannot be answered any more: then the
// answer is a message as any other.
func (d *delivery) respond(ctx context.Context, to pending, first rest.Message) (id string, err error) {
	if time.Now().After(to.Until) {
		return "", nil
	}
	posted, err := d.of.client.EditResponse(ctx, to.App, to.Token, rewound(first))
	if err != nil && !rest.Passing(err) {
		return "", nil
	}
	return posted.ID, err
}

// postFrom posts the parts that are not in the channel yet, from one on, and returns the
// id of the last one. before is that of the part before.
func (d *delivery) postFrom(ctx context.Context, from int, before string, parts []rest.Message) (id string, err error) {
	there, id := from, before
	if d.request.Delivery.Attempt > 1 && from < len(parts) {
		if there, id, err = d.posted(ctx, from, before, parts); err != nil {
			return "", err
		}
	}
	for i := there; i < len(parts); i++ {
		part := parts[i]
		part.Nonce = nonce("delivery", d.request.Delivery.ID, i)
		message, err := d.send(ctx, part)
		if err != nil {
			return "", err
		}
		id = message.ID
	}
	return id, nil
}

// send posts a message. Where the bot may not send files, or make a reply of it, it is one
// without.
func (d *delivery) send(ctx context.Context, message rest.Message) (wire.Message, error) {
	sent, err := d.of.client.Send(ctx, d.channel, rewound(message))
	if refused(err, codeNoHistory) && message.ReplyTo != "" {
		message.ReplyTo = ""
		sent, err = d.of.client.Send(ctx, d.channel, rewound(message))
	}
	if refused(err, codeForbidden, codeTooLarge) && len(message.Files) > 0 {
		sent, err = d.of.client.Send(ctx, d.channel, withoutFiles(message))
	}
	return sent, err
}

// rewound is a message whose files are read from their beginnings.
func rewound(message rest.Message) rest.Message {
	for _, file := range message.Files {
		if seeker, ok := file.Reader.(io.Seeker); ok {
			_, _ = seeker.Seek(0, io.SeekStart) // of memory
		}
	}
	return message
}

// gone is the error, but for one that says that what was to be changed is not there.
func gone(err error) error {
	if rest.Gone(err) {
		return nil
	}
	return err
}

// present is components that take the place of others: none takes them away.
func present(components []discordgo.MessageComponent) []discordgo.MessageComponent {
	if components == nil {
		return []discordgo.MessageComponent{}
	}
	return components
}
