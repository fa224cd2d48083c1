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
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxLogBytes is the size at which a plugin's log begins anew; the one
	// before it is kept as NAME.log.1. (The libraries that do this keep a
	// goroutine for every file, for ever.)
	maxLogBytes = 1 << 20
	// maxLogLines and defaultLogLines bound what Logs returns.
	maxLogLines     = 5000
	defaultLogLines = 200
)

// logs are the log files of all plugins. A plugin's file stays open between its
// starts, until the plugin is turned off.
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

// write appends a line. What cannot be written is lost here; the daemon's own
// log has it.
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

// note writes what the daemon has to say of the plugin.
func (f *logFile) note(level slog.Level, text string) {
	record := slog.NewRecord(time.Now(), level, text, 0)
	_ = fileHandler{file: f}.Handle(context.Background(), record)
}

// open opens the file at its end. The lock is held.
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
