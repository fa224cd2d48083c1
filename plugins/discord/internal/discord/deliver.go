package discord

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
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
	if !wire.Snowflake(channel) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "the message goes to %q, which is no channel of Discord's; set the setting channel, or %s, to the id of one", channel, channelVariable)
	}
	p.at.wait(channel)
	d := &delivery{p: p, of: of, channel: channel, request: request}
	id, err := d.carry(ctx)
	if err != nil {
		return nil, pluginsdk.Errorf(rest.Code(err), "channel %s: %w", channel, err)
	}
	return &pluginsdk.DeliverResponse{ExternalID: id}, nil
}

// delivery is one message on its way to a channel.
type delivery struct {
	p       *Plugin
	of      *account
	channel string
	request *pluginsdk.DeliverRequest

	run   record // of what is answered
	asked bool   // there is such a run
}

// carry posts what is delivered, and returns the id of its last message.
func (d *delivery) carry(ctx context.Context) (id string, err error) {
	message := d.request.Message
	if message.RunID != "" && d.request.Approval == nil {
		if d.run, d.asked, err = d.p.runs.get(ctx, message.RunID); err != nil {
			return "", err
		}
	}
	switch {
	case d.request.Approval != nil:
		return d.ask(ctx, *d.request.Approval)
	case !d.asked || d.run.Channel != d.channel:
		return d.post(ctx, d.parts(ctx))
	}
	ends := endsRun(message)
	if ends {
		d.p.views.end(message.RunID)
		if d.run, _, err = d.p.runs.get(ctx, message.RunID); err != nil { // with what the view has posted
			return "", err
		}
	}
	id, err = d.answer(ctx, ends)
	if err != nil || !ends {
		return id, err
	}
	state := done
	if message.Kind == pluginsdk.MessageStatus {
		state = failed
	}
	d.p.reactions.set(d.run, state)
	return id, d.p.runs.forget(ctx, message.RunID)
}

// endsRun reports whether a message is the last one of its run: the agent's answer, or the
// line that says why there is none.
func endsRun(message pluginsdk.Message) bool {
	return message.Role == pluginsdk.RoleAssistant && message.Kind == pluginsdk.MessageText || message.Kind == pluginsdk.MessageStatus
}

// answer posts what belongs to a run that was asked for here. The agent's answer takes the
// place of the message that has shown it while it was written, and what answers an
// interaction the place that Discord keeps for it.
func (d *delivery) answer(ctx context.Context, ends bool) (id string, err error) {
	parts := d.parts(ctx)
	if len(parts) == 0 {
		return "", nil
	}
	if answer := d.run.Answer; answer != nil {
		if id, err = d.respond(ctx, *answer, parts[0]); err != nil {
			return "", err
		}
		if id != "" {
			if id, err = d.rest(ctx, id, parts); err != nil || ends {
				return id, err
			}
			// Only the first of what a run has delivered stands there.
			return id, d.p.runs.change(ctx, d.request.Message.RunID, true, func(r *record) { r.Answer = nil })
		}
	}
	parts[0].ReplyTo = d.run.replyTo()
	if !ends || d.run.Live == "" {
		return d.post(ctx, parts)
	}
	live, err := d.live(ctx)
	switch {
	case err != nil:
		return "", err
	case live == "":
		return d.post(ctx, parts)
	case d.request.Message.Kind == pluginsdk.MessageStatus:
		// The answer was broken off: what there is of it stays.
		if err := d.breakOff(ctx, live); err != nil {
			return "", err
		}
		return d.post(ctx, parts)
	}
	last, err := d.last(ctx)
	if err != nil {
		return "", err
	}
	if wire.Later(last, live) || len(parts[0].Files) > 0 {
		// Something was delivered behind it: in its place the answer would stand before
		// what came first.
		if id, err = d.post(ctx, parts); err == nil {
			err = gone(d.of.client.Delete(ctx, d.channel, live))
		}
		return id, err
	}
	parts[0].Components = present(parts[0].Components)
	_, err = d.of.client.Edit(ctx, d.channel, live, parts[0])
	if rest.Gone(err) {
		return d.post(ctx, parts) // somebody has deleted it
	}
	if err != nil {
		return "", err
	}
	return d.rest(ctx, live, parts)
}

// rest posts the parts behind the first one, which is there.
func (d *delivery) rest(ctx context.Context, first string, parts []rest.Message) (id string, err error) {
	if len(parts) == 1 {
		return first, nil
	}
	return d.postFrom(ctx, 1, parts)
}

// respond answers an interaction. Nothing, when it cannot be answered any more: then the
// answer is a message as any other.
func (d *delivery) respond(ctx context.Context, to pending, first rest.Message) (id string, err error) {
	if time.Now().After(to.Until) {
		return "", nil
	}
	posted, err := d.of.client.EditResponse(ctx, to.App, to.Token, first)
	if err != nil && !rest.Passing(err) {
		return "", nil
	}
	return posted.ID, err
}

