package chat

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/seed-706843ae/harness/plugins/web/internal/api"
	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// shownAsks is how many of the agent's questions a conversation shows at once.
const shownAsks = 8

// asks are the questions of a thread's agent, and of those below it, that are open.
type asks struct {
	ThreadID string
	Open     []pluginsdk.Approval
	More     bool // there are others
}

// asks reads them, the oldest first, each with all that it asks.
func (c *chat) asks(ctx context.Context, threadID string) (found asks, err error) {
	var page struct {
		Approvals []pluginsdk.Approval `json:"approvals"`
		More      bool                 `json:"more"`
	}
	err = c.Get(ctx, "/api/approvals", url.Values{
		"thread": {threadID}, "below": {"true"}, "state": {"open"}, "newest": {"false"}, "limit": {strconv.Itoa(shownAsks)},
	}, &page)
	if status := site.Status(err); status == http.StatusForbidden || status == http.StatusNotFound {
		return asks{ThreadID: threadID}, nil // the plugin was not granted to read them: nothing is asked here
	}
	if err != nil {
		return asks{}, err
	}
	whole, inner := errgroup.WithContext(ctx)
	for i := range page.Approvals {
		whole.Go(func() error {
			return c.Get(inner, "/api/approvals/"+url.PathEscape(page.Approvals[i].ID), nil, &page.Approvals[i])
		})
	}
	err = whole.Wait()
	return asks{ThreadID: threadID, Open: page.Approvals, More: page.More}, err
}

// decide hands in a person's answer to a question of the agent.
func (c *chat) decide(r *http.Request) (site.Done, error) {
	form := r.PostForm
	answer := api.DecideApprovalRequest{Choice: form.Get("choice"), Words: strings.TrimSpace(form.Get("words"))}
	if answer.Choice == "" {
		n, err := strconv.Atoi(form.Get("questions"))
		if err != nil || n < 1 || n > 100 {
			return site.Done{}, &site.Problem{Status: http.StatusUnprocessableEntity, Detail: "choose one of the answers"}
		}
		for i := range n {
			given := pluginsdk.QuestionAnswer{Labels: form["q"+strconv.Itoa(i)], Text: strings.TrimSpace(form.Get("t" + strconv.Itoa(i)))}
			if len(given.Labels) == 0 && given.Text == "" {
				return site.Done{}, &site.Problem{Status: http.StatusUnprocessableEntity, Detail: "answer each of the questions: choose one of what is offered, or write"}
			}
			answer.Answers = append(answer.Answers, given)
		}
	}
	err := c.Post(r.Context(), "/api/approvals/"+url.PathEscape(form.Get("id"))+"/decide", answer, nil)
	return site.Done{To: path(r.PathValue("thread"))}, err
}

// rules are the choices of a question that allow more than this once.
func rules(choices []pluginsdk.ApprovalChoice) (lasting []pluginsdk.ApprovalChoice) {
	for _, choice := range choices {
		if choice.Rule != "" {
			lasting = append(lasting, choice)
		}
	}
	return lasting
}

// once are the choices that are for this once: to allow, first, and to deny.
func once(choices []pluginsdk.ApprovalChoice, allow bool) (now []pluginsdk.ApprovalChoice) {
	for _, choice := range choices {
		if choice.Rule == "" && choice.Allow == allow && !strings.HasPrefix(choice.ID, "answer:") {
			now = append(now, choice)
		}
	}
	return now
}

// stepOf is what an approval is about, as a step of the agent.
func stepOf(approval pluginsdk.Approval) step {
	return step{Kind: pluginsdk.StreamToolCall, Tool: approval.Tool, Input: approval.Input}
}
