package pluginhost

import (
	"context"
	"log/slog"
)

var _ slog.Handler = redactHandler{}

// redactHandler takes the plugin's secrets out of what is logged.
type redactHandler struct {
	slog.Handler
	redact func(string) string
}

// Handle passes on a record without secrets.
func (h redactHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redact(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(h.attr(attr))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs returns a handler whose attributes have no secrets.
func (h redactHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for n, attr := range attrs {
		clean[n] = h.attr(attr)
	}
	return redactHandler{h.Handler.WithAttrs(clean), h.redact}
}

// WithGroup returns a handler with a group.
func (h redactHandler) WithGroup(name string) slog.Handler {
	return redactHandler{h.Handler.WithGroup(h.redact(name)), h.redact}
}

func (h redactHandler) attr(attr slog.Attr) slog.Attr {
	key := h.redact(attr.Key)
	switch value := attr.Value.Resolve(); value.Kind() {
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64:
		return slog.Attr{Key: key, Value: value}
	default: // an error, a structure: as a person would read it
		return slog.String(key, h.redact(value.String()))
	}
}
