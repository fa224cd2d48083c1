package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// optionBench is a bench whose claim is a message with options, in a thread that has a session.
func optionBench(options pluginsdk.RunOptions, plugins ...string) *bench {
	b := newBench(plugins...)
	b.claim.Run.Options, b.claim.Run.Purpose = &options, "cron"
	b.claim.Thread.SessionID, b.claim.Thread.Model, b.claim.Thread.Effort = "the thread's", "opus", "high"
	return b
}

// The agent gets what the options say, and the rest as the thread says.
func TestTheOptionsOfAMessageHold(t *testing.T) {
	b := optionBench(pluginsdk.RunOptions{
		Model: "haiku", PermissionMode: "plan", AllowedTools: []string{"WebFetch"}, DisallowedTools: []string{"Bash"}, CostCapUSD: 2, Timeout: time.Minute,
	})
	b.claim.AllowedTools = []string{"Read"}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	got := b.agent.requests[0]
	if got.Model != "haiku" || got.Effort != "high" || got.PermissionMode != "plan" || got.CostCapUSD != 2 || got.Timeout != time.Minute || got.Purpose != "cron" ||
		!slices.Equal(got.AllowedTools, []string{"Read", "WebFetch"}) || !slices.Equal(got.DisallowedTools, []string{"Bash"}) || got.SessionID != "the thread's" || !got.Resume || got.Fresh {
		t.Errorf("asked %+v", got)
	}
	if run := b.store.results[0].AgentRun; run.Purpose != "cron" {
		t.Errorf("recorded under %q", run.Purpose)
	}
	if !b.store.finishes[0].Deliver {
		t.Error("its reply is not carried")
	}
}

// What a quiet run says is stored, and carried to nobody: its reply, and that it has failed, each as the
// options say.
func TestAQuietRun(t *testing.T) {
	for _, options := range []pluginsdk.RunOptions{{QuietReply: true}, {QuietNotices: true}, {}} {
		b := optionBench(options)
		if err := b.handle(); err != nil {
			t.Fatal(err)
		}
		if end := b.store.finishes[0]; end.Deliver == options.QuietReply || len(end.Rows) != 1 {
			t.Errorf("%+v: answered %+v", options, end)
		}
		b = optionBench(options)
		if err := b.line.Fail(t.Context(), b.claim, pluginsdk.Errorf(pluginsdk.CodeInternal, "it broke"), ledger.Left{}); err != nil {
			t.Fatal(err)
		}
		if end := b.store.finishes[0]; end.Deliver == options.QuietNotices || len(end.Rows) != 1 || end.State != pluginsdk.RunFailed {
			t.Errorf("%+v: failed %+v", options, end)
		}
	}
}

// A fresh session knows nothing of the thread's, nor is it told what was said there; the thread goes on
// with it. The attempt after one that was killed goes on with the session that this one began.
func TestAFreshSession(t *testing.T) {
	b := optionBench(pluginsdk.RunOptions{Session: pluginsdk.SessionFresh}, "a")
	b.store.rows = []pluginsdk.Message{{ID: 8, Role: pluginsdk.RoleSystem, Kind: pluginsdk.MessageNotification, Source: "cron", Content: "it rained"}}
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	got := b.agent.requests[0]
	if got.Resume || got.Fresh || got.SessionID == "" || got.SessionID == "the thread's" || strings.Contains(got.Prompt, "it rained") {
		t.Errorf("asked %+v", got)
	}
	if intent := b.store.intents[0]; intent.SessionID != got.SessionID {
		t.Errorf("5a has the session %q, the agent %q", intent.SessionID, got.SessionID)
	}
	if commit := b.store.results[0]; commit.SessionID == "the thread's" || commit.SessionID == "" || commit.SeenMessageID != b.claim.Message.ID {
		t.Errorf("the thread is left with the session %q, seen %d", commit.SessionID, commit.SeenMessageID)
	}

	b = optionBench(pluginsdk.RunOptions{Session: pluginsdk.SessionFresh})
	b.claim.Run.Step, b.claim.Run.SessionID, b.claim.Run.Attempt = pluginsdk.StepInvoking, "of the dead", 2
	if err := b.handle(); err != nil {
		t.Fatal(err)
	}
	if got := b.agent.requests[0]; got.SessionID != "of the dead" || !got.Resume || !strings.Contains(got.Prompt, interruptedNote) {
		t.Errorf("after a kill: %+v", got)
	}

	b = optionBench(pluginsdk.RunOptions{Session: pluginsdk.SessionFresh})
	b.agent.answer = failsWith(&pluginsdk.Failure{Kind: pluginsdk.FailureAPI, Message: "no"})
	if err := b.handle(); err == nil {
		t.Fatal("it has not failed")
	}
	if commit := b.store.results[0]; commit.SessionID != "" {
		t.Errorf("after a failure the thread has the session %q", commit.SessionID)
	}
}
