package approvals

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/approvals/rules"
	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// The tools of the CLI that ask something else than to be used.
const (
	toolQuestion = "AskUserQuestion"
	toolPlan     = "ExitPlanMode"
)

// The choices that every approval has, and how those of a single question begin.
const (
	choiceAllow  = "allow"
	choiceDeny   = "deny"
	choiceRule   = "rule:"
	choiceAnswer = "answer:"
)

// Bounds of what is stored of a question, in bytes; and how many a run may have open.
const (
	maxInput = 64 << 10
	maxText  = 32 << 10
	maxPlan  = 64 << 10 // of a plan, which people are to see whole
	maxTitle = 200
	maxOpen  = 100
)

// failedWords end every denial that no person has given.
const failedWords = "go on without it if you can; otherwise say in your reply what you need it for, and ask the person to allow it."

func kindOf(tool string) pluginsdk.ApprovalKind {
	switch tool {
	case toolQuestion:
		return pluginsdk.ApprovalQuestion
	case toolPlan:
		return pluginsdk.ApprovalPlan
	}
	return pluginsdk.ApprovalTool
}

// nobody says why nobody is asked, to the agent; false: people are.
func (a *Approvals) nobody(of ledger.Asking, tool string, open int) (words string, nobody bool) {
	switch {
	case open >= maxOpen:
		return fmt.Sprintf("%d questions are open already; wait for their answers.", open), true
	case of.Thread.ID == "":
		return denialOf(tool), true
	case a.AskUnattended:
	case of.Turn || of.Unattended, of.Thread.Kind == pluginsdk.ThreadCron && of.Thread.AskTools == "":
		return denialOf(tool), true
	}
	asks := of.Thread.AskTools
	if asks == "" {
		asks = a.AskTools
	}
	names := strings.Fields(asks)
	if slices.ContainsFunc(names, func(name string) bool {
		prefix, rest := strings.CutSuffix(name, "*")
		return name == "all" || name == tool || rest && strings.HasPrefix(tool, prefix)
	}) {
		return "", false
	}
	return denialOf(tool), true
}

// denialOf is what the agent is told where nobody is asked.
func denialOf(tool string) string {
	switch kindOf(tool) {
	case pluginsdk.ApprovalQuestion:
		return "Nobody is there to answer. Ask the person in your reply and end your turn; the answer comes as the next message."
	case pluginsdk.ApprovalPlan:
		return "Nobody is there to approve a plan. Write it in your reply and end your turn; the person answers with the next message."
	case pluginsdk.ApprovalTool:
	}
	return tool + " is not permitted here: " + failedWords
}

// denial is what the agent is told of an approval that did not allow what it asked.
func denial(a pluginsdk.Approval) string {
	if a.State == pluginsdk.ApprovalExpired {
		return "Nobody answered in time. Do not ask the same again: " + failedWords
	}
	words := fmt.Sprintf("%s said no.", named(a.Author, ""))
	if a.Words != "" {
		words += " They say: " + a.Words
	}
	return words
}

// newApproval makes the question that people are shown.
func (a *Approvals) newApproval(of ledger.Asking, ask ledger.ToolAsk, call rules.Call) ledger.Approval {
	now := a.Now()
	made := ledger.Approval{
		Approval: pluginsdk.Approval{
			ThreadID: of.Thread.ID, RunID: of.RunID, Kind: kindOf(ask.Tool), State: pluginsdk.ApprovalOpen, Tool: ask.Tool,
			Input: ask.Input, Note: ask.Reason, Cwd: ask.Cwd, CreatedAt: now, ExpiresAt: now.Add(a.Expiry),
		},
		Attempt: of.Attempt,
	}
	if of.Fence.Beside() { // it cannot be parked, and must not keep its process for days
		made.ExpiresAt = now.Add(min(a.Expiry, a.ParkAfter))
	}
	if len(made.Input) > maxInput {
		made.Input = nil
	}
	switch made.Kind {
	case pluginsdk.ApprovalQuestion:
		made.Questions = questionsIn(ask.Input)
		made.Title = "The agent asks"
		made.Choices = questionChoices(made.Questions)
		if len(made.Questions) == 1 {
			made.Title = short(made.Questions[0].Text)
		}
	case pluginsdk.ApprovalPlan:
		made.Title, made.Text = "The agent has a plan", bounded(field(ask.Input, "plan"), maxPlan)
		if path := field(ask.Input, "planFilePath"); path != "" {
			made.Text += "\n\nThe plan is kept in " + path
		}
		made.Choices = []pluginsdk.ApprovalChoice{{ID: choiceAllow, Label: "Carry it out", Allow: true}, {ID: choiceDeny, Label: "Keep planning"}}
	case pluginsdk.ApprovalTool:
		made.Title, made.Text = callWords(ask)
		made.Choices = []pluginsdk.ApprovalChoice{{ID: choiceAllow, Label: "Allow once", Allow: true}}
		made.Offers = make(map[string]pluginsdk.ApprovalRule)
		for i, rule := range rules.Offers(call) {
			id := choiceRule + strconv.Itoa(i+1)
			made.Offers[id] = rule
			made.Choices = append(made.Choices, pluginsdk.ApprovalChoice{ID: id, Label: "Always: " + short(rule.Text), Allow: true, Rule: rule.Text})
		}
		made.Choices = append(made.Choices, pluginsdk.ApprovalChoice{ID: choiceDeny, Label: "Deny"})
	}
	return made
}

