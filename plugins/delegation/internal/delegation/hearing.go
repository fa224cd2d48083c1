package delegation

import (
	"context"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// concerning are the rules of the events that concern the plugin: how tasks move, the ends of
// the runs of their threads, and the ends of the runs of the threads that are given.
func concerning(threads []string) []pluginsdk.EventRule {
	ends := make([]string, len(runEvents))
	for n, event := range runEvents {
		ends[n] = string(event)
	}
	rules := []pluginsdk.EventRule{
		{Types: []string{taskEvents}},
		{Types: ends, ThreadKinds: []pluginsdk.ThreadKind{pluginsdk.ThreadTask}, RunKinds: []pluginsdk.RunKind{pluginsdk.RunMessage}},
	}
	switch {
	case len(threads) > mostThreads:
		return append(rules, pluginsdk.EventRule{Types: ends})
	case len(threads) > 0:
		return append(rules, pluginsdk.EventRule{Types: ends, Threads: threads})
	}
	return rules
}

// mostThreads is how many threads are named to the host. With more, the ends of all runs are
// heard.
const mostThreads = 1000

// hearing is what the host was told last of the threads whose runs are to be heard of. The
// zero value is none, as in the manifest.
type hearing struct {
	mu      sync.Mutex
	threads []string
	unsure  bool // the last call of the host failed: nobody knows by which rules events are told
	all     bool // the daemon knows no rules: all events are heard
}

// listen has the host tell of the ends of the runs that may make more tasks of a group: those
// of the threads with a group that is untold. It is called before the state of such a run is
// read, so that its end is either seen there or heard. What it cannot say now is said with the
// next look, which also tells of groups whose end was not heard.
func (p *Plugin) listen(ctx context.Context) {
	h := &p.hearing
	h.mu.Lock()
	defer h.mu.Unlock()
	threads := p.untold.threads()
	if h.all || !h.unsure && slices.Equal(threads, h.threads) {
		return
	}
	_, err := p.host.Events.Listen(ctx, &pluginsdk.ListenEventsRequest{Rules: concerning(threads)})
	if h.all = pluginsdk.CodeOf(err) == pluginsdk.CodeUnimplemented; h.all {
		return
	}
	if h.unsure = err != nil; h.unsure {
		p.host.Log.Warn("the host does not take which events are heard; trying again", "err", err, "in", lookSoon)
		p.alarm.at(p.now().Add(lookSoon))
		return
	}
	h.threads = threads
}

// watch sees to it that the end of a run of the group's thread is heard. It reports whether
// it was not before: then the run may be over already.
func (p *Plugin) watch(ctx context.Context, g group) bool {
	if !p.untold.note(g) {
		return false
	}
	p.listen(ctx)
	return true
}
