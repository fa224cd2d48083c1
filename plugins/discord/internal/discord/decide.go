package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	formTitle  = 45 // characters of a form's title and of a field's label, as Discord has it
	buttonText = 80
	formFields = 5
)

// decide does what those may who may decide for the owner.
func (a *act) decide(ctx context.Context, id press.ID) {
	words := strings.TrimSpace(a.i.Data.Fields()[press.Said])
	switch id.Action { //nolint:exhaustive // the others are control's
	case press.Approve:
		a.approve(ctx, id)
	case press.Deny:
		a.reply(ctx, rest.Form(press.ID{Action: press.Words, Of: id.Of}.String(), "Deny",
			rest.Field{ID: press.Said, Label: "Why not, or what to do instead", Placeholder: "The agent reads this", Long: true}))
	case press.Words:
		a.does(ctx, func(ctx context.Context) error {
			return a.answer(ctx, pluginsdk.DecideApprovalRequest{ID: id.Of, Choice: "deny", Words: words})
		})
	case press.Answer:
		a.questions(ctx, id.Of)
	case press.Answers:
		a.does(ctx, func(ctx context.Context) error { return a.answers(ctx, id.Of) })
	case press.Accept:
		a.does(ctx, func(ctx context.Context) error { return a.task(ctx, id, pluginsdk.VerdictAccept, "") })
	case press.Reject:
		a.reply(ctx, rest.Form(press.ID{Action: press.Feedback, Of: id.Of, N: id.N}.String(), "Reject",
			rest.Field{ID: press.Said, Label: "What is to be done otherwise", Placeholder: "The worker reads this", Long: true, Required: true}))
	case press.Feedback:
		a.does(ctx, func(ctx context.Context) error { return a.task(ctx, id, pluginsdk.VerdictReject, words) })
	}
}

// approve takes the choice that was pressed.
func (a *act) approve(ctx context.Context, id press.ID) {
	a.does(ctx, func(ctx context.Context) error {
		found, err := a.s.p.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: id.Of})
		if err != nil {
			return err
		}
		choice, ok := id.Chosen(found.Approval)
		if !ok {
			return pluginsdk.Errorf(pluginsdk.CodeStale, "this choice is not there any more")
		}
		return a.answer(ctx, pluginsdk.DecideApprovalRequest{ID: id.Of, Choice: choice.ID})
	})
}

// answer hands a person's answer in. That it was answered before is told to who comes late.
func (a *act) answer(ctx context.Context, with pluginsdk.DecideApprovalRequest) error {
	with.Author = a.who.Name
	_, err := a.s.p.host.Approvals.Decide(ctx, &with)
	if err != nil {
		return err
	}
	a.s.p.side.push(with.ID, false, func(ctx context.Context) { a.s.p.settle(ctx, with.ID) })
	return nil
}

// questions opens the form in which the agent's questions are answered in words.
func (a *act) questions(ctx context.Context, approval string) {
	asked, cancel := context.WithTimeout(ctx, answerTime/2)
	defer cancel()
	found, err := a.s.p.host.Approvals.Get(asked, &pluginsdk.GetApprovalRequest{ID: approval})
	if err != nil {
		a.reply(ctx, rest.Whisper(text.Clip(text.Escape(err.Error()), text.Limit)))
		return
	}
	var fields []rest.Field
	for i, question := range found.Approval.Questions[:min(len(found.Approval.Questions), formFields)] {
		label := question.Text
		if question.Header != "" && text.Units(label) > formTitle {
			label = question.Header
		}
		var options []string
		for _, option := range question.Options {
			options = append(options, option.Label)
		}
		fields = append(fields, rest.Field{
			ID: press.Field(i, true), Label: text.Name(label, formTitle), Placeholder: text.Name(strings.Join(options, " · "), 100), Long: true, Required: true,
		})
	}
	if len(fields) == 0 {
		a.reply(ctx, rest.Whisper(noSuchPush))
		return
	}
	a.reply(ctx, rest.Form(press.ID{Action: press.Answers, Of: approval}.String(), "The agent asks", fields...))
}

// answers hands in what stands in the form. An option that was written out is that option.
func (a *act) answers(ctx context.Context, approval string) error {
	found, err := a.s.p.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: approval})
	if err != nil {
		return err
	}
	fields := a.i.Data.Fields()
	answers := make([]pluginsdk.QuestionAnswer, len(found.Approval.Questions))
	for i, question := range found.Approval.Questions {
		said := strings.TrimSpace(fields[press.Field(i, true)])
		answers[i].Text = said
		for _, option := range question.Options {
			if strings.EqualFold(option.Label, said) {
				answers[i] = pluginsdk.QuestionAnswer{Labels: []string{option.Label}}
			}
		}
	}
	return a.answer(ctx, pluginsdk.DecideApprovalRequest{ID: approval, Answers: answers})
}

