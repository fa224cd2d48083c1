package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/core/coretest/chaos/check"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// lookPause is how often a client looks whether its message is answered.
	lookPause = 150 * time.Millisecond
	// turnPatience is how long one who barges in waits for a turn to begin.
	turnPatience = 10 * time.Second
	// mostAhead is how many messages of a thread may wait for an answer.
	mostAhead = 3
)

// part is who a thread is in the load: cast repeats when there are more
// threads than parts.
type part struct {
	mode    pluginsdk.BusyMode
	courier bool
}

var cast = []part{
	{pluginsdk.BusyQueue, false}, {pluginsdk.BusyQueue, true}, {pluginsdk.BusyCollect, false},
	{pluginsdk.BusySteer, false}, {pluginsdk.BusyInterrupt, false}, {pluginsdk.BusyQueue, true},
	{pluginsdk.BusyQueue, false}, {pluginsdk.BusyCollect, true}, {pluginsdk.BusyQueue, false},
	{pluginsdk.BusyQueue, false}, {pluginsdk.BusyQueue, true}, {pluginsdk.BusyQueue, false},
}

// talker is a person in one thread: says something, goes on saying it until it
// is accepted, and does not run far ahead of the answers.
type talker struct {
	world  *world
	part   part
	thread check.Thread
	door   door
	random *rand.Rand

	sent  []check.Sent
	ahead []string // runs that were not over when last seen
}

// newTalker opens the door of thread number n (from 1).
func newTalker(ctx context.Context, w *world, n int) (*talker, error) {
	t := &talker{
		world: w, part: cast[(n-1)%len(cast)],
		random: rand.New(rand.NewPCG(w.seed, uint64(n))), //nolint:gosec // a load, not a secret
	}
	t.thread = check.Thread{
		Name: fmt.Sprintf("T%02d-%s", n, t.part.mode), Delivered: t.part.courier, Interrupts: t.part.mode == pluginsdk.BusyInterrupt,
	}
	if t.part.courier {
		t.thread.Name += "-courier"
		t.door = &mailbox{dir: w.courierDir, name: t.thread.Name, mode: t.part.mode}
		return t, nil
	}
	door, err := openWeb(ctx, w.http, w.url, t.thread.Name, t.part.mode)
	if err != nil {
		return nil, err
	}
	t.door, t.thread.ID = door, door.threadID
	return t, nil
}

// talk goes on until quiet ends, and says one thing at least. What was begun to be said by then is still
// said to its end, unless ctx ends too.
func (t *talker) talk(ctx, quiet context.Context) error {
	limit := 1 + t.random.IntN(mostAhead)
	if t.part.mode != pluginsdk.BusyQueue {
		limit = mostAhead // what is special about them happens when they are busy
	}
	for n := 1; n == 1 || quiet.Err() == nil; n++ {
		if err := t.say(ctx, t.next(n)); err != nil {
			return err
		}
		t.hold(ctx, quiet, limit)
		_ = pause(quiet, between(t.random, 0, 150))
	}
	return nil
}

// next makes up the thread's message number n.
func (t *talker) next(n int) message {
	name, _, _ := strings.Cut(t.thread.Name, "-")
	m := message{marker: fmt.Sprintf("m-%s-%04d", name, n)}
	how := ""
	switch r := t.random.IntN(10); {
	case r < 3:
		how = ", " + wordSlow
	case r < 5 && t.world.agents:
		how = ", " + wordTool
	}
	m.content = fmt.Sprintf("Please answer %s%s.", m.marker, how)
	return m
}

// say tries until the message is accepted; sometimes it says it once more,
// with the same key, as a client that missed the answer would.
func (t *talker) say(ctx context.Context, m message) error {
	sent := check.Sent{Marker: m.marker, ThreadID: t.thread.ID}
	times := 1
	if t.random.IntN(8) == 0 {
		times = 2
	}
	defer func() { t.sent = append(t.sent, sent) }()
	for len(sent.Accepted)+len(sent.Refused) < times {
		accepted, refused, err := t.door.send(ctx, m)
		switch {
		case err != nil:
			if err := pause(ctx, retryPause); err != nil {
				return err
			}
			continue
		case refused != "":
			sent.Refused = append(sent.Refused, refused)
			continue
		case len(sent.Accepted) == 0:
			t.ahead = append(t.ahead, accepted.RunID)
			t.world.accepted.Add(1)
		}
		sent.Accepted = append(sent.Accepted, accepted)
		if t.thread.ID == "" {
			t.thread.ID = accepted.ThreadID
		}
		sent.ThreadID = t.thread.ID
	}
	return nil
}

// hold waits while limit messages are ahead. Where a message acts on a turn
// that is under way, it also waits, for a while, until there is one.
func (t *talker) hold(ctx, quiet context.Context, limit int) {
	began := time.Now()
	for quiet.Err() == nil {
		for len(t.ahead) > 0 && t.state(ctx, t.ahead[0]).Final() {
			t.ahead = t.ahead[1:]
			t.world.progress.Add(1)
		}
		barges := t.part.mode == pluginsdk.BusySteer || t.part.mode == pluginsdk.BusyInterrupt
		switch {
		case len(t.ahead) >= limit:
		case barges && len(t.ahead) > 0 && time.Since(began) < turnPatience && t.state(ctx, t.ahead[len(t.ahead)-1]) == pluginsdk.RunQueued:
		default:
			return
		}
		_ = pause(quiet, lookPause) // its end is seen above
	}
}

// state is how far a run is, or empty while nobody can tell.
func (t *talker) state(ctx context.Context, runID string) pluginsdk.RunState {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.world.url+"/api/runs/"+runID, nil)
	if err != nil {
		return ""
	}
	response, err := t.world.http.Do(request)
	if err != nil {
		return "" // the daemon is down: ask again
	}
	defer response.Body.Close()
	var run struct{ State pluginsdk.RunState }
	_ = json.NewDecoder(response.Body).Decode(&run) // what is no run has no state
	return run.State
}
