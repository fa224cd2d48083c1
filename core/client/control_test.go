package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/client"
	"github.com/seed-706843ae/harness/core/client/clienttest"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// asked is what an Ask under way comes to.
type asked struct {
	ending *client.Ending
	err    error
}

// A message that was taken over by a running turn is answered when that one
// is: who waits for it must not wait for a poll, and must see its trouble.
func TestAskFollowsARunThatIsMergedWhileItIsWaitedFor(t *testing.T) {
	first, merged, retried := make(chan *clienttest.Turn, 1), make(chan struct{}), make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said == "first" {
			first <- turn
			return
		}
		<-merged
		turn.Retry(1, "529 overloaded", time.Second)
		<-retried
		turn.Reply("both")
	})
	c := connect(t, daemon.URL())
	result := make(chan asked, 1)
	go func() {
		waiting := client.Waiting{Event: func(event pluginsdk.Event) {
			switch event.Type { //nolint:exhaustive // the others do not matter here
			case pluginsdk.EventPipelineMerged:
				close(merged)
			case pluginsdk.EventPipelineRetry:
				close(retried)
			}
		}}
		ending, err := c.Ask(t.Context(), clienttest.Primary, "first", waiting)
		result <- asked{ending, err}
	}()
	turn := <-first
	<-daemon.Watched() // from here on only events say that something has changed
	second, err := c.Chat(t.Context(), client.ChatRequest{Content: "second", IdempotencyKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	turn.Merge(second.RunID)
	got := <-result
	if got.err != nil {
		t.Fatal(got.err)
	}
	onlyText(t, got.ending, "both")
	if !got.ending.Merged() || got.ending.Run.ID != second.RunID {
		t.Errorf("answered by %s; want %s", got.ending.Run.ID, second.RunID)
	}
}

// A retry whose answer is lost must not be a second retry.
func TestAskAgainGetsTheAnswerOfTheRetry(t *testing.T) {
	attempts := make(chan struct{}, 10)
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		attempts <- struct{}{}
		if len(attempts) == 1 {
			turn.Fail(pluginsdk.RunFailed, "overloaded")
			return
		}
		turn.Reply("now it works")
	})
	failed := ask(t, daemon)
	daemon.LoseAnswers(2)
	c := connect(t, daemon.URL())
	ending, err := c.AskAgain(t.Context(), failed.Run.ID, client.Waiting{})
	if err != nil {
		t.Fatal(err)
	}
	onlyText(t, ending, "now it works")
	if said := daemon.Said(); len(said) != 2 || said[1] != "hello" {
		t.Errorf("said %q; want hello twice", said)
	}
	var problem *client.Problem
	if _, err := c.AskAgain(t.Context(), ending.Run.ID, client.Waiting{}); !errors.As(err, &problem) || problem.Status != 422 {
		t.Errorf("a run that was answered is tried again: %v", err)
	}
	if _, err := c.AskAgain(t.Context(), "none", client.Waiting{}); err == nil || !strings.Contains(err.Error(), "there is no run none") {
		t.Errorf("err = %v", err)
	}
}

func TestStopInterruptsAndDrops(t *testing.T) {
	begun := make(chan struct{})
	daemon := clienttest.New(t, func(turn *clienttest.Turn) {
		if turn.Said != "one" {
			return
		}
		turn.Begin()
		close(begun)
		<-turn.Cancelled
		turn.Fail(pluginsdk.RunCancelled, "Stopped.")
	})
	c := connect(t, daemon.URL())
	var runs []string
	for _, text := range []string{"one", "two"} {
		accepted, err := c.Chat(t.Context(), client.ChatRequest{Content: text, IdempotencyKey: text})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, accepted.RunID)
	}
	<-begun
	stopped, err := c.Stop(t.Context(), clienttest.Primary, pluginsdk.KeepQueue)
	if err != nil || stopped.RunID != runs[0] || len(stopped.Dropped) != 0 {
		t.Errorf("%+v, %v", stopped, err)
	}
	stopped, err = c.Stop(t.Context(), clienttest.Primary, pluginsdk.DropQueue)
	if err != nil || !slices.Equal(stopped.Dropped, runs[1:]) {
		t.Errorf("%+v, %v", stopped, err)
	}
}

func TestDeliveriesAreReadToTheirEndAndRetried(t *testing.T) {
	daemon := clienttest.New(t, func(*clienttest.Turn) {})
	daemon.Shorten(2)
	for _, id := range []string{"D1", "D2", "D3", "D4", "D5"} {
		daemon.AddDelivery(pluginsdk.Delivery{ID: id, Plugin: "discord", Place: "c1", State: pluginsdk.DeliveryDead})
	}
	daemon.AddDelivery(pluginsdk.Delivery{ID: "D6", Plugin: "discord", Place: "c1", State: pluginsdk.DeliveryDelivered})
	c := connect(t, daemon.URL())
	query := pluginsdk.DeliveryQuery{State: pluginsdk.DeliveryDead, Plugin: "discord", Place: "c1"}
	dead, err := c.Deliveries(t.Context(), query)
	if err != nil || len(dead) != 5 {
		t.Errorf("%d dead deliveries, %v", len(dead), err)
	}
	made, err := c.RetryDelivery(t.Context(), "D3")
	if err != nil || made.State != pluginsdk.DeliveryPending {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := c.RetryDelivery(t.Context(), "D6"); err == nil || !strings.Contains(err.Error(), "was delivered") {
		t.Errorf("err = %v", err)
	}
}
