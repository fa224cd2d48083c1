package launch

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr gives a child its own process group, and death with its parent.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitEnd waits for the process and kills what is left of its group. That is
// done before the leader is reaped: until then the group's number cannot have
// become another's.
func (p *process) awaitEnd() {
	pid := p.cmd.Process.Pid
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if p.left != nil {
		p.left(pid)
	}
	var r procReader
	if stat, ok := r.stat(pid); ok { // as long as it is not reaped
		p.confine.since = stat.id.start
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	p.err = p.cmd.Wait()
	p.reaped = true
}
