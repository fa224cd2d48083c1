package launch

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// loggedRate and loggedBurst bound the lines of a plugin's output that
	// reach the log: lines a second, and lines at once.
	loggedRate  = 200
	loggedBurst = 1000
	// readRate and readBurst bound how fast the output is read: bytes a
	// second, and bytes at once. Each line costs lineCost bytes more.
	readRate  = 2 << 20
	readBurst = 4 << 20
	lineCost  = 100
	// leastWait keeps a reader that is too fast from setting a timer for
	// every line.
	leastWait = 20 * time.Millisecond
	// leftover is how much is still read of a pipe when its process has
	// ended: what a pipe can hold.
	leftover = 1 << 20
	// dropInterval is how often lines that were dropped are reported.
	dropInterval = time.Second
)

// flood keeps a plugin that writes without end from filling the log and from
// keeping the daemon busy. All streams of a plugin share one.
//
// A plugin's output is always read, so that it never hangs on a full pipe. But
// one that writes more than readRate is read no faster than that: it is slowed
// down by its own pipe.
type flood struct {
	log   *slog.Logger
	ended chan struct{} // closed when the process has ended

	mu      sync.Mutex
	read    bucket
	logged  bucket
	dropped int         // lines that were not logged, and not reported
	report  *time.Timer // nil while dropped is 0
}

func newFlood(log *slog.Logger) *flood {
	return &flood{
		log:    log,
		ended:  make(chan struct{}),
		read:   bucket{rate: readRate, burst: readBurst},
		logged: bucket{rate: loggedRate, burst: loggedBurst},
	}
}

// slow counts what was read, and waits as long as that was too much.
func (f *flood) slow(n int) {
	f.mu.Lock()
	wait := f.read.owe(n, time.Now())
	f.mu.Unlock()
	if wait < leastWait {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.ended:
	}
}

// admit reports whether a line may be logged. One that may not is counted.
func (f *flood) admit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.logged.allow(time.Now()) {
		return true
	}
	f.dropped++
	if f.report == nil {
		f.report = time.AfterFunc(dropInterval, f.tell)
	}
	return false
}

// tell reports what was dropped.
func (f *flood) tell() {
	f.mu.Lock()
	dropped := f.dropped
	if f.report != nil {
		f.report.Stop()
	}
	f.dropped, f.report = 0, nil
	f.mu.Unlock()
	if dropped > 0 {
		f.log.Warn(fmt.Sprintf("%d lines of output were dropped", dropped), "limit", fmt.Sprintf("%d lines a second", loggedRate))
	}
}

// reader reads from r no faster than a flood is read. Once the process has
// ended, it hurries to what was written last, and ends soon.
func (f *flood) reader(r io.Reader) io.Reader {
	return &floodReader{Reader: r, flood: f, left: leftover}
}

type floodReader struct {
	io.Reader
	flood *flood
	left  int // of what may be read after the end
}

// Read reads what there is, and then waits.
func (r *floodReader) Read(chunk []byte) (int, error) {
	if r.left <= 0 {
		return 0, io.EOF
	}
	n, err := r.Reader.Read(chunk)
	select {
	case <-r.flood.ended:
		r.left -= n
	default:
		r.flood.slow(n)
	}
	return n, err
}
