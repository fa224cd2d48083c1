package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

func seqs(events []pluginsdk.Event) string {
	text := ""
	for _, event := range events {
		text += strconv.FormatUint(event.Seq, 10) + " "
	}
	return text
}

func TestSinceReturnsWhatFollowsAndSaysWhenItIsGone(t *testing.T) {
	bus := New(Config{RingEvents: 4})
	for range 6 {
		bus.Publish(pluginsdk.EventTaskFailed, "", nil)
	}
	boot := bus.Position().Boot
	for _, row := range []struct {
		after  pluginsdk.Position
		limit  int
		want   string
		resync bool
	}{
		{pluginsdk.Position{Boot: boot, Seq: 4}, 0, "5 6 ", false},
		{pluginsdk.Position{Boot: boot, Seq: 6}, 0, "", false},
		{pluginsdk.Position{Boot: boot, Seq: 2}, 2, "3 4 ", false},
		{pluginsdk.Position{Boot: boot, Seq: 1}, 0, "3 4 5 6 ", true},
		{pluginsdk.Position{Boot: boot, Seq: 9}, 0, "3 4 5 6 ", true},
		{pluginsdk.Position{Boot: "another", Seq: 6}, 0, "3 4 5 6 ", true},
		{pluginsdk.Position{}, 0, "", false},
	} {
		page := bus.Since(row.after, row.limit)
		if seqs(page.Events) != row.want || page.Resync != row.resync {
			t.Errorf("Since(%v) = %q resync %v, want %q resync %v",
				row.after, seqs(page.Events), page.Resync, row.want, row.resync)
		}
	}
}

func TestRingIsBoundedInBytes(t *testing.T) {
	bus := New(Config{RingBytes: 100})
	for range 10 {
		bus.Relay(pluginsdk.Event{Type: "x:big", Data: make([]byte, 40)})
	}
	if page := bus.Since(pluginsdk.Position{Boot: bus.boot, Seq: 8}, 0); seqs(page.Events) != "9 10 " || page.Resync {
		t.Fatalf("kept %q", seqs(page.Events))
	}
	if !bus.Since(pluginsdk.Position{Boot: bus.boot, Seq: 7}, 0).Resync {
		t.Fatal("an event past the limit of bytes is still kept")
	}
}

func stream(kind pluginsdk.StreamEventType) pluginsdk.StreamPayload {
	return pluginsdk.StreamPayload{Event: pluginsdk.StreamEvent{Type: kind}}
}

// A slow reader must not lose the end of a turn for the sake of its deltas.
func TestSlowSubscriberLosesDeltasFirst(t *testing.T) {
	bus := New(Config{QueueLimit: 4})
	entered, release := make(chan struct{}), make(chan struct{})
	var got []pluginsdk.Event
	all := make(chan struct{})
	first := true
	sub := bus.Subscribe("slow", Selection{Types: []string{"pipeline:*"}}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		if first {
			first = false
			close(entered)
			<-release
		}
		got = append(got, batch...)
		if batch[len(batch)-1].Type == pluginsdk.EventPipelineComplete {
			close(all)
		}
		return nil
	})
	defer sub.Stop()
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	<-entered
	bus.Publish(pluginsdk.EventTaskFailed, "", nil) // not subscribed
	for range 20 {
		bus.Publish(pluginsdk.EventPipelineStream, "t", stream(pluginsdk.StreamTextDelta))
	}
	bus.Publish(pluginsdk.EventPipelineStream, "t", stream(pluginsdk.StreamText))
	bus.Publish(pluginsdk.EventPipelineComplete, "t", nil)
	close(release)
	<-all
	if seqs(got) != "1 23 24 " {
		t.Fatalf("got %s", seqs(got))
	}
}