// live is the message that has shown the answer while it was written; empty: there is none.
func (d *delivery) live(ctx context.Context) (id string, err error) {
	if d.run.Live != unknownLive {
		return d.run.Live, nil
	}
	stop := press.ID{Action: press.Stop, Of: d.request.Message.RunID}.String()
	last, err := d.last(ctx)
	if err != nil {
		return "", err
	}
	err = d.own(ctx, last, func(message wire.Message) {
		if has(message.Components, stop) {
			id = message.ID
		}
	})
	return id, err
}

// breakOff leaves what there is of an answer as it is, without the button.
func (d *delivery) breakOff(ctx context.Context, live string) error {
	shown, err := d.of.client.Message(ctx, d.channel, live)
	if err == nil {
		_, err = d.of.client.Edit(ctx, d.channel, live, rest.Message{
			Content: withoutFooter(shown.Content), Components: []discordgo.MessageComponent{},
		})
	}
	return gone(err)
}

// post posts the parts that are not in the channel yet.
func (d *delivery) post(ctx context.Context, parts []rest.Message) (id string, err error) {
	return d.postFrom(ctx, 0, parts)
}

func (d *delivery) postFrom(ctx context.Context, from int, parts []rest.Message) (id string, err error) {
	there := from
	if d.request.Delivery.Attempt > 1 {
		if there, id, err = d.posted(ctx, from, parts); err != nil {
			return "", err
		}
	}
	for i := there; i < len(parts); i++ {
		part := parts[i]
		part.Nonce = nonce("delivery", d.request.Delivery.ID, i)
		message, err := d.of.client.Send(ctx, d.channel, part)
		if err != nil {
			return "", err
		}
		id = message.ID
	}
	return id, nil
}

// posted is how many of the parts are in the channel, and the last one's id: an attempt
// before this one has posted them. Discord keeps a nonce for minutes only, and may not tell
// it; then a part is known by its words, behind all that was delivered before.
func (d *delivery) posted(ctx context.Context, from int, parts []rest.Message) (there int, id string, err error) {
	last, err := d.last(ctx)
	if err != nil {
		return 0, "", err
	}
	there = from
	stop := press.ID{Action: press.Stop, Of: d.request.Message.RunID}.String()
	err = d.own(ctx, last, func(message wire.Message) {
		if has(message.Components, stop) {
			return
		}
		for i := there; i < len(parts); i++ {
			if d.is(message, parts[i], i) {
				there, id = i+1, message.ID
				return
			}
		}
	})
	return there, id, err
}

func (d *delivery) is(message wire.Message, part rest.Message, i int) bool {
	var given string
	if json.Unmarshal(message.Nonce, &given) == nil && given != "" && given != nonce("live", d.request.Message.RunID, 0) {
		return given == nonce("delivery", d.request.Delivery.ID, i)
	}
	return strings.TrimSpace(message.Content) == strings.TrimSpace(part.Content) && len(message.Attachments) == len(part.Files)
}

// own goes through the bot's messages in the channel behind one, the oldest first.
func (d *delivery) own(ctx context.Context, after string, do func(wire.Message)) error {
	self, err := d.of.me(ctx)
	if err != nil {
		return err
	}
	for {
		page, err := d.of.client.Messages(ctx, d.channel, after, messagePage)
		if err != nil {
			return err
		}
		for _, message := range page {
			after = message.ID
			if message.Author.ID == self {
				do(message)
			}
		}
		if len(page) < messagePage {
			return nil
		}
	}
}

// last is the message that was delivered last to the channel, before this delivery. Where
// none is known, it is a moment before the delivery was made.
func (d *delivery) last(ctx context.Context) (id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	list, err := d.p.host.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: pluginsdk.DeliveryQuery{
		State: pluginsdk.DeliveryDelivered, Plugin: name, Place: d.request.Delivery.Place, Newest: true, Limit: lastDeliveries,
	}})
	if err != nil {
		return "", err
	}
	for _, before := range list.Deliveries {
		if wire.Later(before.ExternalID, id) {
			id = before.ExternalID
		}
	}
	if id == "" {
		id = wire.IDAt(d.request.Delivery.CreatedAt.Add(-clockSkew))
	}
	return id, nil
}

const (
	messagePage    = 100 // messages of a page; Discord has no larger ones
	lastDeliveries = 5
	clockSkew      = 10 * time.Minute // by which the daemon's clock may differ from Discord's
)

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

// parts is what is delivered, as Discord's messages.
func (d *delivery) parts(ctx context.Context) []rest.Message {
	said := d.request.Message.Content
	files, left := d.files(ctx)
	if of, ok := noticeOf(d.request.Message); ok {
		left = joined(left, d.of.taskLine(of))
	}
	said = joined(said, left)
	var parts []rest.Message
	cut := text.Split(said, text.Limit)
	if d.of.LongReplies == longAsFile && len(cut) >= max(d.of.LongerThan, 2) {
		cut = []string{joined(text.Summary(said), "-# the whole answer is in the file")}
		files = append([]*discordgo.File{wholeAnswer(said)}, files...)
	}
	for _, words := range cut {
		parts = append(parts, rest.Message{Content: words})
	}
	if len(parts) == 0 && len(files) == 0 {
		return nil
	}
	if len(parts) == 0 {
		parts = []rest.Message{{}}
	}
	end := &parts[len(parts)-1]
	end.Files, end.Components = files, d.offered(ctx)
	return parts
}
