package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// startConfined starts the process in its cgroup and with its rlimits. When it
// fails, nothing is left. It runs on the launcher's thread.
func (p *process) startConfined() error {
	if p.confine.cgroups != nil {
		leaf, err := p.confine.cgroups.newLeaf(p.confine.label, p.confine.limits)
		if err != nil {
			return err
		}
		p.confine.leaf = leaf
	}
	err := p.startInLeaf()
	if err == nil {
		if err = setRlimits(p.cmd.Process.Pid, p.confine.limits); err != nil {
			p.abort()
		}
	}
	if err != nil && p.confine.leaf != nil {
		err = errors.Join(err, p.confine.leaf.remove())
	}
	return err
}

// startInLeaf starts the process as a member of its cgroup from the first
// instruction. Where the system does not allow that (clone3(2) is missing, or
// forbidden by a container's filter), the process is moved in right after its
// start.
func (p *process) startInLeaf() error {
	if p.confine.leaf == nil {
		return proc.Start(p.cmd)
	}
	dir, err := os.Open(p.confine.leaf.dir)
	if err != nil {
		return fmt.Errorf("open the plugin's cgroup: %w", err)
	}
	defer func() { _ = dir.Close() }()
	second := &exec.Cmd{
		Path: p.cmd.Path, Args: p.cmd.Args, Dir: p.cmd.Dir, Env: p.cmd.Env,
		Stdout: p.cmd.Stdout, Stderr: p.cmd.Stderr, SysProcAttr: groupAttr(),
	}
	startInto(p.cmd.SysProcAttr, dir)
	if proc.Start(p.cmd) == nil {
		return nil
	}
	p.cmd = second
	if err := proc.Start(p.cmd); err != nil {
		return err
	}
	if err := p.confine.leaf.add(p.cmd.Process.Pid); err != nil {
		p.abort()
		return err
	}
	return nil
}

// abort ends a process that has just been started and that nobody knows of.
func (p *process) abort() {
	_ = p.cmd.Process.Kill()
	_ = proc.Wait(p.cmd)
}

// sweep kills what the process has left behind outside of its group, and says
// so when its memory limit was the reason of its end. It is called when the
// process has ended.
func (p *process) sweep() {
	if leaf := p.confine.leaf; leaf != nil {
		if leaf.outOfMemory() {
			p.err = &outOfMemoryError{limit: p.confine.limits.MemoryBytes, cause: p.err}
		}
		if err := leaf.remove(); err != nil {
			p.output.log.Warn("a cgroup is left behind", "err", err)
		}
	}
	if p.confine.mark != "" {
		killEscapees(p.confine.mark, p.confine.since)
	}
}

// outOfMemoryError explains the end of a process by its memory limit.
type outOfMemoryError struct {
	limit int64
	cause error // how the process ended; may be nil
}

// Error names the limit.
func (e *outOfMemoryError) Error() string {
	text := "was killed by the memory limit of " + byteText(e.limit)
	if e.cause != nil {
		text += " (" + e.cause.Error() + ")"
	}
	return text
}

// Unwrap returns what the process ended with.
func (e *outOfMemoryError) Unwrap() error { return e.cause }
