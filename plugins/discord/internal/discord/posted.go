package discord

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// posted is how many of the parts are in the channel, and the last one's id: an attempt
// before this one has posted them. Discord keeps a nonce for minutes only, and may not tell
// it; then a part is known by its words, among what is not known to be of another delivery.
func (d *delivery) posted(ctx context.Context, from int, before string, parts []rest.Message) (there int, id string, err error) {
	others, err := d.delivered(ctx)
	if err != nil {
		return 0, "", err
	}
	after := wire.IDAt(d.request.Delivery.CreatedAt.Add(-clockSkew))
	of := make(map[string]bool, len(others))
	for _, other := range others {
		of[other.ExternalID] = true
		if d.isBehind(other) && wire.Later(other.ExternalID, after) {
			after = other.ExternalID
		}
	}
	if to := d.run.Answer; to != nil { // whose place is older
		after = wire.IDAt(to.Until.Add(-tokenTime - time.Second))
	}
	there, id = from, before
	stop := press.ID{Action: press.Stop, Of: d.request.Message.RunID}.String()
	err = d.of.own(ctx, d.channel, after, func(message wire.Message) {
		if of[message.ID] || has(message.Components, stop) {
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

// is reports whether a message is a part of the delivery.
func (d *delivery) is(message wire.Message, part rest.Message, i int) bool {
	var given string
	if json.Unmarshal(message.Nonce, &given) == nil && given != "" && given != nonce("live", d.request.Message.RunID, 0) {
		return given == nonce("delivery", d.request.Delivery.ID, i)
	}
	if len(message.Attachments) != len(part.Files) {
		part = withoutFiles(part)
	}
	return len(message.Attachments) == len(part.Files) && letters(message.Content) == letters(part.Content)
}

// letters are the visible ones of a text: Discord trims what is not.
func letters(said string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, said)
}

// own goes through the bot's messages in a channel behind one, the oldest first.
func (a *account) own(ctx context.Context, channel, after string, do func(wire.Message)) error {
	self, err := a.me(ctx)
	if err != nil {
		return err
	}
	for range mostPages {
		page, err := a.client.Messages(ctx, channel, after, messagePage)
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
			break
		}
	}
	return nil
}

// delivered are the last messages that were delivered to the place.
func (d *delivery) delivered(ctx context.Context) ([]pluginsdk.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	query := pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDelivered, Plugin: name, Place: d.request.Delivery.Place, Newest: true, Limit: lastDeliveries}
	if query.Place == "" {
		query.Limit = lastOfAll // among those to all places
	}
	list, err := d.p.host.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: query})
	if err != nil {
		return nil, err
	}
	return list.Deliveries, nil
}

// isBehind reports whether the delivery comes behind another one, which went to the same
// place.
func (d *delivery) isBehind(other pluginsdk.Delivery) bool {
	return other.Place == d.request.Delivery.Place && other.MessageID < d.request.Delivery.MessageID
}

// lastDelivered is the message that was delivered last to the channel, before this one.
func (d *delivery) lastDelivered(ctx context.Context) (id string, err error) {
	all, err := d.delivered(ctx)
	for _, other := range all {
		if d.isBehind(other) && wire.Later(other.ExternalID, id) {
			id = other.ExternalID
		}
	}
	return id, err
}

const (
	messagePage    = 100 // messages of a page; Discord has no larger ones
	mostPages      = 20  // that are looked through: more there is no time for
	lastDeliveries = 20
	lastOfAll      = 1000
	clockSkew      = 10 * time.Minute // by which the daemon's clock may differ from Discord's
)
