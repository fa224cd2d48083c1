package discord

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/bwmarrin/discordgo"

	"github.com/seed-706843ae/harness/plugins/discord/internal/press"
	"github.com/seed-706843ae/harness/plugins/discord/internal/rest"
	"github.com/seed-706843ae/harness/plugins/discord/internal/text"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How much of a card each part of it may take, in units: together less than text.Limit.
const (
	titleUnits = 250
	bodyUnits  = 850 // what is to be done, or the questions
	noteUnits  = 200
	cwdUnits   = 150
	ruleUnits  = 300
	wordUnits  = 200 // in which an answer was given
	byUnits    = 80
)

// cardOf is an approval as people see it. What does not fit is in a file with all of it:
// people allow the whole, not what they see of it.
func cardOf(approval pluginsdk.Approval) rest.Message {
	said, whole := cardText(approval)
	card := rest.Message{Content: said}
	if approval.State == pluginsdk.ApprovalOpen {
		card.Components = cardButtons(approval)
	}
	if !whole {
		card.Files = []*discordgo.File{{Name: "asked.txt", ContentType: "text/plain; charset=utf-8", Reader: strings.NewReader(wholeText(approval))}}
	}
	return card
}

// cardText is what people read of an approval, and whether that is all of it.
func cardText(approval pluginsdk.Approval) (said string, whole bool) {
	title, body, whole := approval.Title, "", true
	if len(approval.Questions) > 0 {
		title = "The agent asks"
		body, whole = linesWithin(questionLines(approval.Questions), "\n", bodyUnits)
	} else if approval.Text != "" {
		body, whole = fenced(approval.Text, bodyUnits)
	}
	said = joined("**"+within(line(title, titleUnits, "The agent asks"), titleUnits)+"**", body)
	if approval.Note != "" {
		note := within(approval.Note, noteUnits)
		said, whole = joined(said, note), whole && note == text.Escape(visible(approval.Note))
	}
	below := ""
	if approval.Cwd != "" {
		below += "\n-# in " + within(line(approval.Cwd, cwdUnits, "?"), cwdUnits)
	}
	if approval.State == pluginsdk.ApprovalOpen {
		rules, all := linesWithin(ruleLines(approval.Choices), "\n", ruleUnits)
		if rules != "" {
			below += "\n" + rules
		}
		whole = whole && all
		below += fmt.Sprintf("\n-# to be answered <t:%d:R>", approval.ExpiresAt.Unix())
	}
	if !whole {
		below += "\n-# **more is asked than stands here: all of it is in the file**"
	}
	said = joined(said, strings.TrimSpace(below))
	if approval.State != pluginsdk.ApprovalOpen {
		said = joined(said, outcome(approval))
	}
	return said, whole
}

// questionLines are the agent's questions with their options.
func questionLines(questions []pluginsdk.AgentQuestion) (lines []string) {
	for i, question := range questions {
		asked := "**" + text.Escape(line(question.Text, text.Limit, "?")) + "**"
		if len(questions) > 1 {
			asked = fmt.Sprintf("%d\\. %s", i+1, asked)
		}
		if question.Multiple {
			asked += " (one or more)"
		}
		lines = append(lines, asked)
		for _, option := range question.Options {
			said := "- " + text.Escape(line(option.Label, text.Limit, "?"))
			if option.Description != "" {
				said += ": " + text.Escape(line(option.Description, text.Limit, ""))
			}
			lines = append(lines, said)
		}
	}
	return lines
}

// ruleLines say what the choices allow from then on.
func ruleLines(choices []pluginsdk.ApprovalChoice) (lines []string) {
	for _, choice := range choices {
		if choice.Rule != "" {
			lines = append(lines, "-# always means: "+text.Escape(line(choice.Rule, text.Limit, "?")))
		}
	}
	return lines
}

// wholeText is all that is asked, as it is in the file.
func wholeText(approval pluginsdk.Approval) string {
	said := joined(append([]string{approval.Title, approval.Text, approval.Note}, questionTexts(approval.Questions)...)...)
	for _, choice := range approval.Choices {
		if choice.Rule != "" {
			said = joined(said, choice.Label+"\nmeans from now on: "+choice.Rule)
		}
	}
	return visible(said) + "\n"
}

func questionTexts(questions []pluginsdk.AgentQuestion) (texts []string) {
	for _, question := range questions {
		asked := question.Text
		for _, option := range question.Options {
			asked += "\n- " + option.Label + ": " + option.Description
		}
		texts = append(texts, asked)
	}
	return texts
}

