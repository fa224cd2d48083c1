package guard

import (
	"context"
	"sync"
)

// Loop is the one goroutine that a room keeps in the background. Its zero value is ready.
type Loop struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	making sync.Once
	wake   chan struct{} // capacity 1
}

// Start calls run in a goroutine. The context that run gets ends with Stop, whatever
// becomes of ctx; its values are those of ctx. It is called once.
func (l *Loop) Start(ctx context.Context, run func(ctx context.Context)) {
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() { run(ctx) })
}

// Stop ends the context of run and waits until run has returned. It reports whether
// there was one: a loop that was never started has nothing to stop.
func (l *Loop) Stop() bool {
	if l.cancel == nil {
		return false
	}
	l.cancel()
	l.running.Wait()
	return true
}

// Wake makes Woken ready to receive from. It waits for nothing, may come before Start, and
// several of them before the loop looks are one.
func (l *Loop) Wake() {
	select {
	case l.woken() <- struct{}{}:
	default:
	}
}

// Woken is what the loop waits on, beside its context and its timers.
func (l *Loop) Woken() <-chan struct{} { return l.woken() }

func (l *Loop) woken() chan struct{} {
	l.making.Do(func() { l.wake = make(chan struct{}, 1) })
	return l.wake
}
