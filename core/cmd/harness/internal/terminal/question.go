package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// askedLines is how many lines are shown of what can be long, the last few of them from
	// its end.
	askedLines = 60
	askedEnd   = 15
	// answerPrefix is what the ids of choices begin with that answer a question.
	answerPrefix = "answer:"
	denyChoice   = "deny"
	theAgent     = "The agent"
)

// question is an approval that a person is asked about, of the kind question one of its
// questions after the other.
type question struct {
	pluginsdk.Approval
	who     string                     // asks; empty: the agent of the conversation
	answers []pluginsdk.QuestionAnswer // those that were given so far

	shown time.Time
	// doubt says that a line may have been begun before this was shown: it is taken for an
	// answer only if it can hardly be anything else.
	doubt bool
	held  string // a line that may be meant as the answer, or may not
}

// current is the question that is asked now; false: the approval is of another kind.
func (q *question) current() (pluginsdk.AgentQuestion, bool) {
	if q.Kind != pluginsdk.ApprovalQuestion || len(q.answers) >= len(q.Questions) {
		return pluginsdk.AgentQuestion{}, false
	}
	return q.Questions[len(q.answers)], true
}

// whole are the choices that answer all of the approval.
func (q *question) whole() []pluginsdk.ApprovalChoice {
	if q.Kind != pluginsdk.ApprovalQuestion {
		return q.Choices
	}
	return slices.DeleteFunc(slices.Clone(q.Choices), func(c pluginsdk.ApprovalChoice) bool { return strings.HasPrefix(c.ID, answerPrefix) })
}

// What a line is to a question.
const (
	readNothing = iota // no answer that can be told: words
	readPart           // it answers the current question
	readWhole          // it answers the approval
)

// read says what a line answers.
func (q *question) read(line string) (kind int, part pluginsdk.QuestionAnswer, whole client.ApprovalAnswer) {
	first, words, _ := strings.Cut(line, " ")
	words = strings.TrimSpace(words)
	asked, ofQuestion := q.current()
	if ofQuestion {
		if answer, err := AnswerTo(asked, line); err == nil && len(answer.Labels) > 0 {
			return readPart, answer, whole
		}
	}
	choices := q.whole()
	if n, err := strconv.Atoi(strings.TrimSuffix(first, ".")); err == nil {
		if n -= len(asked.Options); n < 1 || n > len(choices) {
			return readNothing, part, whole
		}
		choice := choices[n-1]
		if words != "" && choice.Allow {
			return readNothing, part, whole // words make it something else than a yes
		}
		return readWhole, part, client.ApprovalAnswer{Choice: choice.ID, Words: words}
	}
	if ofQuestion {
		return readNothing, part, whole
	}
	switch strings.ToLower(strings.TrimRight(first, ".,!:")) {
	case "y", "yes":
		if n := slices.IndexFunc(choices, func(c pluginsdk.ApprovalChoice) bool { return c.Allow && c.Rule == "" }); n >= 0 && words == "" {
			return readWhole, part, client.ApprovalAnswer{Choice: choices[n].ID}
		}
	case "n", "no":
		if denied, ok := q.denied(words); ok {
			return readWhole, part, denied
		}
	}
	return readNothing, part, whole
}

// denied is the answer that denies with words; false: there is none.
func (q *question) denied(words string) (client.ApprovalAnswer, bool) {
	n := slices.IndexFunc(q.Choices, func(c pluginsdk.ApprovalChoice) bool { return c.ID == denyChoice })
	return client.ApprovalAnswer{Choice: denyChoice, Words: words}, n >= 0
}

// AnswerTo reads a person's answer to a question of the agent: numbers of options from 1,
// separated by commas, or the label of one; else it is in words.
func AnswerTo(question pluginsdk.AgentQuestion, text string) (pluginsdk.QuestionAnswer, error) {
	text = strings.TrimSpace(text)
	for _, option := range question.Options {
		if strings.EqualFold(option.Label, text) {
			return pluginsdk.QuestionAnswer{Labels: []string{option.Label}}, nil
		}
	}
	var labels []string
	for _, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil {
			return pluginsdk.QuestionAnswer{Text: text}, nil
		}
		if n < 1 || n > len(question.Options) {
			return pluginsdk.QuestionAnswer{}, fmt.Errorf("there is no option %d; there are %d", n, len(question.Options))
		}
		if label := question.Options[n-1].Label; !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if len(labels) > 1 && !question.Multiple {
		return pluginsdk.QuestionAnswer{}, fmt.Errorf("one option is wanted, and these are %d", len(labels))
	}
	return pluginsdk.QuestionAnswer{Labels: labels}, nil
}

