package invoker

import (
	"runtime"
	"sync"
)

// forker starts processes from one thread that stays as long as they do. The
// kernel sends the parent-death signal when the *thread* that forked ends
// (prctl(2), PR_SET_PDEATHSIG), and Go's runtime ends threads when it likes.
type forker struct {
	jobs chan forkJob
	quit chan struct{}
	done chan struct{}
	stop sync.Once
}

type forkJob struct {
	start func() error
	err   chan error
}

func newForker() *forker {
	f := &forker{jobs: make(chan forkJob), quit: make(chan struct{}), done: make(chan struct{})}
	go f.loop()
	return f
}

// run calls start on the forker's thread.
func (f *forker) run(start func() error) error {
	job := forkJob{start: start, err: make(chan error, 1)}
	select {
	case f.jobs <- job:
		return <-job.err
	case <-f.quit:
		return errStopping
	}
}

// close ends the forker; the processes should have ended before.
func (f *forker) close() {
	f.stop.Do(func() { close(f.quit) })
	<-f.done
}

func (f *forker) loop() {
	defer close(f.done)
	runtime.LockOSThread()
	// Unlocked at the end, or the runtime would end the thread with the
	// goroutine.
	defer runtime.UnlockOSThread()
	for {
		select {
		case job := <-f.jobs:
			job.err <- job.start()
		case <-f.quit:
			return
		}
	}
}
