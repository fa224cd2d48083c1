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

// Write never fails. A line past maxLine is handed on in pieces.
func (w *lineWriter) Write(chunk []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, chunk...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		switch {
		case end >= 0:
			w.each(string(w.pending[:end]))
			w.pending = w.pending[end+1:]
		case len(w.pending) >= maxLine:
			w.each(string(w.pending))
			w.pending = nil
		default:
			return len(chunk), nil
		}
	}
}