// linesWithin is as many of the lines as fit into units, and whether these are all.
func linesWithin(lines []string, between string, units int) (said string, all bool) {
	for _, next := range lines {
		more := next
		if said != "" {
			more = said + between + next
		}
		if text.Units(more) > units {
			return said, false
		}
		said = more
	}
	return said, true
}

// fenced is a text as a block of code of at most so many units, and whether that is all of
// it.
func fenced(said string, units int) (block string, whole bool) {
	said = visible(said)
	for room := units; ; room -= 1 + room/8 {
		block = text.Fence("", text.Clip(said, room))
		if text.Units(block) <= units {
			return block, text.Units(said) <= room
		}
	}
}

// within is the words of others, harmless, in at most so many units.
func within(said string, units int) string {
	return text.Clip(text.Escape(visible(said)), units)
}

// line is the words of others on one line, as they are: for what is no Markdown.
func line(said string, units int, otherwise string) string {
	if said = text.Clip(strings.Join(strings.Fields(visible(said)), " "), units); said == "" {
		return otherwise
	}
	return said
}

// visible shows the characters that would hide something or turn it around, such as those
// that change the direction of writing. Emoji keep what joins them.
func visible(said string) string {
	var b strings.Builder
	for _, r := range strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\r\n", "\n") {
		hides := unicode.IsControl(r) && r != '\n' && r != '\t' ||
			unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point) && r != '\u200c' && r != '\u200d'
		if hides {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// outcome says what became of an approval.
func outcome(approval pluginsdk.Approval) string {
	by := within(line(approval.Author, byUnits, "somebody"), byUnits)
	said := ""
	switch approval.State { //nolint:exhaustive // open has no outcome
	case pluginsdk.ApprovalAllowed:
		said = "✅ allowed by " + by
		for _, choice := range approval.Choices {
			if choice.ID == approval.Choice {
				said = "✅ " + within(line(choice.Label, byUnits, "allowed"), byUnits) + ", by " + by
			}
		}
		if approval.Choice == "" && len(approval.Answers) > 0 {
			said = "✅ answered by " + by + ": " + within(answerLine(approval.Answers), wordUnits)
		}
	case pluginsdk.ApprovalDenied:
		said = "⛔ denied by " + by
	case pluginsdk.ApprovalExpired:
		return "⌛ nobody answered in time: denied"
	case pluginsdk.ApprovalWithdrawn:
		return "its run is over: nothing is to be decided any more"
	}
	if approval.Words != "" {
		said += ": " + within(line(approval.Words, wordUnits, ""), wordUnits)
	}
	return said
}

// answerLine is what the agent's questions were answered with.
func answerLine(answers []pluginsdk.QuestionAnswer) string {
	var said []string
	for _, answer := range answers {
		words := slices.Clone(answer.Labels)
		if answer.Text != "" {
			words = append(words, answer.Text)
		}
		said = append(said, strings.Join(words, ", "))
	}
	return line(strings.Join(said, "; "), wordUnits, "")
}

const buttonText = 80 // characters of a button's label

// cardButtons are the choices of an approval. Who denies is asked for a reason first; what
// no choice says is said in a form.
func cardButtons(approval pluginsdk.Approval) []discordgo.MessageComponent {
	const most = 25
	var all []discordgo.Button
	form := discordgo.Button{Label: "Answer", Style: discordgo.PrimaryButton, CustomID: press.ID{Action: press.Answer, Of: approval.ID}.String()}
	picks := slices.ContainsFunc(approval.Choices, func(c pluginsdk.ApprovalChoice) bool { return c.Allow })
	if len(approval.Questions) > 0 && !picks {
		all = append(all, form)
	}
	for n, choice := range approval.Choices {
		button := discordgo.Button{Label: line(choice.Label, buttonText, choice.ID), CustomID: press.Choice(approval, n).String(), Style: discordgo.SecondaryButton}
		switch {
		case choice.ID == deny:
			button.Style, button.CustomID = discordgo.DangerButton, press.ID{Action: press.Deny, Of: approval.ID}.String()
		case choice.Allow && choice.Rule == "":
			button.Style = discordgo.SuccessButton
		}
		all = append(all, button)
	}
	if len(approval.Questions) > 0 && picks {
		form.Label, form.Style = "In words", discordgo.SecondaryButton
		all = append(all, form)
	}
	if len(all) > most { // the last ones say no, or anything
		all = slices.Delete(all, most-2, len(all)-2)
	}
	return buttons(all...)
}
