package worktree

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// lanes let one call at a time of this process do something.
type lanes struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the lane is free
}

// enter waits for the lane.
func (l *lanes) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		l.mu.Lock()
		busy := l.busy[key]
		if busy == nil {
			if l.busy == nil {
				l.busy = make(map[string]chan struct{})
			}
			done := make(chan struct{})
			l.busy[key] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.busy, key)
				close(done)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "while another task is at work in %s: %w", key, ctx.Err())
		}
	}
}

// enterRepository waits until nobody else writes in a repository: no call of this process, and
// none of another, such as the version of the plugin that this one replaces, or another
// daemon's. What people do at the same time git's own locks and compare-and-swap of refs are for.
//
// Processes hold a lock of the git directory itself (flock), which makes no file and ends
// with its holder. Where a file system has none, there is only the lane.
func (p *Plugin) enterRepository(ctx context.Context, common string) (leave func(), err error) {
	done, err := p.lanes.enter(ctx, common)
	if err != nil {
		return nil, err
	}
	directory, err := os.Open(common)
	if err != nil { // it is gone, or not ours to read: git says so better
		return done, nil //nolint:nilerr // there is nothing to lock
	}
	ticker := time.NewTicker(p.Config.Look)
	defer ticker.Stop()
	for {
		switch err := p.Config.Lock(directory); {
		case err == nil:
			return func() { directory.Close(); done() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			p.log.Warn("a repository cannot be locked against other processes of the plugin", "repository", common, "err", err)
			return func() { directory.Close(); done() }, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			directory.Close()
			done()
			return nil, pluginsdk.Errorf(pluginsdk.CodeCancelled, "while another process of the plugin is at work in %s: %w", common, ctx.Err())
		}
	}
}

func flock(directory *os.File) error {
	return syscall.Flock(int(directory.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// gate lets tasks that are to be merged into the same branch do so one after the other. One
// whose base has moved was put on top of the branch, and is evaluated again: would the next
// one be merged meanwhile, all the checks were for nothing. It is kept in memory: without it
// there is more to check, and nothing wrong.
type gate struct {
	mu      sync.Mutex
	next    map[string]holder
	waiting int
	changed chan struct{} // closed at the next change
}

type holder struct {
	task  string
	since time.Time
}

const (
	// mostWaiting is how many calls may wait at the gate. The core asks 16 hooks of tasks at a
	// time: were all of them here, the one that they wait for could not be evaluated.
	mostWaiting = 8
	// longestTurn is how long others wait for a task that is evaluated.
	longestTurn = 30 * time.Minute
)

// ahead is the task that has to be merged before another; "": none.
func (g *gate) ahead(key, task string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if h, ok := g.next[key]; ok && h.task != task {
		return h.task
	}
	return ""
}

// take makes a task the next one.
func (g *gate) take(key, task string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = make(map[string]holder)
	}
	g.next[key] = holder{task, time.Now()}
}

// give lets the others come, if the task was the next one.
func (g *gate) give(key, task string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next[key].task != task {
		return
	}
	delete(g.next, key)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// waits counts a call that waits, and returns what it waits for; false: there are too many.
func (g *gate) waits() (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting >= mostWaiting {
		return nil, false
	}
	g.waiting++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting--
	}, true
}

// news is closed when somebody gives way.
func (g *gate) news() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

// old reports whether the next one has taken longer than others wait.
func (g *gate) old(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.next[key]
	return ok && time.Since(h.since) > longestTurn
}

// passGate waits until no other task is ahead in the record's branch. CodeExhausted: too many
// wait already, and the core is to ask later.
func (p *Plugin) passGate(ctx context.Context, r *record) error {
	key := r.gateKey()
	ahead := p.gate.ahead(key, r.Task)
	if ahead == "" {
		return nil
	}
	leave, ok := p.gate.waits()
	if !ok {
		return pluginsdk.Errorf(pluginsdk.CodeExhausted, "task %s is to be merged into %s of %s before this one, and others wait for it already", ahead, r.Target, r.Checkout)
	}
	defer leave()
	defer p.beats(ctx, "waits for task "+ahead+", which is to be merged first")()
	ticker := time.NewTicker(p.Config.Look)
	defer ticker.Stop()
	for {
		news := p.gate.news()
		if ahead = p.gate.ahead(key, r.Task); ahead == "" {
			return nil
		}
		select {
		case <-news:
		case <-ticker.C:
			// It comes back here only from its evaluation.
			answer, err := p.host.Tasks.Get(ctx, &pluginsdk.GetTaskRequest{ID: ahead})
			if err != nil || answer.Task.Status != pluginsdk.TaskEvaluating || p.gate.old(key) {
				p.gate.give(key, ahead)
			}
		case <-ctx.Done():
			return pluginsdk.Errorf(pluginsdk.CodeCancelled, "while task %s is ahead: %w", ahead, ctx.Err())
		}
	}
}

func (r *record) gateKey() string { return r.Common + "\x00" + r.Target }
