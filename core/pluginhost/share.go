package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// The share of the daemon's log that a plugin has: shareBytes of lines in each shareEvery.
const (
	shareBytes = 64 << 10
	shareEvery = time.Minute
)

var _ slog.Handler = &shareHandler{}

// shareHandler bounds what each plugin writes into the daemon's log, or causes in it: the
// lines with the attribute plugin. It leaves out what is above the plugin's share, and says
// once in shareEvery how many lines that was.
type shareHandler struct {
	slog.Handler
	shares *shares
	plugin string // of the attributes so far; empty: none
	size   int    // of the attributes so far
}

// ShareLog returns the handler with the plugins' shares bounded.
func ShareLog(next slog.Handler) slog.Handler {
	return &shareHandler{Handler: next, shares: &shares{next: next, of: make(map[string]*share)}}
}

// Handle passes a record on, unless its plugin has had its share.
func (h *shareHandler) Handle(ctx context.Context, record slog.Record) error {
	plugin, size := h.plugin, h.size+len(record.Message)
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "plugin" {
			plugin = attr.Value.String()
		}
		size += sizeOf(attr)
		return true
	})
	if plugin != "" && !h.shares.take(plugin, size) {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs returns a handler that knows the plugin, if the attributes name one.
func (h *shareHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.Handler = h.Handler.WithAttrs(attrs)
	for _, attr := range attrs {
		if attr.Key == "plugin" {
			with.plugin = attr.Value.String()
		}
		with.size += sizeOf(attr)
	}
	return &with
}

// WithGroup returns a handler with the group.
func (h *shareHandler) WithGroup(name string) slog.Handler {
	with := *h
	with.Handler = h.Handler.WithGroup(name)
	return &with
}

// lineBytes is what a line has beside its words: time, level, names.
const lineBytes = 48

func sizeOf(attr slog.Attr) int { return len(attr.Key) + len(attr.Value.String()) + 2 }

// shares are those of the plugins that have written something in the last shareEvery.
type shares struct {
	next slog.Handler
	mu   sync.Mutex
	of   map[string]*share
}

type share struct {
	bytes   int
	leftOut int
}

// take reports whether the plugin's share has room for a line.
func (s *shares) take(plugin string, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[plugin]
	if of == nil {
		of = &share{}
		s.of[plugin] = of
		time.AfterFunc(shareEvery, func() { s.over(plugin) })
	}
	if of.bytes+size+lineBytes > shareBytes {
		of.leftOut++
		return false
	}
	of.bytes += size + lineBytes
	return true
}

// over ends a plugin's shareEvery, and says what was left out in it.
func (s *shares) over(plugin string) {
	s.mu.Lock()
	of := s.of[plugin]
	delete(s.of, plugin)
	s.mu.Unlock()
	if of.leftOut == 0 {
		return
	}
	record := slog.NewRecord(time.Now(), slog.LevelWarn, fmt.Sprintf(
		"lines about a plugin were left out: it may fill %d KiB a minute of this log; what it writes itself is all in its own (harness plugin logs)", shareBytes>>10), 0)
	record.AddAttrs(slog.String("plugin", plugin), slog.Int("lines", of.leftOut))
	_ = s.next.Handle(context.Background(), record)
}
