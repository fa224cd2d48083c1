package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func ask(t *testing.T, daemon *clienttest.Daemon) *client.Ending {
	t.Helper()
	ending, err := connect(t, daemon.URL()).Ask(t.Context(), clienttest.Primary, "hello", client.Waiting{})
	if err != nil {
		t.Fatal(err)
	}
	return ending
}

func onlyText(t *testing.T, ending *client.Ending, want string) {
	t.Helper()
	texts := ending.Texts()
	if len(texts) != 1 || texts[0].Content != want || !ending.Succeeded() {
		t.Errorf("ending = %+v; want only the text %q", ending, want)
	}
}

func TestAskReturnsTheStoredReply(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageStatus, "Pipeline started", `{"event":"pipeline_start"}`)
		turn.Deltas("rough ", "draft")
		turn.Row(pluginsdk.RoleAssistant, pluginsdk.MessageThinking, "hm", "{}")
		turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageStatus, "Bash: make", `{"event":"approval","approvalId":"A"}`)
		turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageStatus, "Ann denied it", `{"event":"approval_denied","approvalId":"A"}`)
		turn.Reply("hello yourself")
	})
	ending := ask(t, daemon)
	onlyText(t, ending, "hello yourself")
	if len(ending.Statuses()) != 0 {
		t.Errorf("statuses = %v; want none: that a run began and what it asked is no news", ending.Statuses())
	}
}

// A core command is answered before the request that brought it: its
// pipeline:complete comes when nobody knows the run yet.
func TestAskIsNotTooLateForAnAnswerThatIsThereAtOnce(t *testing.T) {
	answered := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Answer(pluginsdk.RunSucceeded, "idle")
		close(answered)
	})
	c := connect(t, daemon.URL())
	talk := c.Converse(clienttest.Primary, 0)
	defer talk.Close()
	accepted, err := talk.Say(t.Context(), "/status")
	if err != nil {
		t.Fatal(err)
	}
	<-answered
	talk.Track(accepted)
	onlyText(t, final(t, talk), "idle")
}

func final(t *testing.T, talk *client.Conversation) *client.Ending {
	t.Helper()
	for {
		select {
		case notice := <-talk.Notices():
			if notice.Final != nil {
				return notice.Final
			}
		case <-t.Context().Done():
			t.Fatal("the test ended before the run did")
		}
	}
}

// Events inform; the database decides. Who only waits for events waits for
// ever when they do not come.
func TestAskReadsTheRunWhenTheSocketIsGone(t *testing.T) {
	var daemon *clienttest.Daemon
	daemon = clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		daemon.Deafen(true)
		turn.Reply("read from the run")
	})
	onlyText(t, ask(t, daemon), "read from the run")
}

func TestAskWorksWithoutASocket(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("deaf but here") })
	daemon.Deafen(true)
	onlyText(t, ask(t, daemon), "deaf but here")
}

// A daemon that is killed in mid-turn finishes the run after its restart.
func TestAskOutlivesARestartOfTheDaemon(t *testing.T) {
	var daemon *clienttest.Daemon
	daemon = clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		daemon.Stop()
		turn.End(pluginsdk.RunSucceeded, "")
		turn.Row(pluginsdk.RoleAssistant, pluginsdk.MessageText, "after the restart", "{}")
		daemon.Start()
	})
	onlyText(t, ask(t, daemon), "after the restart")
}

// An answer that is lost on its way must not make the message be said twice.
func TestAskRepeatsItsRequestUnderTheSameKey(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("once") })
	daemon.LoseAnswers(2)
	onlyText(t, ask(t, daemon), "once")
	if said := daemon.Said(); len(said) != 1 || daemon.Posts() != 3 {
		t.Errorf("%d posts stored %d messages; want 3 and 1", daemon.Posts(), len(said))
	}
}

func TestAskFollowsAMessageThatWasMergedIntoAnotherRun(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "first" {
			return // its reply comes with the second
		}
		turn.Reply("both")
	})
	c := connect(t, daemon.URL())
	talk := c.Converse(clienttest.Primary, 0)
	defer talk.Close()
	first, err := talk.Say(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	second, err := talk.Say(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	daemon.Turn(first).Merge(second.RunID)
	talk.Track(first)
	onlyText(t, final(t, talk), "both")
}

func TestAskTellsAFailureWithItsReason(t *testing.T) {
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Fail(pluginsdk.RunFailed, "the model said no") })
	ending := ask(t, daemon)
	if ending.Succeeded() || len(ending.Statuses()) != 1 || ending.Statuses()[0].Content != "the model said no" {
		t.Errorf("ending = %+v", ending)
	}
}

// A turn with a great many tools can leave a record that no answer holds. Its
// reply is stored all the same, and the person must see it.
func TestAskFindsTheEndingOfARunThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(*clienttest.Turn)
		state  pluginsdk.RunState
	}{
		"reply":     {func(turn *clienttest.Turn) { turn.Reply("done") }, pluginsdk.RunSucceeded},
		"failure":   {func(turn *clienttest.Turn) { turn.Fail(pluginsdk.RunFailed, "done") }, pluginsdk.RunFailed},
		"cancelled": {func(turn *clienttest.Turn) { turn.Fail(pluginsdk.RunCancelled, "done") }, pluginsdk.RunCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			daemon := clienttest.New(t, func(turn *clienttest.Turn) {
				turn.Begin()
				turn.Row(pluginsdk.RoleAssistant, pluginsdk.MessageText, "a plugin's word in between", "{}")
				test.answer(turn)
			})
			daemon.Swell()
			ending := ask(t, daemon)
			rows := ending.Messages
			if ending.Run.State != test.state || len(rows) != 2 || rows[1].Content != "done" {
				t.Errorf("ending = %+v; want state %s", ending, test.state)
			}
		})
	}
}

func TestAskGivesUpOnADaemonThatStaysAway(t *testing.T) {
	var daemon *clienttest.Daemon
	daemon = clienttest.New(t, func(*clienttest.Turn) { daemon.Stop() })
	_, err := connect(t, daemon.URL()).Ask(t.Context(), clienttest.Primary, "hello", client.Waiting{Patience: time.Nanosecond})
	var away *client.Unreachable
	if !errors.As(err, &away) {
		t.Errorf("err = %v; want Unreachable", err)
	}
}

// Who gives up must learn where the answer will be.
func TestAskThatIsGivenUpNamesTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	go func() {
		<-daemon.Watched() // the message is accepted, and its run waited for
		cancel()
	}()
	_, err := connect(t, daemon.URL()).Ask(ctx, clienttest.Primary, "hello", client.Waiting{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run run-1 goes on") {
		t.Errorf("err = %v; want one that names the run", err)
	}
}

func TestAProblemWithTheMessageIsNotTriedAgain(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Refuse("content: a message needs text")
	_, err := connect(t, daemon.URL()).Ask(t.Context(), clienttest.Primary, "hello", client.Waiting{})
	var problem *client.Problem
	if !errors.As(err, &problem) || problem.Detail != "content: a message needs text" || daemon.Posts() != 1 {
		t.Errorf("err = %v after %d posts; want the Problem after 1", err, daemon.Posts())
	}
}
