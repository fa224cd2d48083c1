package plugintest

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// approvals is what the agent asks people. A test asks (Ask) and plays the clock and the
// run's end (EndApproval); what was answered is read with Approvals.Get.
type approvals struct{ view }

// Ask has the agent ask people something, and returns the approval with what the test has
// left out: an id, the time, and the choices, which are allow and deny, or of one question
// its options (answer:1 and so on). It is put into deliveries by the test, as the Approval
// of a DeliverRequest.
func (h *Host) Ask(approval pluginsdk.Approval) pluginsdk.Approval {
	h.mu.Lock()
	defer h.mu.Unlock()
	approval.ID = cmp.Or(approval.ID, h.nextID("approval"))
	approval.Kind = cmp.Or(approval.Kind, pluginsdk.ApprovalTool)
	approval.State = cmp.Or(approval.State, pluginsdk.ApprovalOpen)
	if approval.CreatedAt.IsZero() {
		approval.CreatedAt = now()
	}
	if approval.ExpiresAt.IsZero() {
		approval.ExpiresAt = approval.CreatedAt.Add(72 * time.Hour)
	}
	switch {
	case len(approval.Choices) > 0:
	case approval.Kind != pluginsdk.ApprovalQuestion:
		approval.Choices = []pluginsdk.ApprovalChoice{{ID: "allow", Label: "Allow once", Allow: true}, {ID: "deny", Label: "Deny"}}
	case len(approval.Questions) == 1:
		for n, option := range approval.Questions[0].Options {
			approval.Choices = append(approval.Choices, pluginsdk.ApprovalChoice{ID: answerPrefix + strconv.Itoa(n+1), Label: option.Label, Allow: true})
		}
	}
	h.approvals = append(h.approvals, approval)
	return approval
}

// What the ids of choices begin with that make a rule, or answer a question.
const (
	rulePrefix   = "rule:"
	answerPrefix = "answer:"
)

// EndApproval ends an approval that is open without an answer: it has expired, or its run
// is over. One that there is not is a mistake of the test and panics.
func (h *Host) EndApproval(id string, state pluginsdk.ApprovalState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := find(h.approvals, "approval", id, approvalID)
	if err != nil {
		panic("EndApproval: " + err.Error())
	}
	if approval := &h.approvals[i]; approval.State == pluginsdk.ApprovalOpen {
		approval.State, approval.DecidedAt = state, now()
	}
}

func approvalID(a pluginsdk.Approval) string { return a.ID }

func (s approvals) Get(ctx context.Context, request *pluginsdk.GetApprovalRequest) (*pluginsdk.GetApprovalResponse, error) {
	leave, err := s.h.enter(ctx, "Approvals.Get")
	if err != nil {
		return nil, err
	}
	defer leave()
	i, err := find(s.h.approvals, "approval", request.ID, approvalID)
	if err != nil {
		return nil, err
	}
	return &pluginsdk.GetApprovalResponse{Approval: s.h.approvals[i]}, nil
}

func (s approvals) List(ctx context.Context, request *pluginsdk.ListApprovalsRequest) (*pluginsdk.ListApprovalsResponse, error) {
	leave, err := s.h.enter(ctx, "Approvals.List")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	rest := after(ordered(s.h.approvals, query.Newest), func(a pluginsdk.Approval) bool { return a.ID == query.After })
	found := filter(rest, func(a pluginsdk.Approval) bool {
		return (query.ThreadID == "" || a.ThreadID == query.ThreadID || query.Below && s.h.isBelow(a.ThreadID, query.ThreadID)) && (query.RunID == "" || a.RunID == query.RunID) &&
			(len(query.States) == 0 || slices.Contains(query.States, a.State))
	})
	rows := page(found, query.Limit)
	return &pluginsdk.ListApprovalsResponse{Approvals: rows, More: len(rows) < len(found)}, nil
}

