package live

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxThreads is how many threads each parameter of a filter may name.
	maxThreads = 100
	// noStream is the value of the parameter stream with which no thread's stream is sent.
	noStream = "none"
)

// filter says which events a client wants. A nil set is of all threads.
type filter struct {
	threads map[string]struct{} // of these only
	streams map[string]struct{} // what agents do, piece by piece (pipeline:stream), of these only
}

// passes reports whether the client is to be sent the frame. A resync concerns everybody.
func (w filter) passes(f frame) bool {
	if f.kind == pluginsdk.EventResync {
		return true
	}
	if f.kind == pluginsdk.EventPipelineStream && !within(w.streams, f.threadID) {
		return false
	}
	return within(w.threads, f.threadID) || slices.ContainsFunc(f.above, func(id string) bool { return within(w.threads, id) })
}

func within(threads map[string]struct{}, id string) bool {
	_, in := threads[id]
	return in || threads == nil
}

// filterOf reads thread and stream. wrong says what is wrong with them.
func filterOf(query url.Values) (wants filter, wrong string) {
	if wants.threads, wrong = threadsOf(query, "thread", "to get the events of all threads"); wrong != "" {
		return filter{}, wrong
	}
	if streams := query["stream"]; len(streams) == 1 && streams[0] == noStream {
		wants.streams = map[string]struct{}{}
		return wants, ""
	} else if slices.Contains(streams, noStream) {
		return filter{}, "stream is none and a thread: give none alone, or only ids of threads"
	}
	wants.streams, wrong = threadsOf(query, "stream", "to get what the agent does in all threads")
	return wants, wrong
}

func threadsOf(query url.Values, name, without string) (threads map[string]struct{}, wrong string) {
	ids := query[name]
	if len(ids) > maxThreads {
		return nil, fmt.Sprintf("%s is given more than %d times; leave it out %s", name, maxThreads, without)
	}
	for _, id := range ids {
		if id == "" {
			return nil, name + " is empty; give the id of a thread, or leave it out"
		}
		if threads == nil {
			threads = make(map[string]struct{}, len(ids))
		}
		threads[id] = struct{}{}
	}
	return threads, ""
}
