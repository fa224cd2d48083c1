package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// gate is a writer that opens when something was written to it.
type gate struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	text   string
	opened chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := strings.Contains(g.buffer.String(), g.text)
	n, err := g.buffer.Write(p)
	if !before && strings.Contains(g.buffer.String(), g.text) {
		close(g.opened)
	}
	return n, err
}

// While attempts fail, a person must see that something goes on, and why it
// takes so long.
func TestSendShowsEachAttemptThatFails(t *testing.T) {
	isolate(t)
	errs := &gate{text: "attempt 2 failed", opened: make(chan struct{})}
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		turn.Retry(1, "529 overloaded", 2*time.Second)
		turn.Retry(2, "529 overloaded", 4*time.Second)
		<-errs.opened
		turn.Reply("at last")
	})
	var out bytes.Buffer
	code := run(t.Context(), []string{"send", "--url", daemon.URL(), "hello"}, streams{strings.NewReader(""), &out, errs})
	want := "attempt 1 failed: 529 overloaded; trying again in 2s\nattempt 2 failed: 529 overloaded; trying again in 4s\n"
	if code != 0 || out.String() != "at last\n" || errs.buffer.String() != want {
		t.Errorf("exit %d, stdout %q, stderr %q", code, out.String(), errs.buffer.String())
	}
}

// The reply to a message that was merged is the reply to the other one: a
// script must get it, and a person be told why it fits two questions.
func TestSendPrintsTheReplyOfTheRunItWasMergedInto(t *testing.T) {
	isolate(t)
	var first *clienttest.Turn
	begun := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "first" {
			first = turn
			turn.Begin()
			close(begun)
			return
		}
		turn.Merge(first.Accepted.RunID)
		first.Reply("Both.")
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	results := make(chan result, 1)
	go func() { results <- harness(t, "", "send", "first") }()
	<-begun
	if got, want := harness(t, "", "send", "second"), (result{0, "Both.\n", "answered together with another message, by run run-1\n"}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	if got, want := <-results, (result{0, "Both.\n", ""}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
}

func TestRetryPrintsTheAnswer(t *testing.T) {
	isolate(t)
	works := false
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if works {
			turn.Reply("Here: " + turn.Said)
			return
		}
		turn.Fail(pluginsdk.RunFailed, "overloaded")
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	harness(t, "", "send", "hello").want(t, exitFailed, "", "harness retry run-1")
	works = true
	for range 2 { // the second waits for the same answer
		if got, want := harness(t, "", "retry", "run-1"), (result{0, "Here: hello\n", ""}); got != want {
			t.Errorf("got %+v; want %+v", got, want)
		}
	}
	if said := daemon.Said(); len(said) != 2 {
		t.Errorf("said %q; want hello twice", said)
	}
	harness(t, "", "retry", "run-2").want(t, exitFailed, "", "run run-2 is succeeded")
	harness(t, "", "retry", "none").want(t, exitFailed, "", "there is no run none")
}

func TestStopSaysWhatItDid(t *testing.T) {
	isolate(t)
	begun, ended, waiting := make(chan struct{}), make(chan struct{}), make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "wait" {
			close(waiting)
			return
		}
		turn.Begin()
		close(begun)
		<-turn.Cancelled
		turn.Fail(pluginsdk.RunCancelled, "Stopped.")
		close(ended)
	})
	t.Setenv("HARNESS_URL", daemon.URL())
	results := make(chan result, 1)
	go func() { results <- harness(t, "", "send", "work") }()
	<-begun
	harness(t, "", "stop").want(t, 0, "Stopped run run-1.\n", "")
	<-ended
	(<-results).want(t, exitFailed, "", "cancelled: Stopped.")
	if got, want := harness(t, "", "stop", "--drop"), (result{0, "Nothing was running.\nNo messages were waiting.\n", ""}); got != want {
		t.Errorf("got %+v; want %+v", got, want)
	}
	go func() { results <- harness(t, "", "send", "wait") }()
	<-waiting
	harness(t, "", "stop", "--drop", "--thread", clienttest.Primary).want(t, 0, "Cancelled 1 message that waited.\n", "")
	(<-results).want(t, exitFailed, "", "cancelled: stopped by a person")
	harness(t, "", "stop", "--thread", "nowhere").want(t, exitFailed, "", "there is no thread nowhere")
}

func TestDeliveriesAreListedAndRetried(t *testing.T) {
	isolate(t)
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	t.Setenv("HARNESS_URL", daemon.URL())
	harness(t, "", "delivery", "list").want(t, 0, "There are no such deliveries.", "")
	created := time.Now().Add(-3 * time.Hour)
	for n, row := range []pluginsdk.Delivery{
		{ID: "D1", State: pluginsdk.DeliveryDelivered},
		{ID: "D2", State: pluginsdk.DeliveryDead, Attempt: 8, LastError: "the channel\nis gone"},
		{ID: "D3", State: pluginsdk.DeliveryPending, NextAttemptAt: time.Now().Add(90 * time.Minute)},
	} {
		row.Plugin, row.Place, row.MessageID, row.CreatedAt = "discord", "c1", int64(n), created
		daemon.AddDelivery(row)
	}
	got := harness(t, "", "delivery", "list")
	lines := strings.Split(got.out, "\n")
	if got.code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[1], "D2") || !strings.HasPrefix(lines[2], "D3") {
		t.Fatalf("%+v", got)
	}
	for _, field := range []string{"dead", "discord", "c1", "8", "3 hours", "the channel is gone"} {
		if !strings.Contains(lines[1], field) {
			t.Errorf("line %q lacks %q", lines[1], field)
		}
	}
	if !strings.Contains(lines[2], "in 1h") {
		t.Errorf("line %q does not say when it is tried again", lines[2])
	}
	var rows []pluginsdk.Delivery
	asJSON := harness(t, "", "delivery", "list", "--state", "delivered", "--json")
	if err := json.Unmarshal([]byte(asJSON.out), &rows); err != nil || len(rows) != 1 || rows[0].ID != "D1" {
		t.Errorf("--json: %v\n%s", err, asJSON.out)
	}
	harness(t, "", "delivery", "list", "--state", "lost").want(t, exitFailed, "", `--state: "lost" is not accepted`)
	harness(t, "", "delivery", "retry", "D2").want(t, 0, "Delivery D2 is pending", "")
	harness(t, "", "delivery", "retry", "D1").want(t, exitFailed, "", "was delivered")
}