func (s approvals) Decide(ctx context.Context, request *pluginsdk.DecideApprovalRequest) (*pluginsdk.DecideApprovalResponse, error) {
	leave, err := s.h.enter(ctx, "Approvals.Decide")
	if err != nil {
		return nil, err
	}
	defer leave()
	if call, _ := pluginsdk.CallFrom(ctx); call.RunID != "" {
		return nil, pluginsdk.Errorf(pluginsdk.CodeDenied, "only a person answers what the agent asks, and this comes from %s", call.RunID)
	}
	i, err := find(s.h.approvals, "approval", request.ID, approvalID)
	if err != nil {
		return nil, err
	}
	decided := s.h.approvals[i]
	decided.Choice, decided.Answers, decided.Words = request.Choice, request.Answers, request.Words
	decided.Author, decided.Plugin = cmp.Or(pluginsdk.PersonFrom(ctx), request.Author), s.manifest.Name
	taken, err := choose(&decided)
	if err != nil {
		return nil, err
	}
	if before := s.h.approvals[i]; before.State != pluginsdk.ApprovalOpen {
		if before.Choice == decided.Choice && reflect.DeepEqual(before.Answers, decided.Answers) && before.Words == decided.Words &&
			before.Author == decided.Author && before.Plugin == decided.Plugin {
			return &pluginsdk.DecideApprovalResponse{Approval: before}, nil
		}
		return nil, pluginsdk.Errorf(pluginsdk.CodeStale, "approval %s is %s, by %s", before.ID, before.State, cmp.Or(before.Author, "nobody"))
	}
	decided.State, decided.DecidedAt = pluginsdk.ApprovalDenied, now()
	if taken.Allow {
		decided.State = pluginsdk.ApprovalAllowed
	}
	if name, ok := strings.CutPrefix(taken.ID, rulePrefix); ok {
		rule := pluginsdk.ApprovalRule{
			ID: s.h.nextID("rule"), ThreadID: decided.ThreadID, Tool: decided.Tool, Kind: name, Text: taken.Rule,
			Author: decided.Author, Plugin: decided.Plugin, ApprovalID: decided.ID, CreatedAt: decided.DecidedAt,
		}
		decided.RuleID = rule.ID
		s.h.rules = append(s.h.rules, rule)
	}
	s.h.approvals[i] = decided
	return &pluginsdk.DecideApprovalResponse{Approval: decided}, nil
}

// choose checks an answer against what is asked, fills in what a choice answers a question
// with, and returns the choice.
func choose(a *pluginsdk.Approval) (pluginsdk.ApprovalChoice, error) {
	if a.Choice != "" {
		n := slices.IndexFunc(a.Choices, func(c pluginsdk.ApprovalChoice) bool { return c.ID == a.Choice })
		if n < 0 {
			return pluginsdk.ApprovalChoice{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "choice: approval %s does not offer %.50q", a.ID, a.Choice)
		}
		if number, ok := strings.CutPrefix(a.Choice, answerPrefix); ok && len(a.Questions) == 1 {
			if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(a.Questions[0].Options) {
				a.Answers = []pluginsdk.QuestionAnswer{{Labels: []string{a.Questions[0].Options[n-1].Label}}}
			}
		}
		return a.Choices[n], nil
	}
	if a.Kind != pluginsdk.ApprovalQuestion || len(a.Answers) != len(a.Questions) {
		return pluginsdk.ApprovalChoice{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "choice, answers: approval %s wants a choice, or %d answers", a.ID, len(a.Questions))
	}
	for n, answer := range a.Answers {
		question := a.Questions[n]
		if len(answer.Labels) == 0 && answer.Text == "" || len(answer.Labels) > 1 && !question.Multiple {
			return pluginsdk.ApprovalChoice{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: %q is answered with %d options", question.Text, len(answer.Labels))
		}
		for _, label := range answer.Labels {
			if !slices.ContainsFunc(question.Options, func(o pluginsdk.QuestionOption) bool { return o.Label == label }) {
				return pluginsdk.ApprovalChoice{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "answers: %q has no option %.50q", question.Text, label)
			}
		}
	}
	return pluginsdk.ApprovalChoice{Allow: true}, nil
}

func (s approvals) Rules(ctx context.Context, request *pluginsdk.ListApprovalRulesRequest) (*pluginsdk.ListApprovalRulesResponse, error) {
	leave, err := s.h.enter(ctx, "Approvals.Rules")
	if err != nil {
		return nil, err
	}
	defer leave()
	rest := after(s.h.rules, func(r pluginsdk.ApprovalRule) bool { return r.ID == request.After })
	found := filter(rest, func(r pluginsdk.ApprovalRule) bool { return request.ThreadID == "" || r.ThreadID == request.ThreadID })
	rows := page(found, request.Limit)
	return &pluginsdk.ListApprovalRulesResponse{Rules: rows, More: len(rows) < len(found)}, nil
}

func (s approvals) Revoke(ctx context.Context, request *pluginsdk.RevokeApprovalRuleRequest) (*pluginsdk.RevokeApprovalRuleResponse, error) {
	leave, err := s.h.enter(ctx, "Approvals.Revoke")
	if err != nil {
		return nil, err
	}
	defer leave()
	s.h.rules = slices.DeleteFunc(s.h.rules, func(r pluginsdk.ApprovalRule) bool { return r.ID == request.ID })
	return &pluginsdk.RevokeApprovalRuleResponse{}, nil
}
