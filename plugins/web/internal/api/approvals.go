package api

import (
	"cmp"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type approvalOutput struct {
	Body pluginsdk.Approval
}

type approvalsInput struct {
	States []pluginsdk.ApprovalState `query:"state,explode" enum:"open,allowed,denied,expired,withdrawn" doc:"Only these states"`
	Thread string                    `query:"thread" maxLength:"100" doc:"Only those of this thread"`
	Below  bool                      `query:"below" doc:"With thread: also those of the threads below it, those of its tasks"`
	Run    string                    `query:"run" maxLength:"100" doc:"Only those of this run"`
	Newest bool                      `query:"newest" default:"true" doc:"The newest first; false: the oldest first"`
	After  string                    `query:"after" maxLength:"100" doc:"Id of the last approval of the page before"`
	Limit  int                       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page"`
}

type approvalsOutput struct {
	Body struct {
		Approvals []pluginsdk.Approval `json:"approvals" nullable:"false" doc:"Without the tools' inputs, which a single one has"`
		More      bool                 `json:"more" doc:"There are approvals after the last one"`
	}
}

type approvalInput struct {
	ID string `path:"id" maxLength:"100"`
}

// DecideApprovalRequest is a person's answer.
type DecideApprovalRequest struct {
	Choice  string                     `json:"choice,omitempty" maxLength:"200" doc:"The id of one of the approval's choices; absent with answers"`
	Answers []pluginsdk.QuestionAnswer `json:"answers,omitempty" maxItems:"100" nullable:"false" doc:"Of the kind question: one for each of its questions, options by their labels, words, or both"`
	Words   string                     `json:"words,omitempty" maxLength:"16384" doc:"To the agent: why not, or what to do instead"`
	Author  string                     `json:"author,omitempty" maxLength:"200" doc:"Who answers; with a token, its name"`
}

type decideApprovalInput struct {
	ID   string `path:"id" maxLength:"100"`
	Body DecideApprovalRequest
}

type rulesInput struct {
	Thread string `query:"thread" maxLength:"100" doc:"Only those of this thread"`
	After  string `query:"after" maxLength:"100" doc:"Id of the last rule of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The most of a page"`
}

type rulesOutput struct {
	Body struct {
		Rules []pluginsdk.ApprovalRule `json:"rules" nullable:"false"`
		More  bool                     `json:"more" doc:"There are rules after the last one"`
	}
}

type revokeRuleInput struct {
	ID     string `path:"id" maxLength:"100"`
	Author string `query:"author" maxLength:"200" doc:"Who wants it gone; with a token, its name"`
}

func (h *handlers) registerApprovals(api huma.API) {
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-approvals", "/api/approvals", "What the agent asks people")), h.listApprovals)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("get-approval", "/api/approvals/{id}", "One thing that the agent asks, and how it was answered")), h.getApproval)
	huma.Register(api, needs(pluginsdk.ScopeApprove,
		post("decide-approval", "/api/approvals/{id}/decide", "A person's answer; of several the first one holds", http.StatusOK)), h.decideApproval)
	huma.Register(api, needs(pluginsdk.ScopeRead, get("list-approval-rules", "/api/approvals/rules", "What the agent is not asked about any more, oldest first")), h.listRules)
	huma.Register(api, needs(pluginsdk.ScopeApprove, huma.Operation{
		OperationID: "revoke-approval-rule", Method: http.MethodDelete, Path: "/api/approvals/rules/{id}",
		Summary: "End a rule: the agent's next question is asked", DefaultStatus: http.StatusNoContent,
	}), h.revokeRule)
}

// listApprovals leaves out what the tools are called with, which can be long.
func (h *handlers) listApprovals(ctx context.Context, input *approvalsInput) (*approvalsOutput, error) {
	answer, err := h.host.Approvals.List(ctx, &pluginsdk.ListApprovalsRequest{Query: pluginsdk.ApprovalQuery{
		ThreadID: input.Thread, Below: input.Below, RunID: input.Run, States: input.States, Newest: input.Newest, After: input.After, Limit: input.Limit,
	}})
	if err != nil {
		return nil, h.fail("list-approvals", err)
	}
	output := &approvalsOutput{}
	output.Body.Approvals, output.Body.More = list(answer.Approvals), answer.More
	for i := range output.Body.Approvals {
		output.Body.Approvals[i].Input = nil
	}
	return output, nil
}

func (h *handlers) getApproval(ctx context.Context, input *approvalInput) (*approvalOutput, error) {
	answer, err := h.host.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: input.ID})
	if err != nil {
		return nil, h.fail("get-approval", err)
	}
	return &approvalOutput{Body: answer.Approval}, nil
}

func (h *handlers) decideApproval(ctx context.Context, input *decideApprovalInput) (*approvalOutput, error) {
	body := input.Body
	if (body.Choice == "") == (len(body.Answers) == 0) {
		return nil, invalid("choice", "want one of the approval's choices, or answers to its questions")
	}
	answer, err := h.host.Approvals.Decide(ctx, &pluginsdk.DecideApprovalRequest{
		ID: input.ID, Choice: body.Choice, Answers: body.Answers, Words: body.Words, Author: cmp.Or(author(ctx, body.Author), somebody),
	})
	if err != nil {
		return nil, h.fail("decide-approval", err)
	}
	return &approvalOutput{Body: answer.Approval}, nil
}

func (h *handlers) listRules(ctx context.Context, input *rulesInput) (*rulesOutput, error) {
	answer, err := h.host.Approvals.Rules(ctx, &pluginsdk.ListApprovalRulesRequest{ThreadID: input.Thread, After: input.After, Limit: input.Limit})
	if err != nil {
		return nil, h.fail("list-approval-rules", err)
	}
	output := &rulesOutput{}
	output.Body.Rules, output.Body.More = list(answer.Rules), answer.More
	return output, nil
}

func (h *handlers) revokeRule(ctx context.Context, input *revokeRuleInput) (*struct{}, error) {
	_, err := h.host.Approvals.Revoke(ctx, &pluginsdk.RevokeApprovalRuleRequest{ID: input.ID, Author: cmp.Or(author(ctx, input.Author), somebody)})
	if err != nil {
		return nil, h.fail("revoke-approval-rule", err)
	}
	return nil, nil //nolint:nilnil // there is nothing to say
}
