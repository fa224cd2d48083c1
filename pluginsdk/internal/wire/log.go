package wire

import (
	"io"
	"log/slog"
	"strings"
	"time"
)

// logTimeLayout is the one that hclog writes and reads.
const logTimeLayout = "2006-01-02T15:04:05.000000Z07:00"

// NewLogger returns the logger that a plugin gets as Host.Log. It writes lines
// of JSON in hclog's form (@level, @message, @timestamp), which the host reads
// from the process's stderr and hands on with their level. w must be file
// descriptor 2 itself: lines that go through what go-plugin puts in os.Stderr
// are lost when the process ends right after.
func NewLogger(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level:       slog.LevelDebug,
		ReplaceAttr: hclogAttr,
	}))
}

func hclogAttr(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		if t, ok := a.Value.Any().(time.Time); ok {
			return slog.String("@timestamp", t.Format(logTimeLayout))
		}
	case slog.LevelKey:
		if level, ok := a.Value.Any().(slog.Level); ok {
			return slog.String("@level", strings.ToLower(level.String()))
		}
	case slog.MessageKey:
		return slog.Attr{Key: "@message", Value: a.Value}
	}
	return a
}
