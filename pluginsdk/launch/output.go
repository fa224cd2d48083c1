package launch

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxLine bounds a line of output; what is longer is cut.
	maxLine = 64 << 10
	// keptLines and keptLine bound what LastStderr holds.
	keptLines = 20
	keptLine  = 4 << 10
	// keptCrash is how many lines of a crash LastWords holds: what was wrong, and where.
	keptCrash = 3
	// maxHandshake bounds the first line: a certificate takes 2 KiB of it, and
	// go-plugin stops reading at 64.
	maxHandshake = 8 << 10
)

// output reads what a process writes: the first line of stdout is go-plugin's
// handshake; the rest of stdout and all of stderr go to the log.
type output struct {
	log       *slog.Logger
	each      func(line string) // may be nil
	flood     *flood
	handshake *io.PipeReader
	line      *io.PipeWriter // the other end of handshake

	readers sync.WaitGroup
	files   []*os.File

	mu     sync.Mutex
	parser logParser
	last   []string
	crash  []string // from the newest line on with which a Go program ends
}

func newOutput(log *slog.Logger, each func(line string)) *output {
	o := &output{log: log, each: each, flood: newFlood(log), parser: logParser{log: log}}
	o.handshake, o.line = io.Pipe()
	return o
}

// read starts reading both pipes, which it owns from now on.
func (o *output) read(stdout, stderr *os.File) {
	o.files = []*os.File{stdout, stderr}
	o.readers.Go(func() { o.readStdout(stdout) })
	o.readers.Go(func() { o.readStderr(stderr) })
}

// drain waits for the end of both pipes, at most until the deadline. It may be
// called once, when the process has ended.
func (o *output) drain(deadline time.Time) {
	close(o.flood.ended)
	_ = o.handshake.Close() // nobody is waiting for the first line any more
	for _, file := range o.files {
		_ = file.SetReadDeadline(deadline)
	}
	o.readers.Wait()
	for _, file := range o.files {
		_ = file.Close()
	}
	o.flood.tell()
}

func (o *output) readStdout(r io.Reader) {
	first := true
	eachLine(o.flood.reader(r), func(line string) {
		if first {
			first = false
			_, _ = io.WriteString(o.line, cut(line, maxHandshake)+"\n")
			_ = o.line.Close()
			return
		}
		o.stdoutLine(line)
	})
	_ = o.line.Close()
}

func (o *output) readStderr(r io.Reader) {
	eachLine(o.flood.reader(r), o.stderrLine)
}

// stdoutLine takes a line of stdout, from the pipe or through go-plugin.
func (o *output) stdoutLine(line string) {
	o.flood.slow(lineCost)
	if o.flood.admit() {
		o.log.Info(line, "stream", "stdout")
	}
}

// stderrLine takes a line of stderr, from the pipe or through go-plugin.
func (o *output) stderrLine(line string) {
	o.flood.slow(lineCost)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.each != nil {
		o.each(line)
	}
	if o.flood.admit() {
		line = o.parser.write(line)
	} else {
		o.parser.notice(line)
	}
	o.keep(line)
}

// keep remembers a line for LastStderr and LastWords.
func (o *output) keep(line string) {
	line = cut(line, keptLine)
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		o.crash = []string{line}
	} else if n := len(o.crash); n > 0 && n < keptCrash && line != "" {
		o.crash = append(o.crash, line)
	}
	if len(o.last) == keptLines {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, line)
}

func (o *output) lastLines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := make([]string, 0, len(o.last))
	for _, line := range o.last {
		if record, ok := parseLine(line); ok { // one that was not logged
			line = cut(recordText(record), keptLine)
		}
		lines = append(lines, line)
	}
	return lines
}

// lastWords returns what the process said of its end: where a Go program has crashed,
// what it said first, for the trace behind that is longer than what is kept.
func (o *output) lastWords(most int) []string {
	o.mu.Lock()
	crash := slices.Clone(o.crash[:min(most, len(o.crash))])
	o.mu.Unlock()
	if len(crash) > 0 {
		return crash
	}
	lines := o.lastLines()
	return lines[max(0, len(lines)-most):]
}

// cut bounds a line, without holding on to the rest of it.
func cut(line string, size int) string {
	if len(line) <= size {
		return line
	}
	return strings.Clone(line[:size])
}

// eachLine calls do with every line until r ends or its deadline has passed.
func eachLine(r io.Reader, do func(line string)) {
	reader := bufio.NewReaderSize(r, maxLine)
	for {
		line, cut, err := reader.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		if cut {
			text += " [cut]"
		}
		do(text)
		for cut && err == nil {
			_, cut, err = reader.ReadLine()
		}
	}
}
