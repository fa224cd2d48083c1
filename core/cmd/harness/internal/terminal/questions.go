package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// Unread is how soon after a question was shown a line cannot be its answer: nobody has
	// read it by then.
	Unread = time.Second
	// later puts a question off, and now takes those up again that were put off.
	later = "/later"
	now   = "/now"
)

// questions are what the agent asks in a thread, or in a run, while a person is there: shown
// one after the other, and answered in lines. What a person types at that moment may be
// meant for something else. So a line is taken for an answer only when it is one, never
// when it came too soon to be one, and is lost in no case.
type questions struct {
	client *client.Client
	screen *Screen
	query  pluginsdk.ApprovalQuery // whose they are
	// tell has questions shown on a line each, and answered by nobody here.
	tell   bool
	unread time.Duration
	// follow, when set, is told of the run of a question before that is shown.
	follow func(ctx context.Context, approval pluginsdk.Approval)

	open  []*question // the first one is shown
	late  []*question // those that were put off
	known map[string]bool
	// stray says that the question which was shown is gone by itself: its answer may be on
	// its way.
	stray bool
}

// Author is in whose name the terminal answers, when its daemon knows nobody by a token.
func Author() string {
	if who, err := user.Current(); err == nil {
		return who.Username
	}
	return ""
}

// asking reports whether a question is shown.
func (q *questions) asking() bool { return q != nil && len(q.open) > 0 }

// heed deals with an event, and reports whether it was about a question.
func (q *questions) heed(ctx context.Context, event pluginsdk.Event) bool {
	about := payload[pluginsdk.ApprovalPayload](event)
	switch event.Type { //nolint:exhaustive // the others are of no question
	case pluginsdk.EventApprovalRequested:
		q.ask(ctx, about.ApprovalID)
	case pluginsdk.EventApprovalResolved:
		q.end(ctx, about.ApprovalID)
	default:
		return false
	}
	return true
}

// look reads what is open: at the start, and when events may have been missed.
func (q *questions) look(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, aside)
	query := q.query
	query.States = []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}
	found, err := q.client.Approvals(bounded, query)
	cancel()
	if err != nil {
		return // a daemon that has none, or is away: it is looked again when it is back
	}
	for _, one := range slices.Concat(q.open, q.late) {
		if !slices.ContainsFunc(found, func(a pluginsdk.Approval) bool { return a.ID == one.ID }) {
			q.end(ctx, one.ID)
		}
	}
	for _, approval := range found {
		q.ask(ctx, approval.ID)
	}
}

