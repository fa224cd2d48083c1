package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func approvalTo(v pluginsdk.Approval) *typesv1.Approval {
	return &typesv1.Approval{
		Id:        v.ID,
		ThreadId:  v.ThreadID,
		RunId:     v.RunID,
		Kind:      string(v.Kind),
		State:     string(v.State),
		Tool:      v.Tool,
		Input:     v.Input,
		Title:     v.Title,
		Text:      v.Text,
		Note:      v.Note,
		Cwd:       v.Cwd,
		Questions: listTo(v.Questions, agentQuestionTo),
		Choices:   listTo(v.Choices, approvalChoiceTo),
		Choice:    v.Choice,
		Answers:   listTo(v.Answers, questionAnswerTo),
		Words:     v.Words,
		Author:    v.Author,
		Plugin:    v.Plugin,
		RuleId:    v.RuleID,
		CreatedAt: timeTo(v.CreatedAt),
		ExpiresAt: timeTo(v.ExpiresAt),
		DecidedAt: timeTo(v.DecidedAt),
		SpentAt:   timeTo(v.SpentAt),
		Origin:    originTo(v.Origin),
	}
}

func approvalFrom(m *typesv1.Approval) pluginsdk.Approval {
	return pluginsdk.Approval{
		ID:        m.GetId(),
		ThreadID:  m.GetThreadId(),
		RunID:     m.GetRunId(),
		Kind:      pluginsdk.ApprovalKind(m.GetKind()),
		State:     pluginsdk.ApprovalState(m.GetState()),
		Tool:      m.GetTool(),
		Input:     m.GetInput(),
		Title:     m.GetTitle(),
		Text:      m.GetText(),
		Note:      m.GetNote(),
		Cwd:       m.GetCwd(),
		Questions: listFrom(m.GetQuestions(), agentQuestionFrom),
		Choices:   listFrom(m.GetChoices(), approvalChoiceFrom),
		Choice:    m.GetChoice(),
		Answers:   listFrom(m.GetAnswers(), questionAnswerFrom),
		Words:     m.GetWords(),
		Author:    m.GetAuthor(),
		Plugin:    m.GetPlugin(),
		RuleID:    m.GetRuleId(),
		CreatedAt: timeFrom(m.GetCreatedAt()),
		ExpiresAt: timeFrom(m.GetExpiresAt()),
		DecidedAt: timeFrom(m.GetDecidedAt()),
		SpentAt:   timeFrom(m.GetSpentAt()),
		Origin:    originFrom(m.GetOrigin()),
	}
}

func approvalChoiceTo(v pluginsdk.ApprovalChoice) *typesv1.ApprovalChoice {
	return &typesv1.ApprovalChoice{
		Id:    v.ID,
		Label: v.Label,
		Allow: v.Allow,
		Rule:  v.Rule,
	}
}

func approvalChoiceFrom(m *typesv1.ApprovalChoice) pluginsdk.ApprovalChoice {
	return pluginsdk.ApprovalChoice{
		ID:    m.GetId(),
		Label: m.GetLabel(),
		Allow: m.GetAllow(),
		Rule:  m.GetRule(),
	}
}

func agentQuestionTo(v pluginsdk.AgentQuestion) *typesv1.AgentQuestion {
	return &typesv1.AgentQuestion{
		Text:     v.Text,
		Header:   v.Header,
		Options:  listTo(v.Options, questionOptionTo),
		Multiple: v.Multiple,
	}
}

func agentQuestionFrom(m *typesv1.AgentQuestion) pluginsdk.AgentQuestion {
	return pluginsdk.AgentQuestion{
		Text:     m.GetText(),
		Header:   m.GetHeader(),
		Options:  listFrom(m.GetOptions(), questionOptionFrom),
		Multiple: m.GetMultiple(),
	}
}

func questionOptionTo(v pluginsdk.QuestionOption) *typesv1.QuestionOption {
	return &typesv1.QuestionOption{
		Label:       v.Label,
		Description: v.Description,
	}
}

