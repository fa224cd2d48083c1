package hostapi

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who reads a row, or decides on it, must not be told that a person has said what a plugin or an
// agent has.
func TestWhoseActACallIs(t *testing.T) {
	run := ledger.Behalf{RunID: "R", TaskID: "K", Fence: ledger.Fence{ThreadID: "T"}, Apart: true}
	command := ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "T"}, Typed: ledger.By{
		Author: "Ann", Plugin: "web", Scope: pluginsdk.ScopeWork, Origin: pluginsdk.Origin{Token: "A", TokenName: "Ann"},
	}}
	caused := command
	caused.Typed.RunID = "R0"
	for name, row := range map[string]struct {
		origin ledger.Behalf // of the hook or tool; zero: of the plugin's own accord
		named  string
		token  string
		want   string
	}{
		"its own":                          {want: "the plugin p"},
		"a person's, as it says":           {named: "Ann", want: "Ann, says the plugin p"},
		"by a token":                       {token: "A", want: "Ann, by a token, through the plugin p"},
		"by a token, naming somebody else": {token: "A", named: "Owner", want: "Ann, by a token, through the plugin p"},
		"in a run":                         {origin: run, want: "the agent of the thread T, run R, task K, through the plugin p, of a thread apart"},
		"in a run, naming the owner":       {origin: run, named: "Owner", want: "the agent of the thread T, run R, task K, through the plugin p, of a thread apart"},
		"in a run, with a token":           {origin: run, token: "A", want: "the agent of the thread T, run R, task K, through the plugin p, of a thread apart"},
		"in a task's hook":                 {origin: ledger.Behalf{TaskID: "K"}, named: "Owner", want: "the agent, task K, through the plugin p"},
		"in a command that Ann has typed":  {origin: command, named: "Owner", want: "Ann, by a token, through the plugin p"},
		"in a command that a run has":      {origin: caused, named: "Owner", want: "the agent of the thread T, run R, through the plugin p"},
	} {
		f := newFixture()
		f.api.Callers = &door{id: "A"}
		ctx := t.Context()
		if row.origin != (ledger.Behalf{}) {
			token := f.tokens.Open(t.Context(), "p", row.origin, time.Now().Add(time.Hour))
			ctx = pluginsdk.WithCall(ctx, pluginsdk.Call{ID: "C", Token: token})
		}
		c := &caller{API: f.api, plugin: "p"}
		if row.token != "" {
			if _, err := (callers{c}).Check(ctx, &pluginsdk.CheckTokenRequest{Secret: "s"}); err != nil {
				t.Fatal(err)
			}
			ctx = pluginsdk.WithToken(ctx, row.token)
		}
		if got, err := c.label(ctx, row.named); err != nil || got.String() != row.want {
			t.Errorf("%s: it is the act of %q, %v; want %q", name, got, err, row.want)
		}
	}
}

// A token that a plugin only names must not make a person of the plugin, nor one that was
// revoked, nor that of another person.
func TestATokenIsShownBeforeItIsNamed(t *testing.T) {
	f, keeper := newFixture(), &door{id: "A"}
	f.api.Callers = keeper
	admit := func(plugin, token, person string) error {
		ctx := pluginsdk.WithToken(t.Context(), token)
		if person != "" {
			ctx = pluginsdk.WithPerson(ctx, person)
		}
		return f.api.Admit(ctx, plugin, "")
	}
	refused(t, "never shown", admit("p", "A", ""), pluginsdk.CodeDenied, "has not shown")
	if _, err := f.api.For("p").Tokens.Check(t.Context(), &pluginsdk.CheckTokenRequest{Secret: "s"}); err != nil {
		t.Fatal(err)
	}
	for _, person := range []string{"", "Ann"} {
		if err := admit("p", "A", person); err != nil {
			t.Errorf("in the name of %q: %v", person, err)
		}
	}
	refused(t, "another's name", admit("p", "A", "Owner"), pluginsdk.CodeDenied, "in the name of Owner")
	refused(t, "shown by another plugin", admit("q", "A", "Ann"), pluginsdk.CodeDenied, "has not shown")
	refused(t, "another token", admit("p", "B", "Ann"), pluginsdk.CodeDenied, "has not shown")
	keeper.revoked = "A"
	refused(t, "revoked", admit("p", "A", "Ann"), pluginsdk.CodeDenied, "revoked")
	if err := f.api.Admit(context.Background(), "p", ""); err != nil {
		t.Errorf("without a token: %v", err)
	}
}

// What a message is stored with is what the core knows, whatever the plugin says of its person.
func TestASubmissionIsLabelledByTheCore(t *testing.T) {
	f := newFixture(pluginsdk.CapMessagesSubmit)
	f.api.Callers = &door{id: "A"}
	submit := func(ctx context.Context, s pluginsdk.Submission) (pluginsdk.Submission, ledger.By) {
		t.Helper()
		s.Source, s.Key, s.Content = "p", "k", "hello"
		if _, err := f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{Submission: s}); err != nil {
			t.Fatal(err)
		}
		last := len(f.inbox.submissions) - 1
		return f.inbox.submissions[last], f.inbox.submitters[last]
	}
	said := pluginsdk.Submission{Author: "Owner", Scope: pluginsdk.ScopeAdmin}
	if s, by := submit(t.Context(), said); s.Author != "Owner" || s.Scope != pluginsdk.ScopeAdmin || by.Token != "" {
		t.Errorf("what a carrier says: %+v, %+v", s, by)
	}
	if _, err := f.Tokens.Check(t.Context(), &pluginsdk.CheckTokenRequest{Secret: "s"}); err != nil {
		t.Fatal(err)
	}
	if s, by := submit(pluginsdk.WithToken(t.Context(), "A"), said); s.Author != "Ann" || s.Scope != pluginsdk.ScopeChat || by.Token != "A" || by.TokenName != "Ann" {
		t.Errorf("by a token: %+v, %+v", s, by)
	}
	ctx, _ := f.within(t, ledger.Behalf{RunID: "R", Fence: ledger.Fence{ThreadID: "T"}})
	if s, by := submit(ctx, said); s.Author != "" || s.Scope != "" || by.RunID != "R" || by.ThreadID != "T" || s.CauseRunID != "R" {
		t.Errorf("in a run: %+v, %+v", s, by)
	}
	said.CauseRunID = "R1"
	if s, by := submit(t.Context(), said); s.Author != "" || s.Scope != "" || by.RunID != "R1" || !strings.Contains(by.String(), "run R1") {
		t.Errorf("of a run that the plugin names: %+v, %+v", s, by)
	}
}
