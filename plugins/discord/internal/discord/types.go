package discord

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// actionButtons are the buttons of a plugin's row, but for those whose custom id stays refuses.
func actionButtons(row pluginsdk.Message, stays func(id string) bool) []discordgo.MessageComponent {
	var all []discordgo.Button
	for n, action := range row.Actions() {
		if id, ok := press.Typing(row, n); ok && stays(id.String()) {
			all = append(all, discordgo.Button{Label: line(action.Label, buttonText, "?"), Style: discordgo.SecondaryButton, CustomID: id.String()})
		}
	}
	return buttons(all...)
}

// actionLines say which command each button of a plugin's row types, and whose it is, where the
// row's words do not: a label may say anything.
func actionLines(row pluginsdk.Message) string {
	var lines []string
	for _, action := range row.Actions() {
		if !strings.Contains(row.Content, action.Command) {
			lines = append(lines, "-# "+text.Escape(row.Plugin+", "+action.Label+": "+action.Command))
		}
	}
	return strings.Join(lines, "\n")
}

// types submits the command of a button below a plugin's row, in the row's thread, as if who
// presses had typed it: once for each message of Discord's, however often and by how many the
// button is pressed.
func (a *act) types(ctx context.Context, id press.ID) error {
	row, action, err := a.offered(ctx, id)
	if err != nil {
		return err
	}
	accepted, err := a.typed(ctx, row, id, action)
	if err != nil {
		return err
	}
	by := a.who.Name
	if accepted.Existed {
		if by, err = a.author(ctx, accepted); err != nil {
			return err
		}
	}
	others := actionButtons(row, func(other string) bool {
		return other != id.String() && a.i.Message != nil && has(a.i.Message.Components, other)
	})
	if err := a.closeBut(ctx, action.Label+": pressed by "+by, others); err != nil {
		return err
	}
	if accepted.Existed {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "%s was pressed already, by %s", action.Label, by)
	}
	return nil
}

// offered is the row and the action that a button stands for, if the row was delivered to this
// channel and the command still is the plugin's. A custom id could be made up.
func (a *act) offered(ctx context.Context, id press.ID) (row pluginsdk.Message, action pluginsdk.RowAction, err error) {
	stale := pluginsdk.Errorf(pluginsdk.CodeStale, "%s", noSuchPush)
	threadID, message, ok := id.Row()
	if !ok {
		return row, action, stale
	}
	page, err := a.s.p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: threadID, After: message - 1, Limit: 1}})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeNotFound || err == nil && (len(page.Messages) == 0 || page.Messages[0].ID != message):
		return row, action, stale
	case err != nil:
		return row, action, err
	}
	row = page.Messages[0]
	if action, ok = id.Typed(row); !ok {
		return row, action, stale
	}
	if ok, err = a.hasRow(ctx, row); err != nil || !ok {
		if err == nil {
			a.s.p.host.Log.Warn("a button of a row was pressed that was not delivered to this channel", "user", a.who.ID, "channel", a.i.ChannelID, "message", row.ID, "thread", row.ThreadID)
			err = stale
		}
		return row, action, err
	}
	commands, err := a.s.offers.list(ctx)
	if err != nil {
		return row, action, err
	}
	name, _, _ := pluginsdk.ParseCommand(action.Command)
	if i := slices.IndexFunc(commands, func(c pluginsdk.Command) bool { return c.Name == name }); i < 0 || commands[i].Plugin != row.Plugin {
		return row, action, pluginsdk.Errorf(pluginsdk.CodeUnavailable, "nothing was done: the plugin %s, which has written this, does not have the command /%s at the moment", row.Plugin, name)
	}
	return row, action, nil
}

// hasRow reports whether a row was delivered to the channel of the press.
func (a *act) hasRow(ctx context.Context, row pluginsdk.Message) (bool, error) {
	query := pluginsdk.DeliveryQuery{Plugin: name, Newest: true, Limit: lastOfAll}
	if a.i.ChannelID != a.of.Channel { // else it may have gone there without a place
		query.Place = a.i.ChannelID
	}
	for range mostPages {
		list, err := a.s.p.host.Deliveries.List(ctx, &pluginsdk.ListDeliveriesRequest{Query: query})
		if err != nil {
			return false, err
		}
		for _, delivery := range list.Deliveries {
			if delivery.MessageID == row.ID && (delivery.Place == a.i.ChannelID || delivery.Place == "" && a.i.ChannelID == a.of.Channel) {
				return true, nil
			}
			query.After = delivery.ID
			if delivery.CreatedAt.Before(row.CreatedAt.Add(-time.Minute)) {
				return false, nil // a row is delivered after it was written
			}
		}
		if len(list.Deliveries) < query.Limit {
			return false, nil
		}
	}
	return false, nil
}

// typed submits an action's command. Its answer waits until it is noted where it goes.
func (a *act) typed(ctx context.Context, row pluginsdk.Message, id press.ID, action pluginsdk.RowAction) (pluginsdk.Accepted, error) {
	defer a.s.p.at.begin(a.i.ChannelID)()
	shown := a.i.ID
	if a.i.Message != nil {
		shown = a.i.Message.ID
	}
	submitted, err := a.s.p.host.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: pluginsdk.Submission{
		ThreadID: row.ThreadID, Source: a.of.sourceOf(a.s.owner(), a.who, spotOf(a.at)), Key: "typed/" + shown + "/" + id.Of + "/" + id.Check, Author: a.who.Name,
		Content: action.Command, Scope: a.of.scope(a.s.owner(), a.who), Metadata: metadata(origin{Guild: a.i.GuildID, Channel: a.i.ChannelID, User: a.who.ID}),
	}})
	if err != nil {
		return pluginsdk.Accepted{}, err
	}
	if submitted.Accepted.Existed {
		begun, err := a.s.p.host.Runs.Get(ctx, &pluginsdk.GetRunRequest{ID: submitted.Accepted.RunID})
		if err != nil || begun.Run.State.Final() {
			return submitted.Accepted, err
		}
	}
	return submitted.Accepted, a.s.p.runs.begin(ctx, submitted.Accepted.RunID, func(r *record) { r.Thread, r.Channel = submitted.Accepted.ThreadID, a.i.ChannelID })
}

// author is who has said what was accepted before.
func (a *act) author(ctx context.Context, accepted pluginsdk.Accepted) (string, error) {
	page, err := a.s.p.host.Messages.List(ctx, &pluginsdk.ListMessagesRequest{Query: pluginsdk.MessageQuery{ThreadID: accepted.ThreadID, After: accepted.MessageID - 1, Limit: 1}})
	if err != nil || len(page.Messages) == 0 || page.Messages[0].ID != accepted.MessageID || page.Messages[0].Author == "" {
		return "somebody", err
	}
	return page.Messages[0].Author, nil
}
