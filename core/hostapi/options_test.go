package hostapi

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// How a message is run a plugin says within what it may do itself, and never an agent through it.
func TestOptionsOfASubmission(t *testing.T) {
	say := func(ctx context.Context, f *fixture, thread, content string, options pluginsdk.RunOptions) error {
		return second(f.Messages.Submit(ctx, &pluginsdk.SubmitMessageRequest{
			Submission: pluginsdk.Submission{ThreadID: thread, Key: "k", Content: content, Options: &options},
		}))
	}
	plain := newFixture(pluginsdk.CapMessagesSubmit)
	for name, options := range map[string]pluginsdk.RunOptions{
		"session":        {Session: "new"},
		"timeout":        {Timeout: -time.Second},
		"costCapUsd":     {CostCapUSD: -1},
		"permissionMode": {PermissionMode: "all"},
		"model":          {Model: string(make([]byte, maxWord+1))},
	} {
		refused(t, name, say(t.Context(), plain, "mine", "hello", options), pluginsdk.CodeInvalid, name)
	}
	refused(t, "a command", say(t.Context(), plain, "mine", "/something", pluginsdk.RunOptions{}), pluginsdk.CodeInvalid, "a command")
	refused(t, "tools", say(t.Context(), plain, "mine", "hello", pluginsdk.RunOptions{AllowedTools: []string{"Bash"}}), pluginsdk.CodeDenied, "options.allowedTools", "threads.admin")
	refused(t, "a mode", say(t.Context(), plain, "here", "hello", pluginsdk.RunOptions{PermissionMode: "acceptEdits"}), pluginsdk.CodeDenied, "options.permissionMode", "threads.admin")
	refused(t, "another's session", say(t.Context(), plain, "ann's", "hello", pluginsdk.RunOptions{Session: pluginsdk.SessionFresh}), pluginsdk.CodeDenied, "options.session", "threads.admin")
	for _, of := range []ledger.Behalf{{RunID: "R"}, {TaskID: "K"}} {
		in, _ := plain.within(t, of)
		refused(t, "an agent", say(in, plain, "mine", "hello", pluginsdk.RunOptions{QuietReply: true}), pluginsdk.CodeDenied, "of its own accord")
	}
	if n := len(plain.inbox.submissions); n != 0 {
		t.Fatalf("%d were submitted", n)
	}
	within := pluginsdk.RunOptions{QuietReply: true, Session: pluginsdk.SessionFresh, Model: "haiku", PermissionMode: "acceptEdits", CostCapUSD: 1, Timeout: time.Minute}
	if err := say(t.Context(), plain, "mine", "hello", within); err != nil || len(plain.store.audits) != 0 {
		t.Errorf("what its thread may do anyway: %v, audited %q", err, plain.store.audits)
	}
	admin := newFixture(pluginsdk.CapMessagesSubmit, pluginsdk.CapThreadsAdmin)
	if err := say(t.Context(), admin, "here", "hello", pluginsdk.RunOptions{AllowedTools: []string{"WebFetch"}}); err != nil {
		t.Errorf("with threads.admin: %v", err)
	}
	if !slices.ContainsFunc(admin.store.audits, func(line string) bool { return line != "" }) {
		t.Error("what a run may do beyond its thread is not in the audit log")
	}
}
