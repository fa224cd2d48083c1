package system

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
)

// job is work that takes longer than a request may: a form begins it, and pages look how far it
// is. One is under way at a time. The zero job has never been begun.
type job[T any] struct {
	mu   sync.Mutex
	last work[T]
}

// work is a job as it is.
type work[T any] struct {
	since  time.Time // when it was begun; zero: never
	ended  time.Time // zero: it is under way
	result T
	err    error
	done   chan struct{}
}

func (w work[T]) underWay() bool { return !w.since.IsZero() && w.ended.IsZero() }

// begin begins the job, unless it is under way, and waits for its end for as long as wait. It
// goes on without the request, and ends with the right of who made that.
func (j *job[T]) begin(r *http.Request, patience, wait time.Duration, do func(context.Context) (T, error)) {
	j.mu.Lock()
	done := j.last.done
	if !j.last.underWay() {
		done = make(chan struct{})
		j.last = work[T]{since: time.Now(), done: done}
		beyond, release := access.Beyond(r.Context())
		go func() {
			defer release()
			until, leave := access.Until(beyond)
			defer leave()
			ctx, cancel := context.WithTimeout(until, patience)
			defer cancel()
			result, err := do(ctx)
			j.mu.Lock()
			defer j.mu.Unlock()
			j.last.ended, j.last.result, j.last.err = time.Now(), result, err
			close(done)
		}()
	}
	j.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-r.Context().Done():
	}
}

func (j *job[T]) state() work[T] {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}
