package discord

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// warned posts a warning of the core, such as that most of a plan's limit is used, in the
// channel for what has no place of its own. Where the warning's thread reports somewhere, the
// core has it carried there instead. Nothing is owed to it: the warning is in its thread.
func (p *Plugin) warned(ctx context.Context, of pluginsdk.MessagePayload) {
	account := p.account.Load()
	if account.client == nil || !wire.Snowflake(account.Channel) {
		return
	}
	message, ok, err := p.warning(ctx, of)
	if err == nil && ok {
		_, err = account.client.Send(ctx, account.Channel, rest.Message{
			Content: text.Clip(text.Escape(message.Content), text.Limit),
			Nonce:   nonce("warned", strconv.FormatInt(message.ID, 10), 0),
		})
	}
	if err != nil {
		p.host.Log.Warn("a warning of the core is not on Discord", "thread", of.ThreadID, "message", of.MessageID, "err", err)
	}
}

// warning is the message of an event, if it is a warning that nobody else carries.
func (p *Plugin) warning(ctx context.Context, of pluginsdk.MessagePayload) (message pluginsdk.Message, ok bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	page, err := p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: of.ThreadID, After: of.MessageID - 1, Limit: 1}})
	if err != nil || len(page.Messages) == 0 || page.Messages[0].ID != of.MessageID {
		return message, false, err
	}
	message = page.Messages[0]
	var about struct{ Event string }
	if message.Source != "core" || json.Unmarshal(message.Metadata, &about) != nil || about.Event != pluginsdk.NotePlanWarning {
		return message, false, nil
	}
	thread, err := p.host.Threads.Get(ctx, &pluginsdk.GetThreadRequest{ID: of.ThreadID})
	if err != nil {
		return message, false, err
	}
	return message, thread.Thread.ReportTo == pluginsdk.Target{} && thread.Thread.Source != source && thread.Thread.Source != sourceOwner, nil
}
