package proc

import (
	"os/exec"
	"sync"
)

// children are the processes that Start has started and Wait has not waited for.
var children = struct {
	sync.Mutex
	started map[int]struct{}
}{started: make(map[int]struct{})}

// Start starts a command whose process leads a group of its own (Attributes), so that Adopt
// never waits for that process. It is to be waited for by Wait.
func Start(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.started[cmd.Process.Pid] = struct{}{}
	return nil
}

// Wait waits for a command that Start has started.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	children.Lock()
	defer children.Unlock()
	delete(children.started, cmd.Process.Pid)
	return err
}
