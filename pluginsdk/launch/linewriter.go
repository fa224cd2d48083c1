package launch

import (
	"bytes"
	"sync"
)

// lineWriter calls each with every whole line written to it.
type lineWriter struct {
	each func(line string)

	mu      sync.Mutex
	pending []byte
}

// Write never fails. What is past maxLine of a line is lost, or a line of its own.
func (w *lineWriter) Write(chunk []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, chunk...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		switch {
		case end >= 0:
			w.each(cut(string(w.pending[:end]), maxLine))
			w.pending = w.pending[end+1:]
		case len(w.pending) >= maxLine:
			w.each(cut(string(w.pending), maxLine))
			w.pending = nil
		default:
			return len(chunk), nil
		}
	}
}
