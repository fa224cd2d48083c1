package daemon

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/core/events"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// What an event's thread is is read once, and a database that is away holds no publisher up
// more than once in a while. What cannot be read is not made up.
func TestLabelsOfThreadsAreReadOnce(t *testing.T) {
	reads, away := 0, false
	labels := newThreadLabels(func(_ context.Context, id string) (pluginsdk.Thread, error) {
		reads++
		switch {
		case away:
			return pluginsdk.Thread{}, errors.New("away")
		case id == "gone":
			return pluginsdk.Thread{}, pluginsdk.Errorf(pluginsdk.CodeNotFound, "no such thread")
		}
		return pluginsdk.Thread{Kind: pluginsdk.ThreadTask, Source: id}, nil
	})
	now := time.Now()
	labels.now = func() time.Time { return now }
	is := func(id string, known bool, want int) {
		t.Helper()
		before := reads
		label, ok := labels.of(id)
		if ok != known || known && label != (events.ThreadLabel{Kind: pluginsdk.ThreadTask, Source: id}) || reads-before != want {
			t.Errorf("%s: %+v, known %v, %d reads", id, label, ok, reads-before)
		}
	}
	is("a", true, 1)
	is("a", true, 0)
	is("gone", false, 1)
	is("b", true, 1)
	away = true
	is("c", false, 1)
	is("d", false, 0) // not again so soon
	is("a", true, 0)
	away, now = false, now.Add(labelPause)
	is("c", true, 1)

	for n := range 3 * labelsKept {
		labels.of(fmt.Sprint(n))
		labels.of("a") // is asked for all the time
	}
	if kept := len(labels.known) + len(labels.before); kept > 2*labelsKept {
		t.Errorf("%d labels are kept", kept)
	}
	is("a", true, 0)
	is("b", true, 1)
}