// Whoever publishes waits for the search of a full queue: it must not read the
// payloads of all that is in it.
func TestAFullQueueIsSearchedWithoutReadingIt(t *testing.T) {
	bus := New(Config{})
	sub := &Subscription{bus: bus, log: bus.config.Log, wake: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	bus.subs[sub] = struct{}{}
	delta, err := json.Marshal(stream(pluginsdk.StreamTextDelta))
	if err != nil {
		t.Fatal(err)
	}
	for n := range bus.config.QueueLimit {
		if n%2 == 0 {
			bus.Publish(pluginsdk.EventPipelineStream, "t", stream(pluginsdk.StreamTextDelta))
		} else {
			bus.Relay(pluginsdk.Event{Type: pluginsdk.EventPipelineStream, ThreadID: "t", Data: delta})
		}
	}
	full, bytes := slices.Clone(sub.queue), sub.bytes
	allocated := testing.AllocsPerRun(10, func() {
		sub.queue, sub.bytes = append(sub.queue[:0], full...), bytes
		bus.Relay(pluginsdk.Event{Type: pluginsdk.EventPipelineComplete, ThreadID: "t"})
	})
	if len(full) != bus.config.QueueLimit || len(sub.queue) != 1 {
		t.Fatalf("of %d events %d are left, want the last one", len(full), len(sub.queue))
	}
	if allocated > 10 {
		t.Errorf("%.0f allocations: the queued events are read one by one", allocated)
	}
}

// A bug in one subscriber costs that one events, and nobody else anything.
func TestASubscriberThatPanicsIsToldToResync(t *testing.T) {
	bus := New(Config{})
	got, other := make(chan pluginsdk.EventType, 10), make(chan pluginsdk.EventType, 10)
	calls := 0
	sub := bus.Subscribe("faulty", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		if calls++; calls == 1 {
			panic("a bug")
		}
		for _, event := range batch {
			got <- event.Type
		}
		return nil
	})
	defer sub.Stop()
	defer bus.Subscribe("other", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		for _, event := range batch {
			other <- event.Type
		}
		return nil
	}).Stop()
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	if first, theirs := <-got, <-other; first != pluginsdk.EventResync || theirs != pluginsdk.EventPipelineStart {
		t.Errorf("got %s, the other one %s", first, theirs)
	}
}

func TestSubscriberThatWouldLoseLifecycleEventsGetsResync(t *testing.T) {
	bus := New(Config{QueueLimit: 2})
	entered, release := make(chan struct{}), make(chan struct{})
	var types []pluginsdk.EventType
	done := make(chan struct{})
	calls := 0
	sub := bus.Subscribe("stuck", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		calls++
		if calls == 1 {
			close(entered)
			<-release
			return nil
		}
		for _, event := range batch {
			types = append(types, event.Type)
		}
		if batch[len(batch)-1].Seq == 5 {
			close(done)
		}
		return nil
	})
	defer sub.Stop()
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	<-entered
	for range 4 {
		bus.Publish(pluginsdk.EventPipelineComplete, "t", nil)
	}
	close(release)
	<-done
	if fmt.Sprint(types) != "[resync pipeline:complete]" {
		t.Fatalf("got %v", types)
	}
}

// A subscriber that always fails must not keep a core busy.
func TestSubscriberThatAlwaysFailsIsLeftAlone(t *testing.T) {
	bus := New(Config{})
	calls := make(chan []pluginsdk.Event, 1000)
	sub := bus.Subscribe("broken", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		calls <- batch
		return errors.New("gone")
	})
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	<-calls
	if again := <-calls; again[0].Type != pluginsdk.EventResync {
		t.Errorf("after a failure came %v", again)
	}
	sub.Stop()
	if len(calls) > 3 {
		t.Errorf("%d more calls", len(calls))
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	bus := New(Config{})
	entered, release, sizes := make(chan struct{}), make(chan struct{}), make(chan int, 10)
	first := true
	sub := bus.Subscribe("large", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		if first {
			first = false
			close(entered)
			<-release
			return nil
		}
		sizes <- len(batch)
		return nil
	})
	defer sub.Stop()
	bus.Relay(pluginsdk.Event{Type: "x:first"})
	<-entered
	for range 5 {
		bus.Relay(pluginsdk.Event{Type: "x:large", Data: make([]byte, maxBatchBytes/2)})
	}
	close(release)
	for _, want := range []int{2, 2, 1} {
		if got := <-sizes; got != want {
			t.Errorf("a batch of %d, want %d", got, want)
		}
	}
}

