package discord

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const approvalPrefix = "approval/" // and its id: where it is shown

// shown is where an approval is shown.
type shown struct {
	Channel string `json:"channel"`
	Message string `json:"message"`
}

// ask posts what the agent asks people, with buttons while it is open.
func (d *delivery) ask(ctx context.Context, approval pluginsdk.Approval) (id string, err error) {
	if d.request.Delivery.Attempt > 1 {
		if id, err = d.card(ctx, approval.ID); err != nil {
			return "", err
		}
	}
	if id == "" {
		if id, err = d.postFrom(ctx, 0, "", []rest.Message{cardOf(approval)}); err != nil || approval.State != pluginsdk.ApprovalOpen {
			return id, err
		}
	}
	where, err := json.Marshal(shown{Channel: d.channel, Message: id})
	if err != nil {
		return "", err
	}
	if _, err := d.p.host.State.Put(ctx, &pluginsdk.PutStateRequest{Key: approvalPrefix + approval.ID, Value: where}); err != nil {
		return "", err
	}
	d.p.side.push(approval.ID, false, func(ctx context.Context) { d.p.settle(ctx, approval.ID) }) // it may be over by now
	return id, nil
}

// card is the message that offers an approval already; empty: there is none. What it says
// may differ from what it would say now.
func (d *delivery) card(ctx context.Context, approval string) (id string, err error) {
	after := wire.IDAt(d.request.Delivery.CreatedAt.Add(-clockSkew))
	err = d.of.own(ctx, d.channel, after, func(message wire.Message) {
		if offering(message.Components, approval) {
			id = message.ID
		}
	})
	return id, err
}

// offering reports whether a button among the components is of an approval.
func offering(components []wire.Component, approval string) bool {
	return slices.ContainsFunc(components, func(c wire.Component) bool {
		id, ok := press.Decode(c.CustomID)
		return ok && id.Of == approval || offering(c.Components, approval)
	})
}

// settle takes the offer of an approval away that is over, and says what became of it. What
// fails is done when the bot connects the next time.
func (p *Plugin) settle(ctx context.Context, id string) {
	if err := p.settled(ctx, id); err != nil {
		p.host.Log.Warn("an approval that is over is still offered on Discord", "approval", id, "err", err)
	}
}

func (p *Plugin) settled(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*hostTime)
	defer cancel()
	of := p.account.Load()
	entry, err := p.host.State.Get(ctx, &pluginsdk.GetStateRequest{Key: approvalPrefix + id})
	if pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && of.client == nil {
		return nil
	}
	if err != nil {
		return err
	}
	var where shown
	if err := json.Unmarshal(entry.Entry.Value, &where); err != nil {
		return err
	}
	found, err := p.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: id})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound: // its thread was deleted
		err = gone(of.client.Delete(ctx, where.Channel, where.Message))
	case err != nil:
		return err
	case found.Approval.State == pluginsdk.ApprovalOpen:
		return nil
	default:
		said, _ := cardText(found.Approval)
		_, err = of.client.Edit(ctx, where.Channel, where.Message, rest.Message{Content: said, Components: []discordgo.MessageComponent{}})
		err = gone(err)
	}
	if err != nil && rest.Passing(err) {
		return err
	}
	_, err = p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: approvalPrefix + id})
	return err
}
