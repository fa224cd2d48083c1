package pluginhost

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// parseLogLine reads TIME LEVEL TEXT.
func parseLogLine(line string) pluginsdk.LogLine {
	stamp, rest, _ := strings.Cut(line, " ")
	level, text, _ := strings.Cut(rest, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return pluginsdk.LogLine{Level: "info", Text: line}
	}
	return pluginsdk.LogLine{Time: at, Level: strings.ToLower(level), Text: text}
}

var _ slog.Handler = fileHandler{}

// fileHandler writes records of every level to a plugin's log file.
type fileHandler struct {
	file  *logFile
	attrs string
}

// Enabled is true: the file keeps what the daemon's log leaves out.
func (h fileHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle writes a record as a line.
func (h fileHandler) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "%s %s %s", record.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00"), record.Level, oneLine(record.Message))
	record.Attrs(func(attr slog.Attr) bool {
		writeAttr(&line, attr)
		return true
	})
	line.WriteString(h.attrs)
	line.WriteByte('\n')
	h.file.write(line.String())
	return nil
}

// WithAttrs leaves the plugin's name out: the file has it.
func (h fileHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	line := strings.Builder{}
	line.WriteString(h.attrs)
	for _, attr := range attrs {
		if attr.Key != "plugin" {
			writeAttr(&line, attr)
		}
	}
	h.attrs = line.String()
	return h
}

// WithGroup has no meaning in a line.
func (h fileHandler) WithGroup(string) slog.Handler { return h }

func writeAttr(line *strings.Builder, attr slog.Attr) {
	if attr.Key != "stream" { // where a line was written is of no use in the plugin's own log
		fmt.Fprintf(line, " %s=%s", oneLine(attr.Key), oneLine(attr.Value.String()))
	}
}

// oneLine keeps a text from looking like several lines.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text)
}