// ask puts a question behind those that are open, once.
func (q *questions) ask(ctx context.Context, id string) {
	if q.known[id] {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	approval, err := q.client.Approval(bounded, id)
	if err != nil {
		q.screen.Line(q.screen.Yellow(fmt.Sprintf("(the agent asks something, which cannot be read: %s; harness approvals show %s)", Clean(err.Error()), Clean(id))))
		return
	}
	if q.known == nil {
		q.known = make(map[string]bool)
	}
	q.known[id] = true
	if approval.State != pluginsdk.ApprovalOpen {
		return
	}
	if q.follow != nil {
		q.follow(bounded, approval)
	}
	one := &question{Approval: approval, who: q.who(bounded, approval)}
	if q.tell {
		q.late = append(q.late, one)
		q.screen.Line(q.screen.Yellow("? ") + cmp.Or(one.who, theAgent) + " asks: " + TitleOf(approval))
		q.screen.Line("  " + q.screen.Dim("(it waits for an answer: harness approvals show "+Clean(id)+")"))
		return
	}
	if q.open = append(q.open, one); len(q.open) == 1 {
		q.show(true)
	}
}

// whoLimit is how much is shown of the name of a task that asks, in characters.
const whoLimit = 60

// who names what asks in a thread below the one whose questions these are: a task, mostly.
func (q *questions) who(ctx context.Context, approval pluginsdk.Approval) string {
	if q.query.ThreadID == "" || approval.ThreadID == q.query.ThreadID {
		return ""
	}
	thread, err := q.client.Thread(ctx, approval.ThreadID)
	kind, name := theAgent+" in the thread", Short(thread.Name, whoLimit)
	if thread.Kind == pluginsdk.ThreadTask {
		kind = "The task"
	}
	if err != nil || name == "" {
		return kind + " " + Clean(approval.ThreadID)
	}
	return kind + " “" + name + "”"
}

// show shows the first question. doubt says that the person may be typing at something else.
func (q *questions) show(doubt bool) {
	if len(q.open) == 0 {
		return
	}
	one := q.open[0]
	one.shown, one.doubt = time.Now(), doubt
	one.show(q.screen)
	q.stray = false
}

// end takes a question away that was answered elsewhere, or is over.
func (q *questions) end(ctx context.Context, id string) {
	is := func(one *question) bool { return one.ID == id }
	shown := len(q.open) > 0 && is(q.open[0])
	n := slices.IndexFunc(slices.Concat(q.open, q.late), is)
	if n < 0 {
		return
	}
	one := slices.Concat(q.open, q.late)[n]
	q.open, q.late = slices.DeleteFunc(q.open, is), slices.DeleteFunc(q.late, is)
	bounded, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	words := "it is over"
	if approval, err := q.client.Approval(bounded, id); err == nil {
		words = Decided(approval)
	}
	if !shown {
		words = TitleOf(one.Approval) + ": " + words
	}
	q.screen.Line(q.screen.Yellow("(" + words + ")"))
	if !shown {
		return
	}
	q.unsent(one)
	q.stray = true
	q.show(true)
}

// line deals with a line of the person's. What it returns is none of its business: it is to
// be said, or done; empty: nothing is left to do.
func (q *questions) line(ctx context.Context, line string) (rest string) {
	if q == nil || q.tell {
		return line
	}
	if line == now {
		q.takeUp()
		return ""
	}
	if len(q.open) == 0 {
		if line == later {
			q.screen.Line(q.screen.Dim("(the agent asks nothing)"))
			return ""
		}
		stray := q.stray && line != ""
		q.stray = q.stray && line == ""
		if !stray || !meantAsAnswer(line) {
			return line
		}
		q.screen.Line(q.screen.Yellow("(the question is gone, and “" + Clean(line) + "” was not sent; enter it again to say it)"))
		return ""
	}
	one := q.open[0]
	if line == later {
		return q.putOff(one)
	}
	if _, _, command := pluginsdk.ParseCommand(line); command {
		return line
	}
	confirmed := line == "" && one.held != ""
	if confirmed {
		line, one.held = one.held, ""
	}
	kind, part, whole := one.read(line)
	_, ofQuestion := one.current()
	switch {
	case line == "":
	case !confirmed && time.Since(one.shown) < q.unread:
		q.unsent(one)
		one.held = line
		q.screen.Line(q.screen.Yellow("(you can hardly have read that when you entered “" + Clean(line) + "”: Enter answers with it, " + later + " keeps it for the conversation)"))
	case kind == readPart:
		q.part(ctx, one, part)
	case kind == readWhole:
		q.decide(ctx, one, whole)
	case ofQuestion && (confirmed || !one.doubt):
		q.part(ctx, one, pluginsdk.QuestionAnswer{Text: line})
	case !ofQuestion && confirmed:
		denied, ok := one.denied(line)
		if !ok {
			q.screen.Line(q.screen.Yellow("(that is none of the answers)"))
			break
		}
		q.decide(ctx, one, denied)
	default:
		q.unsent(one)
		one.held = line
		what := "denies it, with these words to the agent"
		if ofQuestion {
			what = "answers with these words"
		}
		q.screen.Line(q.screen.Yellow("(Enter " + what + "; " + later + " says them in the conversation instead)"))
	}
	one.doubt = one.doubt && len(q.open) > 0 && q.open[0] == one && one.held != ""
	return ""
}

// meantAsAnswer reports whether a line is hardly something to say in a conversation.
func meantAsAnswer(line string) bool {
	return strings.Trim(line, "0123456789, ") == "" || slices.Contains([]string{"y", "yes", "n", "no"}, strings.ToLower(line))
}

// unsent tells of a line that was held back for a question which needs it no more.
func (q *questions) unsent(one *question) {
	if one.held != "" {
		q.screen.Line(q.screen.Yellow("(what you had entered was not sent: " + Clean(one.held) + ")"))
	}
	one.held = ""
}

// putOff puts the question that is shown off, and returns what was held back for it.
func (q *questions) putOff(one *question) (held string) {
	held, one.held = one.held, ""
	q.open, q.late = q.open[1:], append(q.late, one)
	q.screen.Line(q.screen.Dim("(put off: " + now + " takes it up again, and so does harness approvals show " + Clean(one.ID) + ")"))
	q.show(false)
	return held
}

// takeUp shows what was put off.
func (q *questions) takeUp() {
	if len(q.late) == 0 && len(q.open) == 0 {
		q.screen.Line(q.screen.Dim("(the agent asks nothing)"))
	}
	q.open, q.late = append(q.open, q.late...), nil
	q.show(false)
}

// part takes the answer to one question of several, and hands them in after the last.
func (q *questions) part(ctx context.Context, one *question, answer pluginsdk.QuestionAnswer) {
	one.answers = append(one.answers, answer)
	if len(one.answers) < len(one.Questions) {
		one.show(q.screen)
		return
	}
	if !q.decide(ctx, one, client.ApprovalAnswer{Answers: one.answers}) {
		one.answers = one.answers[:len(one.answers)-1]
	}
}

// decide hands an answer in. When the daemon cannot take it now the question stays.
func (q *questions) decide(ctx context.Context, one *question, answer client.ApprovalAnswer) (taken bool) {
	bounded, cancel := context.WithTimeout(ctx, aside)
	defer cancel()
	answer.Author = Author()
	decided, err := q.client.Decide(bounded, one.ID, answer)
	var problem *client.Problem
	switch {
	case err == nil:
		words := map[pluginsdk.ApprovalState]string{pluginsdk.ApprovalAllowed: "allowed", pluginsdk.ApprovalDenied: "denied"}[decided.State]
		if decided.Kind == pluginsdk.ApprovalQuestion && decided.State == pluginsdk.ApprovalAllowed {
			words = "answered"
		}
		for _, choice := range decided.Choices {
			if choice.ID == decided.Choice && choice.Rule != "" {
				words += "; from now on, unasked: " + OneLine(choice.Rule)
			}
		}
		q.screen.Line(q.screen.Dim("(" + words + ")"))
	case errors.As(err, &problem) && (problem.Status == http.StatusConflict || problem.Status == http.StatusNotFound):
		q.screen.Line(q.screen.Yellow("(" + Clean(err.Error()) + ")"))
	case errors.As(err, &problem) && problem.Status == http.StatusForbidden: // it is for somebody else, who may
		q.screen.Line(q.screen.Red("✗ " + Clean(err.Error())))
		q.unsent(one)
		q.putOff(one)
		return false
	default:
		q.screen.Line(q.screen.Red("✗ " + Clean(err.Error()) + "; answer again"))
		return false
	}
	q.unsent(one)
	q.open = slices.DeleteFunc(q.open, func(other *question) bool { return other == one })
	q.show(false)
	return true
}
