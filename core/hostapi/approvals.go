package hostapi

import (
	"context"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// approvals is what the agent asks people, as a plugin that speaks for them sees it.
type approvals struct{ *caller }

func (s approvals) Get(ctx context.Context, request *pluginsdk.GetApprovalRequest) (*pluginsdk.GetApprovalResponse, error) {
	return serve(s.caller, "Approvals.Get", func() (*pluginsdk.GetApprovalResponse, error) {
		approval, err := s.Approvals.Approval(ctx, request.ID)
		return &pluginsdk.GetApprovalResponse{Approval: approval}, err
	})
}

func (s approvals) List(ctx context.Context, request *pluginsdk.ListApprovalsRequest) (*pluginsdk.ListApprovalsResponse, error) {
	return serve(s.caller, "Approvals.List", func() (*pluginsdk.ListApprovalsResponse, error) {
		rows, more, err := s.Approvals.Approvals(ctx, request.Query)
		some := page(rows, false, sizeOf)
		return &pluginsdk.ListApprovalsResponse{Approvals: some, More: more || len(some) < len(rows)}, err
	})
}

// Decide takes no turn at the writer: a person's word must not wait behind what plugins
// store.
func (s approvals) Decide(ctx context.Context, request *pluginsdk.DecideApprovalRequest) (*pluginsdk.DecideApprovalResponse, error) {
	return servePerson(ctx, s.caller, "Approvals.Decide", func() (*pluginsdk.DecideApprovalResponse, error) {
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		answers := 0
		for _, answer := range request.Answers {
			answers += len(answer.Text)
			for _, label := range answer.Labels {
				answers += len(label)
			}
		}
		if err := checkLengths(length{"choice", len(request.Choice), maxKey}, length{"answers", answers, maxTaskWords},
			length{"words", len(request.Words), ledger.MaxAnswerWords}); err != nil {
			return nil, err
		}
		decision := *request
		decision.Author = by.Author
		approval, err := s.Approvals.Decide(ctx, by, decision)
		return &pluginsdk.DecideApprovalResponse{Approval: approval}, err
	})
}

func (s approvals) Rules(ctx context.Context, request *pluginsdk.ListApprovalRulesRequest) (*pluginsdk.ListApprovalRulesResponse, error) {
	return serve(s.caller, "Approvals.Rules", func() (*pluginsdk.ListApprovalRulesResponse, error) {
		rows, more, err := s.Approvals.Rules(ctx, *request)
		some := page(rows, false, sizeOf)
		return &pluginsdk.ListApprovalRulesResponse{Rules: some, More: more || len(some) < len(rows)}, err
	})
}

// Revoke is also for hooks and tools: it only takes leave away.
func (s approvals) Revoke(ctx context.Context, request *pluginsdk.RevokeApprovalRuleRequest) (*pluginsdk.RevokeApprovalRuleResponse, error) {
	return serve(s.caller, "Approvals.Revoke", func() (*pluginsdk.RevokeApprovalRuleResponse, error) {
		by, err := s.label(ctx, request.Author)
		if err != nil {
			return nil, err
		}
		return &pluginsdk.RevokeApprovalRuleResponse{}, s.Approvals.Revoke(ctx, by, request.ID)
	})
}