func questionOptionFrom(m *typesv1.QuestionOption) pluginsdk.QuestionOption {
	return pluginsdk.QuestionOption{
		Label:       m.GetLabel(),
		Description: m.GetDescription(),
	}
}

func questionAnswerTo(v pluginsdk.QuestionAnswer) *typesv1.QuestionAnswer {
	return &typesv1.QuestionAnswer{
		Labels: v.Labels,
		Text:   v.Text,
	}
}

func questionAnswerFrom(m *typesv1.QuestionAnswer) pluginsdk.QuestionAnswer {
	return pluginsdk.QuestionAnswer{
		Labels: m.GetLabels(),
		Text:   m.GetText(),
	}
}

func approvalRuleTo(v pluginsdk.ApprovalRule) *typesv1.ApprovalRule {
	return &typesv1.ApprovalRule{
		Id:         v.ID,
		ThreadId:   v.ThreadID,
		Tool:       v.Tool,
		Kind:       v.Kind,
		Value:      v.Value,
		Text:       v.Text,
		Author:     v.Author,
		Plugin:     v.Plugin,
		ApprovalId: v.ApprovalID,
		CreatedAt:  timeTo(v.CreatedAt),
	}
}

func approvalRuleFrom(m *typesv1.ApprovalRule) pluginsdk.ApprovalRule {
	return pluginsdk.ApprovalRule{
		ID:         m.GetId(),
		ThreadID:   m.GetThreadId(),
		Tool:       m.GetTool(),
		Kind:       m.GetKind(),
		Value:      m.GetValue(),
		Text:       m.GetText(),
		Author:     m.GetAuthor(),
		Plugin:     m.GetPlugin(),
		ApprovalID: m.GetApprovalId(),
		CreatedAt:  timeFrom(m.GetCreatedAt()),
	}
}

func approvalQueryTo(v pluginsdk.ApprovalQuery) *typesv1.ApprovalQuery {
	return &typesv1.ApprovalQuery{
		ThreadId: v.ThreadID,
		Below:    v.Below,
		RunId:    v.RunID,
		States:   namesTo(v.States),
		Newest:   v.Newest,
		After:    v.After,
		Limit:    int64(v.Limit),
	}
}

func approvalQueryFrom(m *typesv1.ApprovalQuery) pluginsdk.ApprovalQuery {
	return pluginsdk.ApprovalQuery{
		ThreadID: m.GetThreadId(),
		Below:    m.GetBelow(),
		RunID:    m.GetRunId(),
		States:   namesFrom[pluginsdk.ApprovalState](m.GetStates()),
		Newest:   m.GetNewest(),
		After:    m.GetAfter(),
		Limit:    int(m.GetLimit()),
	}
}

func getApprovalRequestTo(v pluginsdk.GetApprovalRequest) *hostv1.GetApprovalRequest {
	return &hostv1.GetApprovalRequest{
		Id: v.ID,
	}
}

func getApprovalRequestFrom(m *hostv1.GetApprovalRequest) pluginsdk.GetApprovalRequest {
	return pluginsdk.GetApprovalRequest{
		ID: m.GetId(),
	}
}

func getApprovalResponseTo(v pluginsdk.GetApprovalResponse) *hostv1.GetApprovalResponse {
	return &hostv1.GetApprovalResponse{
		Approval: approvalTo(v.Approval),
	}
}

func getApprovalResponseFrom(m *hostv1.GetApprovalResponse) pluginsdk.GetApprovalResponse {
	return pluginsdk.GetApprovalResponse{
		Approval: approvalFrom(m.GetApproval()),
	}
}

func listApprovalsRequestTo(v pluginsdk.ListApprovalsRequest) *hostv1.ListApprovalsRequest {
	return &hostv1.ListApprovalsRequest{
		Query: approvalQueryTo(v.Query),
	}
}

