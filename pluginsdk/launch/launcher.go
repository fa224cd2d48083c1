package launch

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// ErrStopped is returned for a launch after Launcher.Stop.
var ErrStopped = errors.New("the plugin launcher is stopped")

// ErrTooLarge is the cause of the error of a call that was not made because its
// request has more bytes than a message may have: not the plugin's fault.
var ErrTooLarge = wire.ErrTooLarge

// Launcher starts plugins. The parent-death signal of a child follows the
// thread that forked it, so all are forked from one thread, which lives from
// Start to Stop.
type Launcher struct {
	forks chan fork
	quit  chan struct{} // closed by Stop
	ended chan struct{} // closed when the thread has ended

	mu      sync.Mutex
	stopped bool
	running map[*process]struct{}
	strays  strays
	group   sync.WaitGroup // processes being started or running
}

// fork asks the thread to start a process.
type fork struct {
	start  func() error
	result chan error
}

// NewLauncher returns a launcher that is not started.
func NewLauncher() *Launcher {
	return &Launcher{
		forks:   make(chan fork),
		quit:    make(chan struct{}),
		ended:   make(chan struct{}),
		running: make(map[*process]struct{}),
	}
}

// Start starts the thread that plugins are forked from.
func (l *Launcher) Start() {
	go l.loop()
}

// Stop kills the plugins that still run (to end them gracefully, stop them
// first), waits for their processes, and ends the thread. It may be called
// once, after Start.
func (l *Launcher) Stop() {
	l.mu.Lock()
	l.stopped = true
	for p := range l.running {
		p.kill()
	}
	l.mu.Unlock()
	l.group.Wait()
	close(l.quit)
	<-l.ended
}

// loop owns the thread. It returns with the thread still locked, so the thread
// ends with it.
func (l *Launcher) loop() {
	runtime.LockOSThread()
	defer close(l.ended)
	for {
		select {
		case f := <-l.forks:
			f.result <- f.start()
		case <-l.quit:
			return
		}
	}
}

// enter announces a process that is about to be started. After Stop it is
// refused, so that Stop knows of every process there will be.
func (l *Launcher) enter(p *process) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return ErrStopped
	}
	l.running[p] = struct{}{}
	l.group.Add(1)
	return nil
}

// leave takes back enter when the process is gone.
func (l *Launcher) leave(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, p)
	l.group.Done()
}

// fork calls start on the thread.
func (l *Launcher) fork(ctx context.Context, start func() error) error {
	f := fork{start: start, result: make(chan error, 1)}
	select {
	case l.forks <- f:
		return <-f.result
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
