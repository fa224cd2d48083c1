package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func approvalNumber(n int) string { return fmt.Sprintf("0199%04d-0000-7000-8000-00000000%04d", n, n) }

func TestApprovalsAndRulesAreReadInPagesToTheirEnd(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	c := connect(t, daemon.URL())
	for n := range 5 {
		daemon.AddApproval(pluginsdk.Approval{ID: approvalNumber(n), Title: "may I?"})
		daemon.AddRule(pluginsdk.ApprovalRule{ID: approvalNumber(n), ThreadID: clienttest.Primary})
	}
	daemon.Shorten(2)
	for newest, first := range map[bool]string{true: approvalNumber(4), false: approvalNumber(0)} {
		all, err := c.Approvals(t.Context(), pluginsdk.ApprovalQuery{ThreadID: clienttest.Primary, Newest: newest, States: []pluginsdk.ApprovalState{pluginsdk.ApprovalOpen}})
		if err != nil || len(all) != 5 || all[0].ID != first {
			t.Errorf("%+v, %v", all, err)
		}
	}
	if rules, err := c.Rules(t.Context(), clienttest.Primary); err != nil || len(rules) != 5 {
		t.Errorf("%+v, %v", rules, err)
	}
	if err := c.Revoke(t.Context(), approvalNumber(3), "Ann"); err != nil {
		t.Fatal(err)
	}
	if rules, err := c.Rules(t.Context(), ""); err != nil || len(rules) != 4 {
		t.Errorf("%+v, %v", rules, err)
	}
}

// Who decides by a part of an id must decide on what they mean, or on nothing.
func TestAnApprovalIsNamedByAPartOfItsID(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	c := connect(t, daemon.URL())
	daemon.AddApproval(pluginsdk.Approval{ID: "aaaaaaaa-0000-7000-8000-000000000001", State: pluginsdk.ApprovalExpired})
	daemon.AddApproval(pluginsdk.Approval{ID: "aaaaaaaa-0000-7000-8000-000000000002"})
	daemon.AddApproval(pluginsdk.Approval{ID: "bbbbbbbb-0000-7000-8000-000000000003"})
	daemon.AddApproval(pluginsdk.Approval{ID: "bbbbbbbb-0000-7000-8000-000000000004"})
	for part, want := range map[string]string{
		"000004":                               "bbbbbbbb-0000-7000-8000-000000000004",
		"aaaaaa":                               "aaaaaaaa-0000-7000-8000-000000000002", // the one that is open
		"000001":                               "aaaaaaaa-0000-7000-8000-000000000001", // no other
		"cccccccc-0000-7000-8000-000000000009": "cccccccc-0000-7000-8000-000000000009",
	} {
		if got, err := c.ApprovalID(t.Context(), part); err != nil || got != want {
			t.Errorf("%s: %s, %v", part, got, err)
		}
	}
	for part, words := range map[string]string{"bbbbbb": "more than one id", "00004": "6 or more", "cccccc": "no approval"} {
		if got, err := c.ApprovalID(t.Context(), part); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %s, %v", part, got, err)
		}
	}
}

func TestALateAnswerIsAProblem(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	c := connect(t, daemon.URL())
	asked, over := daemon.AddApproval(pluginsdk.Approval{Title: "may I?"})
	if got, err := c.Decide(t.Context(), asked.ID, client.ApprovalAnswer{Choice: "deny", Words: "no", Author: "Ann"}); err != nil || got.State != pluginsdk.ApprovalDenied {
		t.Fatalf("%+v, %v", got, err)
	}
	<-over
	var problem *client.Problem
	_, err := c.Decide(t.Context(), asked.ID, client.ApprovalAnswer{Choice: "allow", Author: "Bob"})
	if !errors.As(err, &problem) || problem.Status != 409 || !strings.Contains(err.Error(), "Ann") {
		t.Errorf("err = %v", err)
	}
	if got, err := c.Approval(t.Context(), asked.ID); err != nil || got.Words != "no" {
		t.Errorf("%+v, %v", got, err)
	}
	if got := daemon.Answered(); !slices.Equal(got, []string{asked.ID + ` {"choice":"deny","words":"no"}`}) {
		t.Errorf("answered %q", got)
	}
}

// What is told by an event alone is read again when events are missed: else a question that
// was asked meanwhile is never shown.
func TestWhoWaitsLooksWhenEventsMayBeMissing(t *testing.T) {
	looked, asked := make(chan string, 8), make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		<-asked
		turn.Reply("done")
	})
	ended := make(chan error, 1)
	go func() {
		_, err := connect(t, daemon.URL()).Ask(t.Context(), clienttest.Primary, "go", client.Waiting{
			Unattended: true, Look: func(runID string) { looked <- runID },
		})
		ended <- err
	}()
	if got := <-looked; got != "run-1" {
		t.Errorf("looked at %q", got)
	}
	daemon.CutSockets()
	if got := <-looked; got != "run-1" {
		t.Errorf("looked at %q", got)
	}
	daemon.Publish(pluginsdk.EventResync, clienttest.Primary, struct{}{})
	if got := <-looked; got != "run-1" {
		t.Errorf("looked at %q", got)
	}
	close(asked)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := daemon.Attended(); !slices.Equal(got, []bool{false}) {
		t.Errorf("attended: %v", got)
	}
}
