package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// drainTime is how long the output of an ended process is still read: a
// descendant that left the process group may hold the pipes open for ever.
const drainTime = time.Second

// process is the operating system's side of a plugin: a process that leads a
// group of its own, and its output.
type process struct {
	launcher *Launcher
	cmd      *exec.Cmd
	output   *output
	confine  confinement
	attached *attachment     // of a process that another has started; nil of a child
	left     func(group int) // told before what is left of the group is killed; may be nil
	done     chan struct{}   // closed when the process has ended and its output is read
	err      error           // how it ended; set before done is closed

	mu     sync.Mutex
	group  *proc.Group // which the process leads, from its start on; nil of one that is attached
	killed bool        // kill was called
}

// groupAttr gives a child its own process group, and death with its parent where there is
// that; elsewhere the plugin's side of the SDK watches its host.
func groupAttr() *syscall.SysProcAttr { return proc.Attributes(syscall.SIGKILL) }

// newProcess makes a process that is not started.
func newProcess(l *Launcher, cmd *exec.Cmd, out *output, left func(group int)) *process {
	cmd.SysProcAttr = groupAttr()
	return &process{launcher: l, cmd: cmd, output: out, left: left, done: make(chan struct{})}
}

// start forks the process and reads its output until it ends.
func (p *process) start(ctx context.Context) error {
	if err := p.launcher.enter(p); err != nil {
		return err
	}
	if err := p.fork(ctx); err != nil {
		p.launcher.leave(p)
		return err
	}
	p.mu.Lock()
	p.group = proc.Lead(p.cmd.Process)
	killed := p.killed
	p.mu.Unlock()
	if killed {
		p.kill()
	}
	go func() {
		defer p.launcher.leave(p)
		p.err = p.group.Wait(p.hasEnded, func() error { return proc.Wait(p.cmd) })
		p.sweep()
		p.output.drain(time.Now().Add(drainTime))
		close(p.done)
	}()
	return nil
}

func (p *process) fork(ctx context.Context) error {
	stdout, stdoutEnd, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe for stdout: %w", err)
	}
	defer func() { _ = stdoutEnd.Close() }()
	stderr, stderrEnd, err := os.Pipe()
	if err != nil {
		_ = stdout.Close()
		return fmt.Errorf("make a pipe for stderr: %w", err)
	}
	defer func() { _ = stderrEnd.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = stdoutEnd, stderrEnd
	if err := p.launcher.forker.Run(ctx, p.startConfined); err != nil {
		_ = stdout.Close()
		_ = stderr.Close()
		return err
	}
	p.output.read(stdout, stderr)
	return nil
}

// hasEnded kills what is left of the group, after it was noted.
func (p *process) hasEnded(pid int, kill func()) {
	if p.left != nil {
		p.left(pid)
	}
	var r proc.Reader
	if stat, ok := r.Stat(pid); ok { // as long as it was not waited for
		p.confine.since = stat.ID.Start
	}
	kill()
}

// kill ends the process and its group, at once and for certain. A process that
// is being started is killed once it is there.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	if p.attached != nil {
		p.attached.letGo()
	}
	p.signal(syscall.SIGKILL)
}

// signal sends a signal to the group, as long as it is the plugin's.
func (p *process) signal(s syscall.Signal) {
	if group := p.ownGroup(); group != nil {
		group.Signal(s)
	}
}

// ownGroup is the group that the process leads; nil before its start, and of one that is
// attached.
func (p *process) ownGroup() *proc.Group {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.group
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// endedByItself reports whether the process has ended otherwise than by kill.
func (p *process) endedByItself() bool {
	if !p.ended() || p.attached != nil {
		return false
	}
	var outOfMemory *outOfMemoryError
	if errors.As(p.err, &outOfMemory) {
		return true
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL
}

// exitText says how the process ended, in words; only after done.
func (p *process) exitText() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}
