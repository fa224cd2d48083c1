package pluginhost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxLogBytes is the size at which a plugin's log begins anew; the full file is kept
	// as NAME.log.1. (The libraries that do this keep a goroutine for every file, for
	// ever.)
	maxLogBytes = 1 << 20
	// maxLogLines bounds what Logs returns; defaultLogLines is what it returns without a
	// limit.
	maxLogLines     = 5000
	defaultLogLines = 200
)

// logs are the log files of all plugins. A plugin's file stays open between its starts,
// until the plugin is turned off.
type logs struct {
	dir   string // empty: no files
	mu    sync.Mutex
	files map[string]*logFile
}

func newLogs(dir string) *logs { return &logs{dir: dir, files: make(map[string]*logFile)} }

// of returns the log file of a plugin.
func (l *logs) of(plugin string) *logFile {
	l.mu.Lock()
	defer l.mu.Unlock()
	file := l.files[plugin]
	if file == nil {
		file = &logFile{}
		if l.dir != "" {
			file.path = l.path(plugin)
		}
		l.files[plugin] = file
	}
	return file
}

func (l *logs) path(plugin string) string { return filepath.Join(l.dir, plugin+".log") }

func (l *logs) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, file := range l.files {
		file.close()
	}
}

// Logs returns the newest lines of a plugin's log, the oldest first, at most
// limit (0: 200; no more than 5000).
func (h *Host) Logs(_ context.Context, plugin string, limit int) ([]pluginsdk.LogLine, error) {
	if limit <= 0 {
		limit = defaultLogLines
	}
	limit = min(limit, maxLogLines)
	if h.logs.dir == "" || filepath.Base(plugin) != plugin {
		return nil, nil
	}
	var lines []pluginsdk.LogLine
	path := h.logs.path(plugin)
	for _, path := range []string{path + ".1", path} {
		part, err := readLog(path)
		if err != nil {
			return nil, fmt.Errorf("read the log of %s: %w", plugin, err)
		}
		lines = append(lines, part...)
	}
	return lines[max(0, len(lines)-limit):], nil
}

func readLog(path string) (lines []pluginsdk.LogLine, err error) {
	file, err := os.Open(path) //nolint:gosec // its name is a plugin's
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLogBytes)
	for scanner.Scan() {
		lines = append(lines, parseLogLine(scanner.Text()))
	}
	return lines, scanner.Err()
}

// logFile is one plugin's log.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// write appends a line. A line that cannot be written is lost here; the daemon's own log
// has it.
func (f *logFile) write(line string) {
	if f.path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil && f.open() != nil {
		return
	}
	if f.size > 0 && f.size+int64(len(line)) > maxLogBytes {
		_ = f.file.Close()
		f.file = nil
		if os.Rename(f.path, f.path+".1") != nil || f.open() != nil {
			return
		}
	}
	n, _ := f.file.WriteString(line)
	f.size += int64(n)
}

// note writes a line of the daemon's about the plugin.
func (f *logFile) note(level slog.Level, text string) {
	record := slog.NewRecord(time.Now(), level, text, 0)
	_ = fileHandler{file: f}.Handle(context.Background(), record)
}

// open opens the file for appending. The lock is held.
func (f *logFile) open() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

func (f *logFile) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
}

// parseLogLine parses a line TIME LEVEL TEXT. A line without a time is all text.
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

// Enabled returns true: the file also keeps the levels that the daemon's log leaves out.
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

// WithAttrs drops the plugin's name, which the file's name says.
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

// WithGroup ignores the group: a line has none.
func (h fileHandler) WithGroup(string) slog.Handler { return h }

func writeAttr(line *strings.Builder, attr slog.Attr) {
	if attr.Key != "stream" { // stdout or stderr: of no use in the plugin's own log
		fmt.Fprintf(line, " %s=%s", oneLine(attr.Key), oneLine(attr.Value.String()))
	}
}

// oneLine escapes line breaks, so that a text cannot forge lines of the log.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text)
}

var _ slog.Handler = redactHandler{}

// redactHandler removes the plugin's secrets from what is logged.
type redactHandler struct {
	slog.Handler
	redact func(string) string
}

// Handle passes on the record without secrets.
func (h redactHandler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.redact(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(h.attr(attr))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

// WithAttrs returns a handler with the attributes without secrets.
func (h redactHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for n, attr := range attrs {
		clean[n] = h.attr(attr)
	}
	return redactHandler{h.Handler.WithAttrs(clean), h.redact}
}

// WithGroup returns a handler with the group.
func (h redactHandler) WithGroup(name string) slog.Handler {
	return redactHandler{h.Handler.WithGroup(h.redact(name)), h.redact}
}

func (h redactHandler) attr(attr slog.Attr) slog.Attr {
	key := h.redact(attr.Key)
	switch value := attr.Value.Resolve(); value.Kind() {
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64:
		return slog.Attr{Key: key, Value: value}
	default: // an error or a structure: as text
		return slog.String(key, h.redact(value.String()))
	}
}
