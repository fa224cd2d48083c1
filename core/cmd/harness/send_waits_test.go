package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const usedUp = "The message waits: the budget daily is used up. It then continues by itself. To drop the message: /stop\n"

var byBudget = pluginsdk.Parked{Reason: "the budget daily is used up", Plugin: "metrics", Budget: "daily"}

// sends says something, and has the run wait until stderr says so, and then answered. It returns what stderr has.
func sends(t *testing.T, until string, waits func(*clienttest.Turn)) string {
	t.Helper()
	isolate(t)
	errs := &gate{text: until, opened: make(chan struct{})}
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		waits(turn)
		<-errs.opened
		turn.Unpark()
		turn.Reply("Done.")
	})
	var out bytes.Buffer
	if code := run(t.Context(), []string{"send", "--url", daemon.URL(), "hello"}, streams{strings.NewReader(""), &out, errs}); code != 0 || out.String() != "Done.\n" {
		t.Errorf("exit %d, stdout %q", code, out.String())
	}
	return errs.buffer.String()
}

// Who sends a message that waits reads why, until when, and what to do; and then the answer.
func TestSendSaysWhatTheMessageWaitsFor(t *testing.T) {
	for what, c := range map[string]struct {
		want  string
		waits func(*clienttest.Turn)
	}{
		"a budget": {usedUp, func(turn *clienttest.Turn) { turn.Park(byBudget, strings.TrimSpace(usedUp)) }},
		"a plan": {"Parked: The plan's five hours are used up.\n", func(turn *clienttest.Turn) {
			turn.Park(pluginsdk.Parked{Reason: "used up"}, "Parked: The plan's five hours are used up.")
		}},
		"what nobody was told of": {"The message waits: the budget daily is used up. It then continues by itself.\n", func(turn *clienttest.Turn) { turn.Park(byBudget, "") }},
		"a plugin": {
			"The message waits for the plugin redact (OnMessage). It continues when the plugin answers. If the plugin does not recover, an operator can turn it off: harness plugin disable redact\n",
			func(turn *clienttest.Turn) { turn.WaitFor("redact", pluginsdk.HookMessage) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			if got := sends(t, c.want, c.waits); got != c.want {
				t.Errorf("stderr has %q, want %q", got, c.want)
			}
		})
	}
}

// A message that is tried again, and still has to wait, is told of once.
func TestSendSaysOnceWhatTheMessageWaitsFor(t *testing.T) {
	got := sends(t, "attempt 1 failed", func(turn *clienttest.Turn) {
		turn.Park(byBudget, strings.TrimSpace(usedUp))
		turn.Unpark()
		turn.Park(byBudget, "")
		turn.Park(byBudget, "")
		turn.Retry(1, "529", 0)
	})
	if !strings.HasPrefix(got, usedUp) || strings.Count(got, "daily") != 1 {
		t.Errorf("stderr has %q", got)
	}
}

// A message behind one that waits is held up as well, and nothing in the thread is about it. A command passes.
func TestSendSaysThatAnEarlierMessageWaits(t *testing.T) {
	isolate(t)
	parked := make(chan struct{})
	var first *clienttest.Turn
	errs := &gate{text: usedUp, opened: make(chan struct{})}
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		switch turn.Said {
		case "first":
			first = turn
			turn.Park(byBudget, strings.TrimSpace(usedUp))
			close(parked)
		case "second":
			<-errs.opened
			turn.Reply("Done.")
			first.Unpark()
			first.Reply("Done too.")
		default:
			turn.Answer(pluginsdk.RunSucceeded, "All is well.")
		}
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	done := make(chan result, 1)
	go func() { done <- harness(t, "", "send", "first") }()
	<-parked
	if got := harness(t, "", "send", "/status"); got != (result{0, "All is well.\n", ""}) {
		t.Errorf("a command: %+v", got)
	}
	var out bytes.Buffer
	code := run(t.Context(), []string{"send", "second"}, streams{strings.NewReader(""), &out, errs})
	if want := "The message waits behind an earlier one of its thread. " + usedUp; code != 0 || out.String() != "Done.\n" || errs.buffer.String() != want {
		t.Errorf("exit %d, stdout %q, stderr %q; want %q", code, out.String(), errs.buffer.String(), want)
	}
	(<-done).want(t, 0, "Done too.\n", "")
}
