package launch

import (
	"context"
	"encoding/json"
	"log/slog"
	"sort"
	"strings"
	"time"
)

// logParser hands lines of stderr to the daemon's log. Lines of JSON in
// hclog's form keep their level, time and fields. Any other line is logged as
// it is: the trace of a crash as errors, the rest as info.
type logParser struct {
	log     *slog.Logger
	crashed bool
}

// write logs a line and returns it as a person would read it.
func (p *logParser) write(line string) string {
	if record, ok := parseLine(line); ok {
		if handler := p.log.Handler(); handler.Enabled(context.Background(), record.Level) {
			_ = handler.Handle(context.Background(), record)
		}
		return recordText(record)
	}
	p.notice(line)
	level := slog.LevelInfo
	if p.crashed {
		level = slog.LevelError
	}
	p.log.Log(context.Background(), level, line, "stream", "stderr")
	return line
}

// notice sees where the trace of a crash begins.
func (p *logParser) notice(line string) {
	if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
		p.crashed = true
	}
}

// recordText is a record as a person would read it.
func recordText(record slog.Record) string {
	return record.Level.String() + " " + record.Message + attrText(record)
}

// parseLine reads a line in hclog's JSON form.
func parseLine(line string) (slog.Record, bool) {
	if !strings.HasPrefix(line, "{") {
		return slog.Record{}, false
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return slog.Record{}, false
	}
	message, ok := fields["@message"].(string)
	if !ok {
		return slog.Record{}, false
	}
	level, _ := fields["@level"].(string)
	stamp, _ := fields["@timestamp"].(string)
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		at = time.Now()
	}
	record := slog.NewRecord(at, levelOf(level), message, 0)
	for _, key := range fieldKeys(fields) {
		record.AddAttrs(slog.Any(ownKey(key), fields[key]))
	}
	return record, true
}

// ownKey is the key under which a plugin's field is logged: not one by which the daemon's log
// says where a line is from, how serious it is and when it was written.
func ownKey(key string) string {
	switch key {
	case "plugin", "room", "pid", "stream", slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		return "its_" + key
	}
	return key
}

// fieldKeys are the keys that are not hclog's own, sorted.
func fieldKeys(fields map[string]any) []string {
	keys := make([]string, 0, len(fields))
	for key := range fields {
		if !strings.HasPrefix(key, "@") {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

func levelOf(name string) slog.Level {
	switch strings.ToLower(name) {
	case "trace", "debug":
		return slog.LevelDebug
	case "warn", "warning":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}

func attrText(record slog.Record) string {
	var text strings.Builder
	record.Attrs(func(a slog.Attr) bool {
		text.WriteString(" " + a.String())
		return true
	})
	return text.String()
}
