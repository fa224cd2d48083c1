package hostapi

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// writersAtOnce is how many writes of plugins are at the database at a time: the
	// runs, which have no such bound, come first.
	writersAtOnce = 2
	// searchersAtOnce is the same of searches, which read a lot.
	searchersAtOnce = 2
	// maxWaiting is how many writes, and searches, of one plugin may wait.
	maxWaiting = 16
)

// places are those at the database, shared among plugins. Who waits gets one in turn: one
// plugin after the other, and of one plugin who has waited longest.
type places struct {
	what string // waits, in the words of errors

	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // by plugin; closed when the place is theirs
	order   []string                   // the plugins that wait, the next one first
}

func newPlaces(what string, free int) *places {
	return &places{what: what, free: free, waiting: make(map[string][]chan struct{})}
}

// ask asks for a place, which is the plugin's once granted is closed. Who has
// asked must await. CodeExhausted: too many of the plugin's wait.
func (t *places) ask(plugin string) (granted chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	granted = make(chan struct{})
	if t.free > 0 {
		t.free--
		close(granted)
		return granted, nil
	}
	queue := t.waiting[plugin]
	if len(queue) >= maxWaiting {
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"waiting %s: %d of the plugin %s wait for the database; try again when one is done", t.what, maxWaiting, plugin)
	}
	if len(queue) == 0 {
		t.order = append(t.order, plugin)
	}
	t.waiting[plugin] = append(queue, granted)
	return granted, nil
}

// await waits for the place; it is not taken when ctx ends first.
func (t *places) await(ctx context.Context, plugin string, granted chan struct{}) error {
	select {
	case <-granted:
		return nil
	default:
	}
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	queue := t.waiting[plugin]
	place := slices.Index(queue, granted)
	if place >= 0 {
		t.leave(plugin, slices.Delete(queue, place, place+1))
	}
	t.mu.Unlock()
	if place < 0 { // it came in this very instant
		t.release()
	}
	code := pluginsdk.CodeCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = pluginsdk.CodeDeadline
	}
	return pluginsdk.Errorf(code, "the call ended while it waited for the database: %w", context.Cause(ctx))
}

// leave keeps what is left of a plugin's queue. The lock is held.
func (t *places) leave(plugin string, queue []chan struct{}) {
	if len(queue) > 0 {
		t.waiting[plugin] = queue
		return
	}
	delete(t.waiting, plugin)
	t.order = slices.DeleteFunc(t.order, func(one string) bool { return one == plugin })
}

// release gives the place to who is next.
func (t *places) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	plugin := t.order[0]
	next := t.waiting[plugin][0]
	t.order = append(t.order[1:], plugin) // behind the others
	t.leave(plugin, t.waiting[plugin][1:])
	close(next)
}

// mayWrite waits until the plugin may write to the database; release gives its place to the next.
func (q *Quotas) mayWrite(ctx context.Context, plugin string) (release func(), err error) {
	return q.turn(ctx, q.writers, plugin)
}

// maySearch is the same for a search.
func (q *Quotas) maySearch(ctx context.Context, plugin string) (release func(), err error) {
	return q.turn(ctx, q.searchers, plugin)
}

func (q *Quotas) turn(ctx context.Context, at *places, plugin string) (release func(), err error) {
	granted, err := at.ask(plugin)
	if err != nil {
		return nil, q.refuse(q.account(plugin), plugin, "waiting "+at.what, err)
	}
	if err := at.await(ctx, plugin, granted); err != nil {
		return nil, err
	}
	return at.release, nil
}