// callWords says what a call is, as a line and in full: people allow all of its input, so
// all of it is there. Of a command only what is not said otherwise follows it.
func callWords(ask ledger.ToolAsk) (title, text string) {
	what := ""
	for _, name := range []string{"command", "file_path", "notebook_path", "url", "query", "path", "pattern"} {
		if what = field(ask.Input, name); what != "" {
			break
		}
	}
	title = ask.Tool
	if what != "" {
		title += ": " + what
	} else if ask.About != "" {
		title += ": " + ask.About
	}
	if command := field(ask.Input, "command"); command != "" {
		text = command
		if more := besideCommand(ask); more != "" {
			text += "\n\nand " + more
		}
	} else {
		text = indented(ask.Input)
	}
	if ask.About != "" && ask.About != what {
		text = ask.About + "\n\n" + text
	}
	return short(title), bounded(text, maxText)
}

// besideCommand is what a call's input says beside its command; empty: nothing of weight.
func besideCommand(ask ledger.ToolAsk) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(ask.Input, &fields) != nil {
		return indented(ask.Input)
	}
	delete(fields, "command")
	if ask.Tool == "Bash" { // its description is said already
		delete(fields, "description")
		delete(fields, "timeout")
		maps.DeleteFunc(fields, func(_ string, value json.RawMessage) bool { return string(value) == "false" || string(value) == "null" })
	}
	if len(fields) == 0 {
		return ""
	}
	return indented(fields)
}

// indented is a value as JSON for people.
func indented(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprintf("%s", value) // what is no JSON, as it is
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// field returns a text of a call's input; empty: it has none of that name.
func field(input json.RawMessage, name string) string {
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(input, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return text
}

// short is the first line of a text, cut for a title.
func short(text string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxTitle {
		return strings.ToValidUTF8(line[:maxTitle], "") + "…"
	}
	if rest != "" {
		line += " …"
	}
	return line
}

// bounded cuts a text, with a mark that says so.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n[cut here: %d of %d bytes are left out]", len(text)-most, len(text))
}

// questionInput is what AskUserQuestion is called with.
type questionInput struct {
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
		MultiSelect bool `json:"multiSelect"`
	} `json:"questions"`
}

func questionsIn(input json.RawMessage) (questions []pluginsdk.AgentQuestion) {
	var asked questionInput
	if json.Unmarshal(input, &asked) != nil {
		return nil
	}
	for _, q := range asked.Questions {
		question := pluginsdk.AgentQuestion{Text: q.Question, Header: q.Header, Multiple: q.MultiSelect}
		for _, o := range q.Options {
			question.Options = append(question.Options, pluginsdk.QuestionOption{Label: o.Label, Description: o.Description})
		}
		questions = append(questions, question)
	}
	return questions
}

// questionChoices are the options of a single question that takes one, and no answer.
func questionChoices(questions []pluginsdk.AgentQuestion) (choices []pluginsdk.ApprovalChoice) {
	if len(questions) == 1 && !questions[0].Multiple {
		for i, option := range questions[0].Options {
			choices = append(choices, pluginsdk.ApprovalChoice{ID: choiceAnswer + strconv.Itoa(i+1), Label: option.Label, Allow: true})
		}
	}
	return append(choices, pluginsdk.ApprovalChoice{ID: choiceDeny, Label: "No answer"})
}

func choiceIDs(choices []pluginsdk.ApprovalChoice) string {
	ids := make([]string, len(choices))
	for i, choice := range choices {
		ids[i] = choice.ID
	}
	return strings.Join(ids, ", ")
}

