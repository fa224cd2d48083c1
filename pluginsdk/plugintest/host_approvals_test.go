package plugintest_test

import (
	"reflect"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// What a plugin is tested with must refuse what the daemon refuses.
func TestApprovalsAreAnsweredOnce(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	asked := host.Ask(pluginsdk.Approval{ThreadID: "T", RunID: "R", Tool: "Bash", Title: "make", Choices: []pluginsdk.ApprovalChoice{
		{ID: "allow", Allow: true}, {ID: "rule:command", Allow: true, Rule: "make"}, {ID: "deny"},
	}})
	other := host.Ask(pluginsdk.Approval{ThreadID: "other"})
	if other.State != pluginsdk.ApprovalOpen || other.Kind != pluginsdk.ApprovalTool || len(other.Choices) != 2 || other.ExpiresAt.Before(other.CreatedAt) {
		t.Errorf("asked %+v", other)
	}
	query := pluginsdk.ApprovalQuery{ThreadID: "T", RunID: "R", States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}}
	if got := must(sdk.Approvals.List(ctx, &pluginsdk.ListApprovalsRequest{Query: query})); len(got.Approvals) != 1 || got.More || got.Approvals[0].ID != asked.ID {
		t.Errorf("listed %+v", got)
	}
	if got := must(sdk.Approvals.List(ctx, &pluginsdk.ListApprovalsRequest{Query: pluginsdk.ApprovalQuery{Newest: true, Limit: 1}})); !got.More || got.Approvals[0].ID != other.ID {
		t.Errorf("the newest is %+v", got)
	}
	host.AddThread(pluginsdk.Thread{ID: "other", ParentThreadID: "between"})
	host.AddThread(pluginsdk.Thread{ID: "between", ParentThreadID: "T"})
	for above, want := range map[string]int{"T": 2, "between": 1, "other": 1, "nowhere": 0} {
		query := pluginsdk.ApprovalQuery{ThreadID: above, Below: true}
		if got := must(sdk.Approvals.List(ctx, &pluginsdk.ListApprovalsRequest{Query: query})).Approvals; len(got) != want {
			t.Errorf("below %s: %+v", above, got)
		}
	}
	answer := pluginsdk.DecideApprovalRequest{ID: asked.ID, Choice: "rule:command", Author: "Ann"}
	inRun := pluginsdk.WithCall(ctx, pluginsdk.Call{ID: "c", RunID: "R", Token: "t"})
	if _, err := sdk.Approvals.Decide(inRun, &answer); pluginsdk.CodeOf(err) != pluginsdk.CodeDenied {
		t.Errorf("in a run: %v", err)
	}
	if _, err := sdk.Approvals.Decide(ctx, &pluginsdk.DecideApprovalRequest{ID: asked.ID, Choice: "rule:all"}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
		t.Errorf("what is not offered: %v", err)
	}
	for range 2 { // the same answer of the same person is no other one
		got := must(sdk.Approvals.Decide(ctx, &answer)).Approval
		if got.State != pluginsdk.ApprovalAllowed || got.Author != "Ann" || got.RuleID == "" || got.DecidedAt.IsZero() {
			t.Errorf("decided %+v", got)
		}
	}
	if _, err := sdk.Approvals.Decide(ctx, &pluginsdk.DecideApprovalRequest{ID: asked.ID, Choice: "deny", Author: "Bob"}); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("after Ann: %v", err)
	}
	rules := must(sdk.Approvals.Rules(ctx, &pluginsdk.ListApprovalRulesRequest{ThreadID: "T"})).Rules
	if len(rules) != 1 || rules[0].Text != "make" || rules[0].Author != "Ann" || rules[0].ApprovalID != asked.ID {
		t.Errorf("rules %+v", rules)
	}
	for range 2 {
		must(sdk.Approvals.Revoke(ctx, &pluginsdk.RevokeApprovalRuleRequest{ID: rules[0].ID}))
	}
	if got := must(sdk.Approvals.Rules(ctx, &pluginsdk.ListApprovalRulesRequest{})).Rules; len(got) != 0 {
		t.Errorf("rules %+v", got)
	}
	host.EndApproval(other.ID, pluginsdk.ApprovalExpired)
	host.EndApproval(asked.ID, pluginsdk.ApprovalWithdrawn) // too late
	for id, want := range map[string]pluginsdk.ApprovalState{other.ID: pluginsdk.ApprovalExpired, asked.ID: pluginsdk.ApprovalAllowed} {
		if got := must(sdk.Approvals.Get(ctx, &pluginsdk.GetApprovalRequest{ID: id})).Approval; got.State != want {
			t.Errorf("%s is %s; want %s", id, got.State, want)
		}
	}
	if _, err := sdk.Approvals.Decide(ctx, &pluginsdk.DecideApprovalRequest{ID: other.ID, Choice: "allow"}); pluginsdk.CodeOf(err) != pluginsdk.CodeStale {
		t.Errorf("one that has expired: %v", err)
	}
}

func TestQuestionsOfTheAgentAreAnswered(t *testing.T) {
	host, sdk := overTheWire(t)
	ctx := t.Context()
	which := pluginsdk.AgentQuestion{Text: "which?", Options: []pluginsdk.QuestionOption{{Label: "this"}, {Label: "that"}}}
	several := which
	several.Multiple = true
	decide := func(request pluginsdk.DecideApprovalRequest) (pluginsdk.Approval, error) {
		answer, err := sdk.Approvals.Decide(ctx, &request)
		if err != nil {
			return pluginsdk.Approval{}, err
		}
		return answer.Approval, nil
	}
	one := host.Ask(pluginsdk.Approval{Kind: pluginsdk.ApprovalQuestion, Questions: []pluginsdk.AgentQuestion{which}})
	for _, wrong := range [][]pluginsdk.QuestionAnswer{nil, {{}}, {{Labels: []string{"neither"}}}, {{Labels: []string{"this", "that"}}}, {{Text: "a"}, {Text: "b"}}} {
		if _, err := decide(pluginsdk.DecideApprovalRequest{ID: one.ID, Answers: wrong}); pluginsdk.CodeOf(err) != pluginsdk.CodeInvalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if got := must(decide(pluginsdk.DecideApprovalRequest{ID: one.ID, Choice: "answer:2"})); !reflect.DeepEqual(got.Answers, []pluginsdk.QuestionAnswer{{Labels: []string{"that"}}}) {
		t.Errorf("answered %+v", got.Answers)
	}
	two := host.Ask(pluginsdk.Approval{Kind: pluginsdk.ApprovalQuestion, Questions: []pluginsdk.AgentQuestion{which, several}})
	answers := []pluginsdk.QuestionAnswer{{Text: "another"}, {Labels: []string{"this", "that"}}}
	if got := must(decide(pluginsdk.DecideApprovalRequest{ID: two.ID, Answers: answers})); got.State != pluginsdk.ApprovalAllowed || !reflect.DeepEqual(got.Answers, answers) {
		t.Errorf("answered %+v", got)
	}
}