// Asked is how an approval is shown: what is asked, in the agent's words, with nothing in
// them hidden. More says how to read what is left out of something long.
func Asked(s Style, approval pluginsdk.Approval, more string) []string {
	lines := make([]string, 0, 8)
	text := strings.TrimRight(approval.Text, "\n")
	if text == "" && approval.Kind != pluginsdk.ApprovalQuestion {
		text = string(approval.Input)
	}
	if text != "" {
		all := strings.Split(Visible(text), "\n")
		for n, line := range all {
			if skipped := len(all) - askedLines; skipped > 0 && more != "" && n >= askedLines-askedEnd && n < len(all)-askedEnd {
				if n == askedLines-askedEnd {
					lines = append(lines, "  "+s.Yellow(fmt.Sprintf("... %d lines are left out here; %s", skipped, more)))
				}
				continue
			}
			lines = append(lines, "    "+line) // an indented line is not broken
		}
	}
	if approval.Cwd != "" {
		lines = append(lines, "  "+s.Dim("in "+OneLine(approval.Cwd)))
	}
	if approval.Note != "" {
		lines = append(lines, "  "+s.Yellow("! "+OneLine(approval.Note)))
	}
	return lines
}

// OneLine shows all of a text on one line.
func OneLine(text string) string {
	return Visible(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), " "))
}

// TitleOf is what an approval asks, on a line.
func TitleOf(approval pluginsdk.Approval) string {
	title := []rune(OneLine(approval.Title))
	if len(title) > detailLimit {
		return string(title[:detailLimit-1]) + "…"
	}
	return string(title)
}

// show writes the question with what can be answered.
func (q *question) show(screen *Screen) {
	asked, ofQuestion := q.current()
	if len(q.answers) == 0 {
		asks := " asks: "
		if q.Kind == pluginsdk.ApprovalPlan {
			asks = " has a plan: "
		}
		screen.Line(screen.Yellow("? ") + screen.Bold(cmp.Or(q.who, theAgent)+asks+TitleOf(q.Approval)))
		for _, line := range Asked(screen.Style, q.Approval, "harness approvals show "+Clean(q.ID)+" has all of it") {
			screen.Line(line)
		}
	}
	if ofQuestion {
		head := OneLine(asked.Text)
		if len(q.Questions) > 1 {
			head = fmt.Sprintf("%d of %d: %s", len(q.answers)+1, len(q.Questions), head)
		}
		if head != TitleOf(q.Approval) { // which is the question where there is one
			screen.Line("  " + screen.Bold(head))
		}
		for n, option := range asked.Options {
			screen.Line(item(screen.Style, n+1, option.Label, option.Description))
		}
	}
	for n, choice := range q.whole() {
		about := ""
		if choice.Rule != "" && !strings.Contains(choice.Label, choice.Rule) {
			about = "from now on, unasked: " + choice.Rule
		}
		screen.Line(item(screen.Style, len(asked.Options)+n+1, choice.Label, about))
	}
}

// item is a line about one thing that can be answered.
func item(s Style, number int, label, about string) string {
	line := fmt.Sprintf("  %d. %s", number, OneLine(label))
	if about != "" {
		line += " " + s.Dim("- "+OneLine(about))
	}
	return line
}

// prompt says what can be entered.
func (q *question) prompt() string {
	asked, ofQuestion := q.current()
	all := len(asked.Options) + len(q.whole())
	numbers := "1"
	if all > 1 {
		numbers = fmt.Sprintf("1-%d", all)
	}
	switch {
	case !ofQuestion:
		return numbers + ", y, n WORDS, /later> "
	case all == 0:
		return "words, /later> "
	case asked.Multiple:
		return numbers + " (several with commas), words, /later> "
	}
	return numbers + ", words, /later> "
}

// Decided says how an approval was answered, and by whom.
func Decided(approval pluginsdk.Approval) string {
	by := ""
	switch {
	case approval.Origin.Token != "":
		by = " by " + OneLine(approval.Label().String())
	case approval.Author != "":
		by = " by " + OneLine(approval.Author)
	}
	if approval.Plugin != "" && approval.Origin.Token == "" {
		by += " through " + OneLine(approval.Plugin)
	}
	words := ""
	if approval.Words != "" {
		words = ": " + Short(approval.Words, detailLimit)
	}
	switch approval.State {
	case pluginsdk.ApprovalAllowed:
		if approval.Kind == pluginsdk.ApprovalQuestion {
			return "answered" + by
		}
		return "allowed" + by
	case pluginsdk.ApprovalDenied:
		return "denied" + by + words
	case pluginsdk.ApprovalExpired:
		return "nobody answered in time, which denies it"
	case pluginsdk.ApprovalWithdrawn:
		return "withdrawn: its run is over"
	case pluginsdk.ApprovalOpen:
	}
	return "open"
}
