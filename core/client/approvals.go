package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Approvals returns all the selected approvals, without what the tools are called with. The
// query's Limit and After are not used.
func (c *Client) Approvals(ctx context.Context, query pluginsdk.ApprovalQuery) ([]pluginsdk.Approval, error) {
	var all []pluginsdk.Approval
	values := url.Values{"limit": {strconv.Itoa(pageSize)}, "newest": {strconv.FormatBool(query.Newest)}}
	if query.Below {
		values.Set("below", "true")
	}
	for name, value := range map[string]string{"thread": query.ThreadID, "run": query.RunID} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for _, state := range query.States {
		values.Add("state", string(state))
	}
	for {
		var page struct {
			Approvals []pluginsdk.Approval `json:"approvals"`
			More      bool                 `json:"more"`
		}
		if err := c.get(ctx, "/api/approvals", values, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Approvals...)
		if !page.More || len(page.Approvals) == 0 {
			return all, nil
		}
		values.Set("after", page.Approvals[len(page.Approvals)-1].ID)
	}
}

// Approval returns an approval with all that it has.
func (c *Client) Approval(ctx context.Context, id string) (pluginsdk.Approval, error) {
	var approval pluginsdk.Approval
	err := c.get(ctx, "/api/approvals/"+url.PathEscape(id), nil, &approval)
	return approval, err
}

// ApprovalID returns the id of the approval that an id or a part of one names: its first or
// last characters. Those that are open come first: a part that names one of them names no
// other.
func (c *Client) ApprovalID(ctx context.Context, part string) (string, error) {
	if whole, err := wholeOr(part, "approval"); whole || err != nil {
		return part, err
	}
	for _, states := range [][]pluginsdk.ApprovalState{{pluginsdk.ApprovalOpen}, nil} {
		approvals, err := c.Approvals(ctx, pluginsdk.ApprovalQuery{States: states, Newest: true})
		if err != nil {
			return "", err
		}
		ids := make([]string, len(approvals))
		for n, approval := range approvals {
			ids[n] = approval.ID
		}
		if id, err := theOne(part, ids); err != nil || id != "" {
			return id, err
		}
	}
	return "", noneOf(part, "approval")
}

// ApprovalAnswer is a person's answer.
type ApprovalAnswer struct {
	Choice  string                     `json:"choice,omitempty"` // one of the approval's; empty with Answers
	Answers []pluginsdk.QuestionAnswer `json:"answers,omitempty"`
	Words   string                     `json:"words,omitempty"` // to the agent
	Author  string                     `json:"author,omitempty"`
}

// Decide hands a person's answer in. One to what is not open any more is a *Problem of the
// status 409, which says how it was answered; the same answer, repeated, is none.
func (c *Client) Decide(ctx context.Context, id string, answer ApprovalAnswer) (pluginsdk.Approval, error) {
	var approval pluginsdk.Approval
	err := c.post(ctx, "/api/approvals/"+url.PathEscape(id)+"/decide", answer, &approval)
	return approval, err
}

// Rules returns the rules that hold in a thread, or in all of them, oldest first.
func (c *Client) Rules(ctx context.Context, threadID string) ([]pluginsdk.ApprovalRule, error) {
	var all []pluginsdk.ApprovalRule
	values := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if threadID != "" {
		values.Set("thread", threadID)
	}
	for {
		var page struct {
			Rules []pluginsdk.ApprovalRule `json:"rules"`
			More  bool                     `json:"more"`
		}
		if err := c.get(ctx, "/api/approvals/rules", values, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Rules...)
		if !page.More || len(page.Rules) == 0 {
			return all, nil
		}
		values.Set("after", page.Rules[len(page.Rules)-1].ID)
	}
}

// Revoke ends a rule, in a person's name. One that is gone already is no error.
func (c *Client) Revoke(ctx context.Context, id, author string) error {
	query := url.Values{}
	if author != "" {
		query.Set("author", author)
	}
	return c.do(ctx, http.MethodDelete, "/api/approvals/rules/"+url.PathEscape(id), query, nil, nil)
}
