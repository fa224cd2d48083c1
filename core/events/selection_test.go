package events

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// labels are the threads of these tests: p is the primary one, t a task's, d of Discord, and
// nothing is known of any other.
func labels(id string) (ThreadLabel, bool) {
	label, known := map[string]ThreadLabel{
		"p": {pluginsdk.ThreadPrimary, "web"}, "t": {pluginsdk.ThreadTask, "task"}, "d": {pluginsdk.ThreadGeneral, "discord"},
	}[id]
	return label, known
}

// happenings are one event of each sort, in this order.
func happenings(bus *Bus) {
	bus.Publish(pluginsdk.EventPipelineComplete, "p", pluginsdk.CompletePayload{RunID: "message", Kind: pluginsdk.RunMessage})
	bus.Publish(pluginsdk.EventPipelineComplete, "t", pluginsdk.CompletePayload{RunID: "turn", Kind: pluginsdk.RunTurn})
	bus.Publish(pluginsdk.EventPipelineError, "d", pluginsdk.ErrorPayload{RunID: "of no known kind"})
	bus.Publish(pluginsdk.EventThreadMessage, "d", pluginsdk.MessagePayload{Kind: pluginsdk.MessageNotification})
	bus.Publish(pluginsdk.EventTaskFailed, "gone", pluginsdk.TaskPayload{})
	bus.Publish(pluginsdk.EventTokenRevoked, "", pluginsdk.TokenPayload{})
	bus.Relay(pluginsdk.Event{Type: "other:said", ThreadID: "p", Data: []byte(`{"kind":"message"}`)})
}

func TestRulesSelectEvents(t *testing.T) {
	for name, row := range map[string]struct {
		types []string
		rules []pluginsdk.EventRule
		want  string
	}{
		"none":                         {nil, nil, "1 2 3 4 5 6 7 "},
		"an empty one":                 {nil, []pluginsdk.EventRule{{}}, "1 2 3 4 5 6 7 "},
		"types":                        {nil, []pluginsdk.EventRule{{Types: []string{"pipeline:*", "token:revoked"}}}, "1 2 3 6 "},
		"no type that there is":        {nil, []pluginsdk.EventRule{{Types: []string{"resync"}}}, ""},
		"never more than the manifest": {[]string{"task:*"}, []pluginsdk.EventRule{{}}, "5 "},
		"threads":                      {nil, []pluginsdk.EventRule{{Threads: []string{"d", "x"}}}, "3 4 "},
		"kinds of thread":              {nil, []pluginsdk.EventRule{{ThreadKinds: []pluginsdk.ThreadKind{pluginsdk.ThreadTask}}}, "2 5 "},
		"kinds of run":                 {nil, []pluginsdk.EventRule{{RunKinds: []pluginsdk.RunKind{pluginsdk.RunTurn}}}, "2 3 "},
		"own":                          {nil, []pluginsdk.EventRule{{Own: true}}, "3 4 5 "},
		"own, and a type":              {nil, []pluginsdk.EventRule{{Own: true, Types: []string{"thread:*"}}}, "4 "},
		"any of two":                   {nil, []pluginsdk.EventRule{{Threads: []string{"p"}}, {Types: []string{"task:failed"}}}, "1 5 7 "},
		"a thread that is of no kind":  {nil, []pluginsdk.EventRule{{Threads: []string{"p"}, ThreadKinds: []pluginsdk.ThreadKind{"task"}}}, ""},
		"a run and a thread":           {nil, []pluginsdk.EventRule{{Threads: []string{"p"}, RunKinds: []pluginsdk.RunKind{"message"}}}, "1 "},
	} {
		t.Run(name, func(t *testing.T) {
			bus := New(Config{Thread: labels})
			sub := quiet(bus, Selection{Types: row.types, Rules: row.rules, Sources: []string{"discord", "discord-owner"}})
			happenings(bus)
			if got := seqs(eventsOf(sub.queue)); got != row.want {
				t.Errorf("told of %q, want %q", got, row.want)
			}
		})
	}
}

// quiet is a subscriber that takes nothing from its queue.
func quiet(bus *Bus, wants Selection) *Subscription {
	sub := &Subscription{bus: bus, wants: newSelection(wants), log: bus.config.Log, wake: make(chan struct{}, 1), now: make(chan struct{}, 1)}
	bus.mu.Lock()
	defer bus.mu.Unlock()
	bus.subs[sub] = struct{}{}
	bus.count(sub.wants, 1)
	return sub
}