// task hands in a person's word on a task that waits for one.
func (a *act) task(ctx context.Context, id press.ID, verdict pluginsdk.Verdict, feedback string) error {
	_, err := a.s.p.host.Tasks.Decide(ctx, &pluginsdk.DecideTaskRequest{
		ID: id.Of, Iteration: id.N, Verdict: verdict, Feedback: feedback, Author: a.who.Name,
	})
	if err != nil {
		return err
	}
	done := "accepted by "
	if verdict == pluginsdk.VerdictReject {
		done = "sent back by "
	}
	return a.close(ctx, done+a.who.Name)
}

const approvalPrefix = "approval/" // and its id: where it is shown

// shown is where an approval is shown.
type shown struct {
	Channel string `json:"channel"`
	Message string `json:"message"`
}

// ask posts what the agent asks people, with buttons while it is open.
func (d *delivery) ask(ctx context.Context, approval pluginsdk.Approval) (id string, err error) {
	card := rest.Message{Content: cardText(approval)}
	open := approval.State == pluginsdk.ApprovalOpen
	if open {
		card.Components = cardButtons(approval)
	}
	if id, err = d.post(ctx, []rest.Message{card}); err != nil || !open {
		return id, err
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

// cardText is what people read of an approval.
func cardText(approval pluginsdk.Approval) string {
	const titleUnits, textUnits, noteUnits = 300, 1000, 400
	said := "**" + text.Escape(text.Clip(text.Name(approval.Title, titleUnits), titleUnits)) + "**"
	if approval.Text != "" {
		said = joined(said, text.Fence("", text.Clip(approval.Text, textUnits)))
	}
	if approval.Note != "" {
		said = joined(said, text.Clip(text.Escape(approval.Note), noteUnits))
	}
	if approval.Cwd != "" {
		said = joined(said, "-# in "+text.Escape(text.Name(approval.Cwd, nameUnits)))
	}
	if approval.State == pluginsdk.ApprovalOpen {
		return said + fmt.Sprintf("\n-# to be answered <t:%d:R>", approval.ExpiresAt.Unix())
	}
	return joined(said, outcome(approval))
}

// outcome says what became of an approval.
func outcome(approval pluginsdk.Approval) string {
	const wordUnits = 200
	by := text.Escape(text.Name(approval.Author, nameUnits))
	if by == "" {
		by = "somebody"
	}
	said := ""
	switch approval.State { //nolint:exhaustive // open has no outcome
	case pluginsdk.ApprovalAllowed:
		said = "✅ allowed by " + by
		for _, choice := range approval.Choices {
			if choice.ID == approval.Choice {
				said = "✅ " + text.Escape(text.Name(choice.Label, nameUnits)) + ", by " + by
			}
		}
	case pluginsdk.ApprovalDenied:
		said = "⛔ denied by " + by
	case pluginsdk.ApprovalExpired:
		return "⌛ nobody answered in time: denied"
	case pluginsdk.ApprovalWithdrawn:
		return "its run is over: nothing is to be decided any more"
	}
	if approval.Words != "" {
		said += ": " + text.Escape(text.Clip(approval.Words, wordUnits))
	}
	return said
}

// cardButtons are the choices of an approval. Deny asks for a reason first; several
// questions at once are answered in a form.
func cardButtons(approval pluginsdk.Approval) []discordgo.MessageComponent {
	if len(approval.Questions) > 1 {
		return buttons(discordgo.Button{Label: "Answer", Style: discordgo.PrimaryButton, CustomID: press.ID{Action: press.Answer, Of: approval.ID}.String()})
	}
	var all []discordgo.Button
	for n, choice := range approval.Choices {
		button := discordgo.Button{Label: text.Name(choice.Label, buttonText), CustomID: press.Choice(approval, n).String(), Style: discordgo.SecondaryButton}
		switch {
		case choice.ID == "deny":
			button.Style, button.CustomID = discordgo.DangerButton, press.ID{Action: press.Deny, Of: approval.ID}.String()
		case choice.Allow && choice.Rule == "":
			button.Style = discordgo.SuccessButton
		}
		if button.Label == "" {
			button.Label = choice.ID
		}
		all = append(all, button)
	}
	if len(approval.Questions) == 1 {
		all = append(all, discordgo.Button{Label: "In words", Style: discordgo.SecondaryButton, CustomID: press.ID{Action: press.Answer, Of: approval.ID}.String()})
	}
	return buttons(all...)
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
		_, err = of.client.Edit(ctx, where.Channel, where.Message, rest.Message{Content: cardText(found.Approval), Components: []discordgo.MessageComponent{}})
		err = gone(err)
	}
	if err != nil && rest.Passing(err) {
		return err
	}
	_, err = p.host.State.Delete(ctx, &pluginsdk.DeleteStateRequest{Key: approvalPrefix + id})
	return err
}
