//go:build unix && !linux

package launch

import "syscall"

// groupAttr gives a child its own process group. There is no parent-death
// signal here: the plugin's side of the SDK watches its host.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// awaitEnd waits for the process and kills what is left of its group.
func (p *process) awaitEnd() {
	err := p.cmd.Wait()
	if p.left != nil {
		p.left(p.cmd.Process.Pid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.err, p.reaped = err, true
}
