package launch_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
)

// recorder is a log that remembers.
type recorder struct {
	mu      *sync.Mutex
	records *[]slog.Record
	attrs   []slog.Attr
}

func newRecorder() recorder { return recorder{mu: &sync.Mutex{}, records: &[]slog.Record{}} }

func (r recorder) logger() *slog.Logger { return slog.New(r) }

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r recorder) Handle(_ context.Context, record slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	record = record.Clone()
	record.AddAttrs(r.attrs...)
	*r.records = append(*r.records, record)
	return nil
}

func (r recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	r.attrs = append(append([]slog.Attr(nil), r.attrs...), attrs...)
	return r
}

func (r recorder) WithGroup(string) slog.Handler { return r }

// find returns the record with a message, with its attributes as text.
func (r recorder) find(message string) (level slog.Level, attrs map[string]string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, record := range *r.records {
		if record.Message != message {
			continue
		}
		attrs = map[string]string{}
		record.Attrs(func(a slog.Attr) bool {
			attrs[a.Key] = a.Value.String()
			return true
		})
		return record.Level, attrs, true
	}
	return 0, nil, false
}

// matching counts the records whose message has a part.
func (r recorder) matching(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, record := range *r.records {
		if strings.Contains(record.Message, part) {
			n++
		}
	}
	return n
}
