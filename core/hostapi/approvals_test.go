package hostapi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// desk answers for the approvals, and remembers what it was told.
type desk struct {
	open  []pluginsdk.Approval
	rules []pluginsdk.ApprovalRule
	told  []string
}

func (d *desk) Approval(_ context.Context, id string) (pluginsdk.Approval, error) {
	return pluginsdk.Approval{ID: id}, nil
}

func (d *desk) Approvals(_ context.Context, query pluginsdk.ApprovalQuery) ([]pluginsdk.Approval, bool, error) {
	rest := d.open[slices.IndexFunc(d.open, func(a pluginsdk.Approval) bool { return a.ID == query.After })+1:]
	return rest, false, nil
}

func (d *desk) Decide(_ context.Context, by ledger.By, request pluginsdk.DecideApprovalRequest) (pluginsdk.Approval, error) {
	d.told = append(d.told, fmt.Sprintf("%s %s by %s/%s for %s", request.ID, request.Choice, by.Author, by.Plugin, request.Author))
	return pluginsdk.Approval{ID: request.ID, Choice: request.Choice}, nil
}

func (d *desk) Rules(_ context.Context, request pluginsdk.ListApprovalRulesRequest) ([]pluginsdk.ApprovalRule, bool, error) {
	rest := d.rules[slices.IndexFunc(d.rules, func(r pluginsdk.ApprovalRule) bool { return r.ID == request.After })+1:]
	return rest, false, nil
}

func (d *desk) Revoke(_ context.Context, by ledger.By, id string) error {
	d.told = append(d.told, fmt.Sprintf("revoke %s by %s/%s", id, by.Author, by.Plugin))
	return nil
}

func newDesk() (*fixture, *desk) {
	f, d := newFixture(pluginsdk.CapApprovalsRead, pluginsdk.CapApprovalsDecide), &desk{}
	f.api.Approvals = d
	return f, d
}

// An agent that answers its own questions, by a command in its reply or a tool that a
// plugin offers, would be asked nothing at all.
func TestOnlyAPersonAnswersTheAgent(t *testing.T) {
	f, desk := newDesk()
	yes := &pluginsdk.DecideApprovalRequest{ID: "A", Choice: "allow", Author: "Ann"}
	for what, origin := range map[string]ledger.Behalf{
		"a run's hook or tool":      {RunID: "R", Fence: ledger.Fence{ThreadID: "mine"}},
		"what a run has caused":     {CauseRunID: "R"},
		"a task's hook":             {TaskID: "K"},
		"a task's, caused by a run": {TaskID: "K", CauseRunID: "R"},
		"Deliver or OnBroadcast":    {},
		"a tool of nobody's run":    {Depth: 1},
	} {
		ctx, _ := f.within(t, origin)
		refused(t, what, second(f.Approvals.Decide(ctx, yes)), pluginsdk.CodeDenied, "only a person")
		refused(t, what+", in a person's name", second(f.Approvals.Decide(pluginsdk.WithPerson(ctx, "Bob"), yes)), pluginsdk.CodeDenied)
	}
	over, token := f.within(t, ledger.Behalf{RunID: "R"})
	f.tokens.Close(token)
	refused(t, "a hook that has ended", second(f.Approvals.Decide(over, yes)), pluginsdk.CodeStale)
	if len(desk.told) > 0 {
		t.Fatalf("it was decided: %q", desk.told)
	}
	for _, ctx := range []context.Context{t.Context(), pluginsdk.WithPerson(t.Context(), "Bob")} {
		if _, err := f.Approvals.Decide(ctx, yes); err != nil {
			t.Error(err)
		}
	}
	want := []string{"A allow by Ann/p for Ann", "A allow by Bob/p for Bob"} // who was checked, not who is claimed
	if !slices.Equal(desk.told, want) {
		t.Errorf("told %q; want %q", desk.told, want)
	}
	if yes.Author != "Ann" {
		t.Error("the request was changed")
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	f, desk := newDesk()
	long := strings.Repeat("x", maxTaskWords)
	for field, request := range map[string]pluginsdk.DecideApprovalRequest{
		"author":  {Author: strings.Repeat("x", maxTaskRequester+1)},
		"choice":  {Choice: strings.Repeat("x", maxKey+1)},
		"words":   {Words: long + "x"},
		"answers": {Answers: []pluginsdk.QuestionAnswer{{Text: long}, {Labels: []string{"x"}}}},
	} {
		refused(t, field, second(f.Approvals.Decide(t.Context(), &request)), pluginsdk.CodeInvalid, field+":")
	}
	if len(desk.told) > 0 {
		t.Errorf("it was decided: %q", desk.told)
	}
}

// Pages are bounded in bytes by the wire: what does not fit follows.
func TestApprovalsAndRulesAreReadToTheirEnd(t *testing.T) {
	f, desk := newDesk()
	for n := range 20 {
		id, text := fmt.Sprint("A", n), strings.Repeat("x", 1<<20)
		desk.open = append(desk.open, pluginsdk.Approval{ID: id, Text: text})
		desk.rules = append(desk.rules, pluginsdk.ApprovalRule{ID: id, Text: text})
	}
	var seen []string
	for after, more := "", true; more; after = seen[len(seen)-1] {
		answer, err := f.Approvals.List(t.Context(), &pluginsdk.ListApprovalsRequest{Query: pluginsdk.ApprovalQuery{After: after}})
		if err != nil || len(answer.Approvals) == 0 || len(answer.Approvals) > 8 {
			t.Fatalf("after %q: %d approvals, %v", after, len(answer.Approvals), err)
		}
		for _, one := range answer.Approvals {
			seen = append(seen, one.ID)
		}
		more = answer.More
	}
	for after, more := "", true; more; after = seen[len(seen)-1] {
		answer, err := f.Approvals.Rules(t.Context(), &pluginsdk.ListApprovalRulesRequest{After: after})
		if err != nil || len(answer.Rules) == 0 || len(answer.Rules) > 8 {
			t.Fatalf("after %q: %d rules, %v", after, len(answer.Rules), err)
		}
		for _, one := range answer.Rules {
			seen = append(seen, one.ID)
		}
		more = answer.More
	}
	if len(seen) != 40 || seen[19] != "A19" || seen[39] != "A19" {
		t.Errorf("read %q", seen)
	}
}

// A rule only gives leave: whoever may decide may take it away, also in a hook.
func TestARuleIsRevokedInAPersonsName(t *testing.T) {
	f, desk := newDesk()
	ctx, _ := f.within(t, ledger.Behalf{RunID: "R"})
	for _, ctx := range []context.Context{pluginsdk.WithPerson(t.Context(), "Bob"), ctx} {
		if _, err := f.Approvals.Revoke(ctx, &pluginsdk.RevokeApprovalRuleRequest{ID: "L", Author: "Ann"}); err != nil {
			t.Error(err)
		}
	}
	refused(t, "a long name", second(f.Approvals.Revoke(ctx, &pluginsdk.RevokeApprovalRuleRequest{Author: strings.Repeat("x", maxTaskRequester+1)})), pluginsdk.CodeInvalid)
	if want := []string{"revoke L by Bob/p", "revoke L by /p"}; !slices.Equal(desk.told, want) {
		t.Errorf("told %q; want %q", desk.told, want)
	}
	if answer, err := f.Approvals.Get(t.Context(), &pluginsdk.GetApprovalRequest{ID: "A"}); err != nil || answer.Approval.ID != "A" {
		t.Errorf("%+v, %v", answer, err)
	}
}