func listApprovalsRequestFrom(m *hostv1.ListApprovalsRequest) pluginsdk.ListApprovalsRequest {
	return pluginsdk.ListApprovalsRequest{
		Query: approvalQueryFrom(m.GetQuery()),
	}
}

func listApprovalsResponseTo(v pluginsdk.ListApprovalsResponse) *hostv1.ListApprovalsResponse {
	return &hostv1.ListApprovalsResponse{
		Approvals: listTo(v.Approvals, approvalTo),
		More:      v.More,
	}
}

func listApprovalsResponseFrom(m *hostv1.ListApprovalsResponse) pluginsdk.ListApprovalsResponse {
	return pluginsdk.ListApprovalsResponse{
		Approvals: listFrom(m.GetApprovals(), approvalFrom),
		More:      m.GetMore(),
	}
}

func decideApprovalRequestTo(v pluginsdk.DecideApprovalRequest) *hostv1.DecideApprovalRequest {
	return &hostv1.DecideApprovalRequest{
		Id:      v.ID,
		Choice:  v.Choice,
		Answers: listTo(v.Answers, questionAnswerTo),
		Words:   v.Words,
		Author:  v.Author,
	}
}

func decideApprovalRequestFrom(m *hostv1.DecideApprovalRequest) pluginsdk.DecideApprovalRequest {
	return pluginsdk.DecideApprovalRequest{
		ID:      m.GetId(),
		Choice:  m.GetChoice(),
		Answers: listFrom(m.GetAnswers(), questionAnswerFrom),
		Words:   m.GetWords(),
		Author:  m.GetAuthor(),
	}
}

func decideApprovalResponseTo(v pluginsdk.DecideApprovalResponse) *hostv1.DecideApprovalResponse {
	return &hostv1.DecideApprovalResponse{
		Approval: approvalTo(v.Approval),
	}
}

func decideApprovalResponseFrom(m *hostv1.DecideApprovalResponse) pluginsdk.DecideApprovalResponse {
	return pluginsdk.DecideApprovalResponse{
		Approval: approvalFrom(m.GetApproval()),
	}
}

func listApprovalRulesRequestTo(v pluginsdk.ListApprovalRulesRequest) *hostv1.ListApprovalRulesRequest {
	return &hostv1.ListApprovalRulesRequest{
		ThreadId: v.ThreadID,
		After:    v.After,
		Limit:    int64(v.Limit),
	}
}

func listApprovalRulesRequestFrom(m *hostv1.ListApprovalRulesRequest) pluginsdk.ListApprovalRulesRequest {
	return pluginsdk.ListApprovalRulesRequest{
		ThreadID: m.GetThreadId(),
		After:    m.GetAfter(),
		Limit:    int(m.GetLimit()),
	}
}

func listApprovalRulesResponseTo(v pluginsdk.ListApprovalRulesResponse) *hostv1.ListApprovalRulesResponse {
	return &hostv1.ListApprovalRulesResponse{
		Rules: listTo(v.Rules, approvalRuleTo),
		More:  v.More,
	}
}

func listApprovalRulesResponseFrom(m *hostv1.ListApprovalRulesResponse) pluginsdk.ListApprovalRulesResponse {
	return pluginsdk.ListApprovalRulesResponse{
		Rules: listFrom(m.GetRules(), approvalRuleFrom),
		More:  m.GetMore(),
	}
}

func revokeApprovalRuleRequestTo(v pluginsdk.RevokeApprovalRuleRequest) *hostv1.RevokeApprovalRuleRequest {
	return &hostv1.RevokeApprovalRuleRequest{
		Id:     v.ID,
		Author: v.Author,
	}
}

func revokeApprovalRuleRequestFrom(m *hostv1.RevokeApprovalRuleRequest) pluginsdk.RevokeApprovalRuleRequest {
	return pluginsdk.RevokeApprovalRuleRequest{
		ID:     m.GetId(),
		Author: m.GetAuthor(),
	}
}
