package live

import "sync"

// queue holds what a client has still to be sent, bounded in frames and bytes.
type queue struct {
	maxFrames, maxBytes int
	wake                chan struct{} // has an element when there may be frames

	mu     sync.Mutex
	frames []frame
	bytes  int
}

func newQueue(maxFrames, maxBytes int) *queue {
	return &queue{maxFrames: maxFrames, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
}

// push queues a frame. When there is no room, deltas are lost, the new one
// first. It returns false when any other frame would have to be lost.
func (q *queue) push(f frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fits(f) {
		if f.delta {
			return true
		}
		q.dropDeltas()
		if !q.fits(f) {
			return false
		}
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.text)
	return true
}

// signal says that there may be frames, once they have been pushed.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// fits reports whether there is room; an empty queue has room for any frame.
func (q *queue) fits(f frame) bool {
	return len(q.frames) == 0 || (len(q.frames) < q.maxFrames && q.bytes+len(f.text) <= q.maxBytes)
}

func (q *queue) dropDeltas() {
	kept := q.frames[:0]
	for _, f := range q.frames {
		if f.delta {
			q.bytes -= len(f.text)
			continue
		}
		kept = append(kept, f)
	}
	clear(q.frames[len(kept):])
	q.frames = kept
}

// pop takes the oldest frame, and reports whether there was one.
func (q *queue) pop() (frame, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return frame{}, false
	}
	f := q.frames[0]
	q.frames[0] = frame{}
	q.frames = q.frames[1:]
	q.bytes -= len(f.text)
	return f, true
}
