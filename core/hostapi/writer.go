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
	// maxWaitingWrites is how many writes of one plugin may wait.
	maxWaitingWrites = 16
)

// writers shares the places at the database among plugins. Who waits gets one in turn: one
// plugin after the other, and of one plugin who has waited longest.
type writers struct {
	mu      sync.Mutex
	free    int
	waiting map[string][]chan struct{} // by plugin; closed when the place is theirs
	order   []string                   // the plugins that wait, the next one first
}

func newWriters(places int) *writers {
	return &writers{free: places, waiting: make(map[string][]chan struct{})}
}

// ask asks for a place, which is the plugin's once granted is closed. Who has
// asked must await. CodeExhausted: too many of the plugin's wait.
func (t *writers) ask(plugin string) (granted chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	granted = make(chan struct{})
	if t.free > 0 {
		t.free--
		close(granted)
		return granted, nil
	}
	queue := t.waiting[plugin]
	if len(queue) >= maxWaitingWrites {
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted,
			"waiting writes: %d of the plugin %s wait for the database; try again when one is done", maxWaitingWrites, plugin)
	}
	if len(queue) == 0 {
		t.order = append(t.order, plugin)
	}
	t.waiting[plugin] = append(queue, granted)
	return granted, nil
}

// await waits for the place; it is not taken when ctx ends first.
func (t *writers) await(ctx context.Context, plugin string, granted chan struct{}) error {
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
func (t *writers) leave(plugin string, queue []chan struct{}) {
	if len(queue) > 0 {
		t.waiting[plugin] = queue
		return
	}
	delete(t.waiting, plugin)
	t.order = slices.DeleteFunc(t.order, func(one string) bool { return one == plugin })
}

// release gives the place to who is next.
func (t *writers) release() {
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
	granted, err := q.writers.ask(plugin)
	if err != nil {
		return nil, q.refuse(q.account(plugin), plugin, "waiting writes", err)
	}
	if err := q.writers.await(ctx, plugin, granted); err != nil {
		return nil, err
	}
	return q.writers.release, nil
}
