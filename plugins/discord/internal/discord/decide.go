package discord

import (
	"context"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/plugins/discord/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a form takes, as Discord has it.
// Source: interactions/receiving-and-responding#interaction-response-object-modal,
// components/reference#label, #string-select.
const (
	formTitle   = 45 // characters of its title, and of a field's label
	formLine    = 100
	formFields  = 5
	formOptions = 25
)

// deny is the choice with which the agent is told no.
const deny = "deny"

// decide does what those may who may decide for the owner.
func (a *act) decide(ctx context.Context, id press.ID) {
	words := strings.TrimSpace(a.i.Data.Field(press.Said).Value)
	switch id.Action { //nolint:exhaustive // the others are control's
	case press.Approve:
		a.does(ctx, func(ctx context.Context) error { return a.approve(ctx, id) })
	case press.Deny:
		a.reply(ctx, rest.Form(press.ID{Action: press.Words, Of: id.Of}.String(), a.label("Deny"),
			rest.Field{ID: press.Said, Label: "Why not, or what to do instead", Placeholder: "The agent reads this", Long: true}))
	case press.Words:
		a.does(ctx, func(ctx context.Context) error {
			return a.answer(ctx, pluginsdk.DecideApprovalRequest{ID: id.Of, Choice: deny, Words: words})
		})
	case press.Answer:
		a.questions(ctx, id.Of)
	case press.Answers:
		a.does(ctx, func(ctx context.Context) error { return a.answers(ctx, id.Of) })
	case press.Accept:
		a.does(ctx, func(ctx context.Context) error { return a.task(ctx, id, pluginsdk.VerdictAccept, "") })
	case press.Reject:
		a.reply(ctx, rest.Form(press.ID{Action: press.Feedback, Of: id.Of, N: id.N}.String(), a.label("Send back"),
			rest.Field{ID: press.Said, Label: "What is to be done otherwise", Placeholder: "The worker reads this", Long: true, Required: true}))
	case press.Feedback:
		a.does(ctx, func(ctx context.Context) error { return a.task(ctx, id, pluginsdk.VerdictReject, words) })
	}
}

// label is what stands on the button that was pressed.
func (a *act) label(otherwise string) string {
	var find func([]wire.Component) string
	find = func(in []wire.Component) string {
		for _, component := range in {
			if component.CustomID == a.i.Data.CustomID {
				return component.Label
			}
			if label := find(component.Components); label != "" {
				return label
			}
		}
		return ""
	}
	if a.i.Message != nil {
		if label := text.Clip(find(a.i.Message.Components), formTitle); label != "" {
			return label
		}
	}
	return otherwise
}

// approve takes the choice that was pressed.
func (a *act) approve(ctx context.Context, id press.ID) error {
	found, err := a.s.p.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: id.Of})
	if err != nil {
		return err
	}
	choice, ok := id.Chosen(found.Approval)
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeStale, "this choice is not there any more")
	}
	return a.answer(ctx, pluginsdk.DecideApprovalRequest{ID: id.Of, Choice: choice.ID})
}

// answer hands a person's answer in. That it was answered before, and by whom, the host
// says to who comes late. What is over is not offered any more.
func (a *act) answer(ctx context.Context, with pluginsdk.DecideApprovalRequest) error {
	with.Author = a.who.Name
	_, err := a.s.p.host.Approvals.Decide(ctx, &with)
	if err == nil || pluginsdk.CodeOf(err) == pluginsdk.CodeStale {
		a.s.p.side.push(with.ID, false, func(ctx context.Context) { a.s.p.settle(ctx, with.ID) })
	}
	return err
}

// questions opens the form in which the agent's questions are answered.
func (a *act) questions(ctx context.Context, approval string) {
	asked, cancel := context.WithTimeout(ctx, answerTime/2)
	defer cancel()
	found, err := a.s.p.host.Approvals.Get(asked, &pluginsdk.GetApprovalRequest{ID: approval})
	if err != nil {
		a.reply(ctx, rest.Whisper(text.Clip(text.Escape(err.Error()), text.Limit)))
		return
	}
	if n := len(found.Approval.Questions); n == 0 || n > formFields {
		a.reply(ctx, rest.Whisper("These cannot be answered here: a form of Discord's has one to five questions. `harness approvals` answers them."))
		return
	}
	a.reply(ctx, rest.Form(press.ID{Action: press.Answers, Of: approval}.String(), "The agent asks", questionFields(found.Approval.Questions)...))
}

// questionFields are a menu for the options of each question and, as far as there is room
// for them, a field for other words.
func questionFields(questions []pluginsdk.AgentQuestion) (fields []rest.Field) {
	room := 2*len(questions) <= formFields
	for i, question := range questions {
		label := question.Text
		if question.Header != "" && text.Units(label) > formTitle {
			label = question.Header
		}
		field := rest.Field{ID: press.Field(i, false), Label: line(label, formTitle, "Question"), About: line(question.Text, formLine, ""), Required: !room}
		if field.About == field.Label {
			field.About = ""
		}
		for n, option := range question.Options[:min(len(question.Options), formOptions)] {
			field.Options = append(field.Options, rest.Option{
				Label: line(option.Label, formLine, "Option"), Value: strconv.Itoa(n), Description: line(option.Description, formLine, ""),
			})
		}
		if len(field.Options) == 0 {
			field.ID, field.Long, field.Required = press.Field(i, true), true, true
			fields = append(fields, field)
			continue
		}
		field.Multiple = question.Multiple
		fields = append(fields, field)
		if room {
			fields = append(fields, rest.Field{ID: press.Field(i, true), Label: line("In other words: "+label, formTitle, ""), Long: true})
		}
	}
	return fields
}

// answers hands in what stands in the form. An option that was written out is that option.
func (a *act) answers(ctx context.Context, approval string) error {
	found, err := a.s.p.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: approval})
	if err != nil {
		return err
	}
	answers := make([]pluginsdk.QuestionAnswer, len(found.Approval.Questions))
	for i, question := range found.Approval.Questions {
		for _, picked := range a.i.Data.Field(press.Field(i, false)).Values {
			if n, err := strconv.Atoi(picked); err == nil && n >= 0 && n < len(question.Options) {
				answers[i].Labels = append(answers[i].Labels, question.Options[n].Label)
			}
		}
		answers[i].Text = strings.TrimSpace(a.i.Data.Field(press.Field(i, true)).Value)
		for _, option := range question.Options {
			if len(answers[i].Labels) == 0 && strings.EqualFold(option.Label, answers[i].Text) {
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
