package terminal

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Who sees nothing while attempts fail thinks that the agent hangs.
func TestChatShowsEachAttemptThatFails(t *testing.T) {
	seen := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.Retry(1, "529 overloaded", 4*time.Second)
		turn.Begin()
		turn.Retry(2, "the agent\ncrashed", 0)
		<-seen
		turn.Fail(pluginsdk.RunFailed, "I could not answer: it crashed")
	})
	w := talk(t, daemon)
	w.enter(t, "hello")
	w.out.await(t, "· attempt 1 failed: 529 overloaded; trying again in 4s\n"+
		"· attempt 2 failed: the agent crashed; trying again at once\n")
	close(seen)
	w.out.await(t, "✗ I could not answer: it crashed\nTo try again: harness retry run-1\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
}

// Who sees nothing while a plugin takes its time thinks so as well.
func TestChatSaysWhichPluginItWaitsFor(t *testing.T) {
	seen := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.WaitFor("redact", pluginsdk.HookBeforeReply)
		<-seen
		turn.Fail(pluginsdk.RunFailed, "I could not answer: it crashed")
	})
	w := talk(t, daemon)
	w.enter(t, "hello")
	w.out.await(t, "· The message waits for the plugin redact (OnBeforeReply). It continues when the plugin answers.")
	close(seen)
	w.out.await(t, "you> ")
	w.enter(t, "/quit")
	w.leaves(t)
}

// Nor does a message come that waits for money: the chat says why, once, and that what is typed behind it waits too.
func TestChatSaysThatAMessageWaitsForABudget(t *testing.T) {
	seen := make(chan struct{})
	budget := pluginsdk.Parked{Reason: "the budget daily is used up", Plugin: "metrics", Budget: "daily"}
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "behind" {
			<-seen
			turn.Reply("Second.")
			return
		}
		turn.Park(budget, "The message waits: the budget daily is used up.")
		turn.Park(budget, "")
		<-seen
		turn.Unpark()
		turn.Reply("First.")
	})
	w := talk(t, daemon)
	w.enter(t, "hello")
	w.out.await(t, "· The message waits: the budget daily is used up.\n")
	w.enter(t, "behind")
	w.out.await(t, "(waiting: 1 before this one)\n")
	close(seen)
	w.out.await(t, "First.")
	w.out.await(t, "Second.")
	w.enter(t, "/quit")
	w.leaves(t)
	if n := strings.Count(w.out.String(), "The message waits"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, w.out.String())
	}
}

// A line that steers the running turn has no answer of its own, and must not
// leave the chat waiting for one.
func TestChatGoesOnWhenALineIsMergedIntoTheRunningTurn(t *testing.T) {
	var running *clienttest.Turn
	merged := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "work" {
			running = turn
			turn.Begin()
			turn.Deltas("Working")
			return
		}
		turn.Merge(running.Accepted.RunID)
		<-merged
		running.Reply("Did both.")
	})
	w := talk(t, daemon)
	w.enter(t, "work")
	w.out.await(t, "Working")
	w.enter(t, "and this")
	w.out.await(t, "(answered together with another message: and this)")
	close(merged)
	w.out.await(t, "Did both.\nyou> ")
	if shown := strings.Count(w.out.String(), "Did both."); shown != 1 {
		t.Errorf("the answer is shown %d times:\n%s", shown, w.out)
	}
	w.enter(t, "/quit")
	w.leaves(t)
}

// A turn can be merged into one that the chat has not heard of: Ctrl-C must
// stop that one then.
func TestChatInterruptsTheRunThatATurnWasMergedInto(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "elsewhere" {
			turn.Begin()
			<-turn.Cancelled
			turn.Fail(pluginsdk.RunCancelled, "Stopped.")
		}
	})
	api, err := client.New(daemon.URL())
	if err != nil {
		t.Fatal(err)
	}
	before, err := api.Chat(t.Context(), client.ChatRequest{Content: "elsewhere", IdempotencyKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	w := talk(t, daemon)
	w.out.await(t, "you> ")
	w.enter(t, "here")
	w.out.await(t, "(waiting: 1 before this one)")
	daemon.Turn(pluginsdk.Accepted{ThreadID: clienttest.Primary, RunID: "run-2"}).Merge(before.RunID)
	w.out.await(t, "(answered together with another message: here)")
	w.interrupts <- os.Interrupt
	w.out.await(t, "cancelled: Stopped.\nyou> ")
	w.enter(t, "/quit")
	w.leaves(t)
}
