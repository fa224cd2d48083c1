package discord

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
)

// laneLength is how many jobs wait in a lane.
const laneLength = 200

// lanes does the work of each channel one job after the other, and of different channels
// at the same time. A lane that has nothing to do costs nothing.
type lanes struct {
	ctx   context.Context //nolint:containedctx // of all jobs: they end when the session does
	log   *slog.Logger
	work  sync.WaitGroup
	mu    sync.Mutex
	queue map[string][]func(context.Context) // the channels that have a goroutine
}

func newLanes(ctx context.Context, log *slog.Logger) *lanes {
	return &lanes{ctx: ctx, log: log, queue: make(map[string][]func(context.Context))}
}

// push puts a job at the end of a channel's lane; false: too many wait there, and the job
// is not done. last is put there also then.
func (l *lanes) push(channel string, last bool, job func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, running := l.queue[channel]
	if len(waiting) >= laneLength && !last {
		return false
	}
	l.queue[channel] = append(waiting, job)
	if !running {
		l.work.Add(1)
		go l.run(channel)
	}
	return true
}

func (l *lanes) run(channel string) {
	defer l.work.Done()
	for {
		l.mu.Lock()
		waiting := l.queue[channel]
		if len(waiting) == 0 || l.ctx.Err() != nil {
			delete(l.queue, channel)
			l.mu.Unlock()
			return
		}
		l.queue[channel] = waiting[1:]
		l.mu.Unlock()
		l.do(channel, waiting[0])
	}
}

// do carries out one job. A panic in it is logged, and is no other job's business.
func (l *lanes) do(channel string, job func(context.Context)) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("a fault of the plugin: what happened in a channel was not dealt with", "channel", channel, "panic", cause, "stack", string(debug.Stack()))
		}
	}()
	job(l.ctx)
}

// busy reports whether anything is at work in a channel, or waits there.
func (l *lanes) busy(channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, running := l.queue[channel]
	return running
}

// flush waits until every job is done that waits in a channel's lane.
func (l *lanes) flush(ctx context.Context, channel string) error {
	if !l.busy(channel) {
		return nil
	}
	done := make(chan struct{})
	l.push(channel, true, func(context.Context) { close(done) })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

// wait returns when no job is at work any more. The session's context has ended before.
func (l *lanes) wait() { l.work.Wait() }
