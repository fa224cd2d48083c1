package invoker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// processMark is the environment variable with an id of each process. Whatever the CLI
// starts inherits it, and can be found by it wherever it is in the process tree.
const processMark = "HARNESS_AGENT_PROCESS"

// drainTime is how long output is still read after the process has ended: what the
// process wrote is in the pipe already, and only something that it left running could
// keep the pipe open.
const drainTime = 500 * time.Millisecond

// killTime is how long the caller waits for the end of a process after SIGKILL.
const killTime = 5 * time.Second

// ending is how a process ended.
type ending int

const (
	endedItself ending = iota
	endedClean         // after its stdin was closed or SIGTERM, with the exit observed
	endedKilled
)

// command is what startProcess starts.
type command struct {
	path string
	args []string
	env  []string
	dir  string
	line func([]byte) // called with each line of stdout, on one goroutine
	max  int          // the longest line, in bytes
	log  *slog.Logger
}

// process is one running CLI and its pipes. It owns four goroutines, which end with it.
type process struct {
	cmd    *exec.Cmd
	group  *proc.Group // the process group that it leads
	mark   string
	log    *slog.Logger
	stdin  *os.File
	output []*os.File // our ends of stdout and stderr
	stderr tail
	writes chan []byte

	// ended is closed when the process has ended. exited is closed soon after: when all
	// its output has been read (command.line has to return for that) and what it left
	// running is gone. Then readErr and state may be read.
	ended   chan struct{}
	exited  chan struct{}
	readErr error
	state   *os.ProcessState

	mu        sync.Mutex
	closing   bool      // stdin is closed, or will be once the writes are done
	relatives []proc.ID // descendants seen before the end
}

// startProcess starts the CLI in a process group of its own. When the daemon dies, the
// kernel sends the CLI SIGTERM, at which it saves its transcript; on macOS the CLI ends
// when its stdin does.
func startProcess(c command, fork *proc.Forker) (*process, error) {
	p := &process{
		mark:   uuid.NewString(),
		log:    c.log,
		writes: make(chan []byte, 64),
		ended:  make(chan struct{}),
		exited: make(chan struct{}),
	}
	p.cmd = exec.Command(c.path, c.args...)
	p.cmd.Dir = c.dir
	p.cmd.Env = append(c.env, processMark+"="+p.mark)
	p.cmd.SysProcAttr = proc.Attributes(syscall.SIGTERM)

	theirs, err := p.pipes()
	if err == nil {
		if err = fork.Run(context.Background(), func() error { return proc.Start(p.cmd) }); errors.Is(err, proc.ErrClosed) {
			err = errStopping
		}
	}
	for _, file := range theirs {
		file.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, err
	}
	p.group = proc.Lead(p.cmd.Process)
	p.log = p.log.With("pid", p.cmd.Process.Pid)
	go p.write()
	go p.watch(c.line, c.max)
	return p, nil
}

// pipes makes the three pipes and returns the child's ends of them.
func (p *process) pipes() (theirs []*os.File, err error) {
	open := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	inR, inW := open()
	outR, outW := open()
	errR, errW := open()
	p.stdin, p.output = inW, []*os.File{outR, errR}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, errW
	return []*os.File{inR, outW, errW}, err
}

func (p *process) closePipes() {
	p.stdin.Close()
	for _, file := range p.output {
		file.Close()
	}
}

// send queues a line for the process, and reports whether it did: not after closeInput,
// nor while the queue is full. It never blocks; a process that does not read is noticed
// by its silence.
func (p *process) send(line []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	select {
	case p.writes <- line:
		return true
	default:
		return false
	}
}

// write writes the queue to stdin, which it closes in the end. It runs in a goroutine.
func (p *process) write() {
	defer p.stdin.Close()
	for line := range p.writes {
		if _, err := p.stdin.Write(line); err != nil {
			p.log.Debug("write to the agent", "error", err)
			p.closeInput()
			return
		}
	}
}

