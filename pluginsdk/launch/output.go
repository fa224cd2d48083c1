package launch

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// maxLine bounds a line of output; what is longer is cut.
	maxLine = 64 << 10
	// keptLines and keptLine bound what LastStderr holds.
	keptLines = 20
	keptLine  = 4 << 10
)

// output reads what a process writes: the first line of stdout is go-plugin's
// handshake; the rest of stdout and all of stderr go to the log.
type output struct {
	log       *slog.Logger
	each      func(line string) // may be nil
	handshake *io.PipeReader
	line      *io.PipeWriter // the other end of handshake

	readers sync.WaitGroup
	files   []*os.File

	mu     sync.Mutex
	parser logParser
	last   []string
}

func newOutput(log *slog.Logger, each func(line string)) *output {
	o := &output{log: log, each: each, parser: logParser{log: log}}
	o.handshake, o.line = io.Pipe()
	return o
}

// read starts reading both pipes, which it owns from now on.
func (o *output) read(stdout, stderr *os.File) {
	o.files = []*os.File{stdout, stderr}
	o.readers.Go(func() { o.readStdout(stdout) })
	o.readers.Go(func() { o.readStderr(stderr) })
}

// drain waits for the end of both pipes, at most until the deadline.
func (o *output) drain(deadline time.Time) {
	for _, file := range o.files {
		_ = file.SetReadDeadline(deadline)
	}
	o.readers.Wait()
	for _, file := range o.files {
		_ = file.Close()
	}
}

func (o *output) readStdout(r io.Reader) {
	first := true
	eachLine(r, func(line string) {
		if first {
			first = false
			_, _ = io.WriteString(o.line, line+"\n")
			_ = o.line.Close()
			return
		}
		o.log.Info(line, "stream", "stdout")
	})
	_ = o.line.Close()
}

func (o *output) readStderr(r io.Reader) {
	eachLine(r, o.stderrLine)
}

// stderrLine takes a line of stderr, from the pipe or through go-plugin.
func (o *output) stderrLine(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.each != nil {
		o.each(line)
	}
	o.keep(o.parser.write(line))
}

// keep remembers a line for LastStderr.
func (o *output) keep(line string) {
	if len(line) > keptLine {
		line = line[:keptLine]
	}
	if len(o.last) == keptLines {
		o.last = append(o.last[:0], o.last[1:]...)
	}
	o.last = append(o.last, line)
}

func (o *output) lastLines() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.last...)
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