// answersTo checks the answers to the agent's questions: one for each, with options that
// there are.
func answersTo(of pluginsdk.Approval, request pluginsdk.DecideApprovalRequest) ([]pluginsdk.QuestionAnswer, error) {
	answers := request.Answers
	if n, ok := strings.CutPrefix(request.Choice, choiceAnswer); ok && len(answers) == 0 {
		at, err := strconv.Atoi(n)
		if err != nil || len(of.Questions) != 1 || at < 1 || at > len(of.Questions[0].Options) {
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "choice: %.100q is not one of %s", request.Choice, choiceIDs(of.Choices))
		}
		answers = []pluginsdk.QuestionAnswer{{Labels: []string{of.Questions[0].Options[at-1].Label}}}
	} else if request.Choice != "" && !ok {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "choice: %.100q is not one of %s", request.Choice, choiceIDs(of.Choices))
	}
	if len(answers) != len(of.Questions) {
		return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: there are %d questions and %d answers", len(of.Questions), len(answers))
	}
	size := 0
	for i, answer := range answers {
		question := of.Questions[i]
		size += len(answer.Text)
		switch {
		case size > ledger.MaxAnswerWords:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: at most %d bytes together, these have more", ledger.MaxAnswerWords)
		case len(answer.Labels) == 0 && strings.TrimSpace(answer.Text) == "":
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: the question %q has none", question.Text)
		case len(answer.Labels) > 1 && !question.Multiple:
			return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: the question %q takes one option", question.Text)
		}
		for _, label := range answer.Labels {
			if !slices.ContainsFunc(question.Options, func(o pluginsdk.QuestionOption) bool { return o.Label == label }) {
				return nil, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: %.100q is not an option of the question %q", label, question.Text)
			}
		}
	}
	return answers, nil
}

// answerText is an answer as the agent reads it.
func answerText(answer pluginsdk.QuestionAnswer) string {
	parts := slices.Clone(answer.Labels)
	if text := strings.TrimSpace(answer.Text); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// answeredInput is what a call that was allowed is made with; nil: what it was asked with.
func answeredInput(of pluginsdk.Approval, asked json.RawMessage) (json.RawMessage, error) {
	if of.Kind != pluginsdk.ApprovalQuestion {
		return nil, nil
	}
	var input map[string]json.RawMessage
	if err := json.Unmarshal(asked, &input); err != nil {
		return nil, fmt.Errorf("the question cannot be read any more: %w", err)
	}
	answers := make(map[string]string)
	for i, answer := range of.Answers {
		if i < len(of.Questions) {
			answers[of.Questions[i].Text] = answerText(answer)
		}
	}
	encoded, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	input["answers"] = encoded
	return json.Marshal(input)
}

// spentNote is for a question that was allowed in the run before, and may be done.
func spentNote(before ledger.Approval) string {
	return fmt.Sprintf("%s allowed this once before in this run, at %s: it may already have been done.",
		named(before.Author, before.Plugin), before.DecidedAt.Format(time.TimeOnly+" MST"))
}

// saidOf is the line in the thread about an answer.
func saidOf(of pluginsdk.Approval, d ledger.ApprovalDecision, rule string) string {
	name := named(d.By.Author, d.By.Plugin)
	var said string
	switch {
	case of.Kind == pluginsdk.ApprovalQuestion && d.State == pluginsdk.ApprovalAllowed:
		said = name + " answered"
		for i, answer := range d.Answers {
			said += fmt.Sprintf("\n%s %s", of.Questions[i].Text, answerText(answer))
		}
	case d.State == pluginsdk.ApprovalAllowed && rule != "":
		said = fmt.Sprintf("%s allowed it, and from now on: %s\n%s", name, rule, of.Title)
	case d.State == pluginsdk.ApprovalAllowed:
		said = fmt.Sprintf("%s allowed it once: %s", name, of.Title)
	default:
		said = fmt.Sprintf("%s denied it: %s", name, of.Title)
	}
	if d.Words != "" {
		said += "\n" + d.Words
	}
	return bounded(said, maxText)
}

// overWords says how an approval ended, to who answers too late.
func overWords(a pluginsdk.Approval) string {
	at := a.DecidedAt.Format(time.RFC3339)
	switch a.State {
	case pluginsdk.ApprovalAllowed:
		return fmt.Sprintf("%s allowed it already, at %s", named(a.Author, a.Plugin), at)
	case pluginsdk.ApprovalDenied:
		return fmt.Sprintf("%s denied it already, at %s", named(a.Author, a.Plugin), at)
	case pluginsdk.ApprovalExpired:
		return "nobody answered in time: it expired at " + at
	case pluginsdk.ApprovalOpen:
		return "nothing waits for it any more: its run is over"
	case pluginsdk.ApprovalWithdrawn:
	}
	return "it was taken back at " + at + ": its run is over"
}