// An event that nobody wants must cost nothing: no goroutine is woken for it.
func TestNobodyIsWokenWhoIsNotConcerned(t *testing.T) {
	bus := New(Config{Thread: labels})
	sub := quiet(bus, Selection{Rules: []pluginsdk.EventRule{{ThreadKinds: []pluginsdk.ThreadKind{pluginsdk.ThreadCron}}}})
	bus.Publish(pluginsdk.EventPipelineComplete, "p", pluginsdk.CompletePayload{})
	if len(sub.wake)+len(sub.now)+len(sub.queue) != 0 {
		t.Error("it is woken for an event of another thread")
	}
}

// While no rule needs them, nothing is asked of threads.
func TestLabelsAreAskedForWhenARuleNeedsThem(t *testing.T) {
	var asked []string
	bus := New(Config{Thread: func(id string) (ThreadLabel, bool) {
		asked = append(asked, id)
		return ThreadLabel{}, false
	}})
	all := func(context.Context, []pluginsdk.Event) error { return nil }
	plain := bus.Subscribe("plain", Selection{Rules: []pluginsdk.EventRule{{Threads: []string{"p"}}}}, pluginsdk.Position{}, all)
	bus.Publish(pluginsdk.EventTaskFailed, "1", nil)
	needs := bus.Subscribe("needs", Selection{Rules: []pluginsdk.EventRule{{Own: true}}}, pluginsdk.Position{}, all)
	bus.Publish(pluginsdk.EventTaskFailed, "2", nil)
	bus.Publish(pluginsdk.EventTaskFailed, "", nil)
	needs.Listen(nil)
	bus.Publish(pluginsdk.EventTaskFailed, "3", nil)
	plain.Listen([]pluginsdk.EventRule{{ThreadKinds: []pluginsdk.ThreadKind{"task"}}})
	bus.Publish(pluginsdk.EventTaskFailed, "4", nil)
	plain.Stop()
	plain.Listen([]pluginsdk.EventRule{{Own: true}}) // it has ended
	needs.Stop()
	bus.Publish(pluginsdk.EventTaskFailed, "5", nil)
	if !slices.Equal(asked, []string{"2", "4"}) {
		t.Errorf("asked of the threads %v", asked)
	}
}

// Who listens to more reads up to the position that it is given, and is told all after it.
func TestListenSaysFromWhenOnItHolds(t *testing.T) {
	bus := New(Config{Thread: labels})
	sub := quiet(bus, Selection{Rules: []pluginsdk.EventRule{{Threads: []string{"p"}}}})
	bus.Relay(pluginsdk.Event{Type: "x:1", ThreadID: "p"})
	bus.Relay(pluginsdk.Event{Type: "x:2", ThreadID: "d"})
	at := sub.Listen([]pluginsdk.EventRule{{Threads: []string{"d"}}})
	bus.Relay(pluginsdk.Event{Type: "x:3", ThreadID: "p"})
	bus.Relay(pluginsdk.Event{Type: "x:4", ThreadID: "d"})
	if got := seqs(eventsOf(sub.queue)); at.Seq != 2 || got != "1 4 " {
		t.Errorf("from %d on; told of %q", at.Seq, got)
	}
}

// What was missed must be said, whatever the rules are; and where one subscriber has ended
// another one begins, with rules of its own.
func TestResyncPassesEveryRule(t *testing.T) {
	bus := New(Config{RingEvents: 2})
	for range 5 {
		bus.Relay(pluginsdk.Event{Type: "x:1"})
	}
	told := make(chan pluginsdk.Event, 8)
	keep := func(_ context.Context, batch []pluginsdk.Event) error {
		for _, event := range batch {
			told <- event
		}
		return nil
	}
	deaf := Selection{Rules: []pluginsdk.EventRule{{Types: []string{"resync"}}}}
	sub := bus.Subscribe("deaf", deaf, pluginsdk.Position{Boot: bus.boot, Seq: 1}, keep)
	bus.Relay(pluginsdk.Event{Type: "x:2"})
	bus.Relay(pluginsdk.Event{Type: pluginsdk.EventResync})
	for range 2 {
		if event := <-told; event.Type != pluginsdk.EventResync {
			t.Errorf("told of %s, want resync", event.Type)
		}
	}
	end := sub.Stop()
	bus.Relay(pluginsdk.Event{Type: "x:3"})
	defer bus.Subscribe("next", Selection{}, end, keep).Stop()
	if event := <-told; event.Type != "x:3" {
		t.Errorf("the next one was told of %v first, after %v", event, end)
	}
}
