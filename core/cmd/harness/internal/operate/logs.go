package operate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// rotated is what the name of a log ends with that was begun anew.
const rotated = ".1"

// Logs prints the last n lines of a plugin's log, which lies at path, and with
// follow all that come until ctx ends. A tick is when the file is looked at.
func (o *Operator) Logs(ctx context.Context, name, path string, n int, follow bool, tick <-chan time.Time) error {
	if _, err := o.Plugins.Plugin(ctx, name); err != nil {
		if _, found := os.Stat(path); found != nil { // that of a removed plugin can still be read
			return err
		}
	}
	log, err := openLog(path)
	if err != nil {
		return err
	}
	defer func() { log.close() }()
	lines, err := log.last(n)
	if err != nil {
		return err
	}
	if len(lines) == 0 && !follow {
		o.say("%s has logged nothing yet.", name)
	}
	for _, line := range lines {
		o.say("%s", line)
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		if log, err = log.follow(o.Out); err != nil {
			return err
		}
	}
	return nil
}

// logTail reads a log file from somewhere to its end, and what replaces it.
type logTail struct {
	path string
	file *os.File // nil: it is not there yet
	rest []byte   // of a line whose end is not there yet
}

func openLog(path string) (*logTail, error) {
	file, err := os.Open(path) //nolint:gosec // the daemon's own directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if err != nil {
		file = nil
	}
	return &logTail{path: path, file: file}, nil
}

func (l *logTail) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// last returns the last n lines, those of the file before this one included. The
// daemon keeps both small.
func (l *logTail) last(n int) ([]string, error) {
	before, err := os.ReadFile(l.path + rotated)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var now bytes.Buffer
	if l.file != nil {
		if _, err := io.Copy(&now, l.file); err != nil {
			return nil, fmt.Errorf("read the log: %w", err)
		}
	}
	lines := l.lines(append(before, now.Bytes()...))
	return lines[max(0, len(lines)-max(n, 0)):], nil
}

// lines cuts text into whole lines, as they may be shown, and keeps the rest.
func (l *logTail) lines(text []byte) []string {
	text = append(l.rest, text...)
	end := bytes.LastIndexByte(text, '\n') + 1
	l.rest = bytes.Clone(text[end:])
	var lines []string
	for line := range strings.Lines(string(text[:end])) {
		lines = append(lines, strings.TrimRight(visible(line), " "))
	}
	return lines
}

// follow prints what has come, and returns the log to go on with: the next file,
// when the daemon has begun a new one.
func (l *logTail) follow(out io.Writer) (*logTail, error) {
	current, err := os.Stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, l.print(out) // between two files
	}
	if err != nil {
		return l, fmt.Errorf("read the log: %w", err)
	}
	if err := l.print(out); err != nil || l.same(current) {
		return l, err
	}
	// What came to the old file after it was read last was printed just now:
	// nothing is added to it once the new one is there.
	l.close()
	next, err := openLog(l.path)
	if err != nil {
		return l, err
	}
	return next, next.print(out)
}

// same reports whether the file that is there is the one that is read, and was
// not cut.
func (l *logTail) same(current fs.FileInfo) bool {
	if l.file == nil {
		return false
	}
	mine, err := l.file.Stat()
	if err != nil || !os.SameFile(mine, current) {
		return false
	}
	// The size is that of now: since current was taken, the file may have grown
	// and been read.
	at, err := l.file.Seek(0, io.SeekCurrent)
	return err == nil && at <= mine.Size()
}

func (l *logTail) print(out io.Writer) error {
	if l.file == nil {
		return nil
	}
	text, err := io.ReadAll(l.file)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	for _, line := range l.lines(text) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
