package launch

import (
	"errors"
	"sync"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// ErrStopped is returned for a launch after Launcher.Stop.
var ErrStopped = errors.New("the plugin launcher is stopped")

// ErrTooLarge is the cause of the error of a call that was not made because its
// request has more bytes than a message may have: not the plugin's fault.
var ErrTooLarge = wire.ErrTooLarge

// ErrAnswerTooLarge is the cause of the error of a call whose answer is larger than a message
// may be.
var ErrAnswerTooLarge = wire.ErrAnswerTooLarge

// Launcher starts plugins, between Start and Stop.
type Launcher struct {
	forker *proc.Forker

	mu      sync.Mutex
	stopped bool
	running map[*process]struct{}
	strays  strays
	group   sync.WaitGroup // processes being started or running
}

// NewLauncher returns a launcher that is not started.
func NewLauncher() *Launcher {
	return &Launcher{running: make(map[*process]struct{})}
}

// Start makes it ready for launches.
func (l *Launcher) Start() { l.forker = proc.NewForker() }

// Stop kills the plugins that still run (to end them gracefully, stop them
// first), and waits for their processes. It may be called once, after Start.
func (l *Launcher) Stop() {
	l.mu.Lock()
	l.stopped = true
	for p := range l.running {
		p.kill()
	}
	l.mu.Unlock()
	l.group.Wait()
	l.forker.Close()
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