func TestFailedDeliveryIsFollowedByResync(t *testing.T) {
	bus := New(Config{})
	got := make(chan pluginsdk.EventType, 10)
	calls := 0
	sub := bus.Subscribe("failing", Selection{}, pluginsdk.Position{}, func(_ context.Context, batch []pluginsdk.Event) error {
		calls++
		if calls == 1 {
			return errors.New("gone")
		}
		for _, event := range batch {
			got <- event.Type
		}
		return nil
	})
	defer sub.Stop()
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	if kind := <-got; kind != pluginsdk.EventResync {
		t.Fatalf("got %s", kind)
	}
}

// An upgrade of a plugin must not lose events between its two processes, nor
// those that the old one was just being told of.
func TestASubscriberBeginsWhereAnotherEnded(t *testing.T) {
	bus := New(Config{RingEvents: 4})
	entered := make(chan struct{})
	old := bus.Subscribe("old", Selection{}, pluginsdk.Position{}, func(ctx context.Context, _ []pluginsdk.Event) error {
		close(entered)
		<-ctx.Done()
		return ctx.Err()
	})
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	<-entered
	bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	end := old.Stop()
	bus.Publish(pluginsdk.EventTaskFailed, "t", nil)
	bus.Publish(pluginsdk.EventPipelineComplete, "t", nil)

	if got := heard(bus, []string{"pipeline:*"}, end, 4); seqs(got) != "1 2 4 " {
		t.Errorf("after the old one came %s", seqs(got))
	}
	if end := bus.Subscribe("idle", Selection{}, pluginsdk.Position{}, nil).Stop(); end != bus.Position() {
		t.Errorf("one that has had every event ended at %v", end)
	}
	bus.Publish(pluginsdk.EventPipelineComplete, "t", nil)
	if got := heard(bus, nil, end, 5); seqs(got) != "5 " || got[0].Type != pluginsdk.EventResync {
		t.Errorf("from a position that is not kept came %v", got)
	}
}

// heard returns what a subscriber gets from a position until an event.
func heard(bus *Bus, types []string, after pluginsdk.Position, last uint64) (got []pluginsdk.Event) {
	all := make(chan struct{})
	sub := bus.Subscribe("new", Selection{Types: types}, after, func(_ context.Context, batch []pluginsdk.Event) error {
		if got = append(got, batch...); batch[len(batch)-1].Seq == last {
			close(all)
		}
		return nil
	})
	select {
	case <-all:
	case <-time.After(10 * time.Second): // what came until then is compared
	}
	sub.Stop()
	return got
}

// One that was yet to be told that it has missed events leaves that to the next.
func TestAResyncIsHandedOver(t *testing.T) {
	bus := New(Config{})
	failed := make(chan struct{})
	calls := 0
	old := bus.Subscribe("failing", Selection{}, pluginsdk.Position{}, func(ctx context.Context, _ []pluginsdk.Event) error {
		if calls++; calls > 1 {
			close(failed)
			<-ctx.Done()
		}
		return errors.New("gone")
	})
	for range 3 {
		bus.Publish(pluginsdk.EventPipelineStart, "t", nil)
	}
	<-failed
	// It is told to read the database, and not of all that there ever was.
	if got := heard(bus, nil, old.Stop(), 3); got[0].Type != pluginsdk.EventResync || seqs(got) != "3 " {
		t.Errorf("the next one got %v", got)
	}
}
