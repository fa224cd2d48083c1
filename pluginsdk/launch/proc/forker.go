package proc

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrClosed is what Forker.Run returns after Close.
var ErrClosed = errors.New("nothing is started any more")

// Forker starts processes from one thread that stays as long as they do. The kernel sends
// the signal of Attributes when the *thread* that forked ends (prctl(2),
// PR_SET_PDEATHSIG), and Go's runtime ends threads when it likes.
type Forker struct {
	starts chan start
	quit   chan struct{}
	done   chan struct{}
	close  sync.Once
}

type start struct {
	do  func() error
	err chan error
}

// NewForker returns a forker, which is to be closed.
func NewForker() *Forker {
	f := &Forker{starts: make(chan start), quit: make(chan struct{}), done: make(chan struct{})}
	go f.loop()
	return f
}

// Run calls do on the thread, and returns its error. While it waits for the thread it
// gives up when ctx ends (with its cause), or the forker is closed (ErrClosed).
func (f *Forker) Run(ctx context.Context, do func() error) error {
	s := start{do: do, err: make(chan error, 1)}
	select {
	case f.starts <- s:
		return <-s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.quit:
		return ErrClosed
	}
}

// Close ends the forker. The processes should have ended before. It may be called again.
func (f *Forker) Close() {
	f.close.Do(func() { close(f.quit) })
	<-f.done
}

func (f *Forker) loop() {
	defer close(f.done)
	runtime.LockOSThread()
	// Unlocked at the end, or the runtime would end the thread with the goroutine.
	defer runtime.UnlockOSThread()
	for {
		select {
		case s := <-f.starts:
			s.err <- s.do()
		case <-f.quit:
			return
		}
	}
}
