package launch

import (
	"os"
	"time"
)

const (
	// escapeeRounds is how often escapees are looked for, as long as there are
	// any: one that is killed may just have forked.
	escapeeRounds = 4
	// unreadyTime is how long is waited for processes that are just becoming
	// another program (execve(2)): until they are, they show no environment.
	unreadyTime = time.Second
	unreadyWait = 2 * time.Millisecond
)

// killEscapees kills what carries the mark of a start and left its group:
// daemons that the plugin made of itself. One that has also thrown away its
// environment is found by its cgroup only. since is when the plugin was started,
// in the clock of /proc: nothing older can be its child.
func killEscapees(mark string, since uint64) {
	var r procReader
	limit := time.Now().Add(unreadyTime)
	for round := 0; round < escapeeRounds; {
		found, unready := r.killMarked(mark, since)
		switch {
		case found:
			round++
		case unready && time.Now().Before(limit):
			<-time.After(unreadyWait)
		default:
			return
		}
	}
}

// killMarked kills what carries the mark, and reports whether there was any,
// and whether there was a process that cannot be told yet.
func (r *procReader) killMarked(mark string, since uint64) (found, unready bool) {
	for _, pid := range allProcesses() {
		if pid == os.Getpid() {
			continue
		}
		switch got := r.mark(pid); {
		case got == mark:
			found = r.kill(pid, mark) || found
		case got == "" && len(r.read(procPath(pid, "environ"))) == 0:
			stat, there := r.stat(pid)
			unready = unready || there && stat.id.start >= since && stat.pages > 0
		}
	}
	return found, unready
}

// kill kills a process that carries the mark, and reports whether it was
// there. The handle is taken first and the mark compared after: from then on
// it can mean no other process.
func (r *procReader) kill(pid int, mark string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // frees nothing but memory
	if r.mark(pid) != mark {
		return false
	}
	return process.Kill() == nil
}
