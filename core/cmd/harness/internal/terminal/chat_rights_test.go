package terminal

import (
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who may talk and not decide must not be asked for ever.
func TestChatPutsOffWhatThePersonMayNotAnswer(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	daemon.ForbidDecisions()
	asked, _ := daemon.AddApproval(toolQuestion)
	w := talk(t, daemon)
	w.out.await(t, "/later> ")
	w.enter(t, "n no")
	w.out.await(t, "✗ this needs a token with the scope approve\n(put off: /now takes it up again, and so does harness approvals show A)\nyou> ")
	w.enter(t, "hello")
	w.out.await(t, "Re: hello\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
	if got := daemon.Approval(asked.ID).State; got != pluginsdk.ApprovalOpen {
		t.Errorf("it is %s", got)
	}
}

// Who is not let in any more is told so, and not that it is tried again.
func TestChatSaysThatItIsNotLetInAnyMore(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "hello")
	w.out.await(t, "Re: hello\nyou> ")
	daemon.Revoke()
	w.out.await(t, "(no events any more: the token is revoked; answers appear when they are whole)\n")
	w.enter(t, "are you there?")
	w.out.await(t, "✗ the token is revoked\n")
	w.enter(t, "/quit")
	w.leaves(t)
	if strings.Count(w.out.String(), "no events any more") != 1 {
		t.Errorf("told more than once:\n%s", w.out)
	}
}