// closeInput closes stdin once the queued lines are written.
func (p *process) closeInput() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.closing = true
		close(p.writes)
	}
}

// watch reads the output, waits for the end of the process, and ends what it left
// running. It runs in a goroutine.
func (p *process) watch(line func([]byte), limit int) {
	var readers sync.WaitGroup
	readers.Go(func() {
		if err := readLines(p.output[0], limit, line); errors.Is(err, errLineTooLong) {
			p.readErr = err
			p.kill()
		}
	})
	readers.Go(func() { _, _ = io.Copy(&p.stderr, p.output[1]) })

	if err := p.group.Wait(nil, func() error { return proc.Wait(p.cmd) }); p.cmd.ProcessState == nil {
		p.log.Error("wait for the agent's process", "error", err)
	}
	close(p.ended)
	p.state = p.cmd.ProcessState
	p.closeInput()
	// A blocked write fails, since the reader is gone. The deadline unblocks it
	// also when a child of the process holds the other end.
	_ = p.stdin.SetWriteDeadline(time.Now())
	p.endRelatives()
	for _, file := range p.output {
		_ = file.SetReadDeadline(time.Now().Add(drainTime))
	}
	readers.Wait()
	p.closePipes()
	close(p.exited)
}

// end ends the process: it closes stdin, then sends SIGTERM, then SIGKILL, with a wait of
// grace after each of the first two. It returns when the process is gone.
func (p *process) end(grace time.Duration) ending {
	if p.gone() {
		return endedItself
	}
	p.noteRelatives()
	p.closeInput()
	if p.waitExit(grace) {
		return endedClean
	}
	return p.terminate(grace)
}

// terminate is end without the wait after closing stdin: for a process that is in the
// middle of something, or does not read.
func (p *process) terminate(grace time.Duration) ending {
	if p.gone() {
		return endedItself
	}
	p.noteRelatives()
	p.closeInput()
	return p.cut(grace)
}

// cut is terminate with stdin left open until the process has ended: a CLI that waits for
// an answer calls the API again when its stdin is closed.
func (p *process) cut(grace time.Duration) ending {
	if p.gone() {
		return endedItself
	}
	p.noteRelatives()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.waitExit(grace) {
		return endedClean
	}
	p.log.Warn("the agent's process did not end when asked; killing it")
	p.kill()
	if !p.waitExit(killTime) {
		p.log.Error("the agent's process does not end even when killed")
	}
	return endedKilled
}

// kill kills the process and its group. Descendants in other groups are ended once the
// exit is seen.
func (p *process) kill() {
	p.noteRelatives()
	p.group.Signal(syscall.SIGKILL)
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *process) waitExit(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// noteRelatives stores the descendants of the process while it lives: after its end they
// cannot be found from it.
func (p *process) noteRelatives() {
	p.group.Hold(func(pid int) {
		below := readFamilies().below(pid)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, stat := range below {
			p.relatives = append(p.relatives, stat.ID)
		}
	})
}

// endRelatives ends what the process left running: the descendants that were noted, and
// every process with its mark.
func (p *process) endRelatives() {
	p.mu.Lock()
	relatives := p.relatives
	p.mu.Unlock()
	find := func() []proc.ID {
		return append(proc.Marked(processMark, p.mark), relatives...)
	}
	if n := endAll(find, nil, leftoverGrace); n > 0 {
		p.log.Info("ended what the agent's process left running", "processes", n)
	}
}

// leftoverGrace is how long a process that the CLI left running gets to end after
// SIGTERM.
const leftoverGrace = 300 * time.Millisecond

// tailSize is how many bytes of a process's stderr are kept: the last ones.
const tailSize = 4 << 10

// tail keeps the last tailSize bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
	cut  bool
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailSize; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the kept text, marked with … if something was cut.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.data), ""))
	if t.cut {
		return "…" + text
	}
	return text
}
