package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

func TestSendPrintsTheReplyAndNothingElse(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Begin()
		turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageStatus, "Pipeline started", `{"event":"pipeline_start"}`)
		turn.Deltas("draft")
		turn.Row(pluginsdk.RoleAssistant, pluginsdk.MessageThinking, "hm", "{}")
		turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageText, "Task made.", "{}")
		turn.Reply("Hello, too.")
	})
	got := harness(t, "", "send", "--url", daemon.URL(), "hello", "there")
	if want := (result{0, "Task made.\nHello, too.\n", ""}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	if said := daemon.Said(); len(said) != 1 || said[0] != "hello there" {
		t.Errorf("said %q", said)
	}
}

func TestSendReadsStdin(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply(turn.Said) })
	t.Setenv("HARNESS_URL", daemon.URL())
	harness(t, "line one\nline two\n", "send", "-").want(t, 0, "line one\nline two\n", "")
	harness(t, " \n", "send", "-").want(t, exitFailed, "", "nothing to send")
}

var anyRun = regexp.MustCompile(`run-\d+`)

// A script must be able to tell an answer from a failure.
func TestSendFailsWithTheRun(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		switch turn.Said {
		case "denied":
			turn.Fail(pluginsdk.RunFailed, "Not run: the budget is used up")
		case "/nonsense":
			turn.Answer(pluginsdk.RunFailed, "There is no command /nonsense.")
		case "empty":
			turn.Row(pluginsdk.RoleSystem, pluginsdk.MessageStatus, "There is no reply.", `{"event":"pipeline_empty"}`)
			turn.End(pluginsdk.RunSucceeded, "")
			turn.Tell(0)
		case "stopped":
			turn.Fail(pluginsdk.RunCancelled, "Stopped.")
		case "dropped":
			turn.End(pluginsdk.RunCancelled, "dropped from the queue")
			turn.Tell(0)
		default:
			turn.End(pluginsdk.RunFailed, "broken")
			turn.Tell(0)
		}
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	for said, want := range map[string]result{
		"denied":    {exitFailed, "", "Not run: the budget is used up\nTo try again: harness retry RUN\n"},
		"/nonsense": {exitFailed, "", "There is no command /nonsense.\n"},
		"empty":     {0, "", "There is no reply.\n"},
		"other":     {exitFailed, "", "harness: broken\nTo try again: harness retry RUN\n"},
		"stopped":   {exitFailed, "", "cancelled: Stopped.\n"},
		"dropped":   {exitFailed, "", "cancelled: dropped from the queue\n"},
	} {
		got := harness(t, "", "send", said)
		got.err = anyRun.ReplaceAllString(got.err, "RUN")
		if got != want {
			t.Errorf("send %s: %+v; want %+v", said, got, want)
		}
	}
}

func TestSendSaysWhereNobodyAnswers(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Stop()
	address := daemon.URL()
	got := harness(t, "", "send", "--url", address, "hello")
	got.want(t, exitUnreachable, "", "no daemon answers at "+address)
	got.want(t, exitUnreachable, "", "harness up")
	_, port, _ := strings.Cut(strings.TrimPrefix(address, "http://"), ":")
	harness(t, "", "send", "--port", port, "hello").want(t, exitUnreachable, "", "http://127.0.0.1:"+port)
	t.Setenv("PORT", port)
	harness(t, "", "send", "hello").want(t, exitUnreachable, "", "http://127.0.0.1:"+port)
}

// The database is away for moments when it is upgraded; what a script says meanwhile must
// not be lost to it.
func TestSendWaitsForTheDatabase(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	daemon.LoseDatabase(2)
	harness(t, "", "send", "--url", daemon.URL(), "hi").want(t, 0, "Re: hi\n", "the connection to the database was lost; trying again for 1m0s\n")
}

func TestSendSaysWhichThreadThereIsNot(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	harness(t, "", "send", "--url", daemon.URL(), "--thread", "nowhere", "hi").want(t, exitFailed, "", "there is no thread nowhere")
}

func TestSendThatIsInterruptedSaysThatTheRunGoesOn(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-daemon.Watched()
		cancel()
	}()
	harnessIn(ctx, "", "send", "--url", daemon.URL(), "hi").want(t, exitFailed, "", "run run-1 goes on")
}

func TestChatTalks(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) { turn.Reply("Re: " + turn.Said) })
	harness(t, "one\ntwo\n", "chat", "--url", daemon.URL()).want(t, 0, "you> one\nRe: one\nyou> two\nRe: two\n", "")
	daemon.Stop()
	harness(t, "one\n", "chat", "--url", daemon.URL()).want(t, exitUnreachable, "", "no daemon answers at "+daemon.URL())
}
