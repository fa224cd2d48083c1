package launch

import (
	"os"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
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
// in the clock of /proc: nothing older can be its child. Where there is no /proc
// it kills nothing.
func killEscapees(mark string, since uint64) {
	limit := time.Now().Add(unreadyTime)
	for round := 0; round < escapeeRounds; {
		found, unready := killMarked(mark, since)
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
func killMarked(mark string, since uint64) (found, unready bool) {
	var r proc.Reader
	for _, pid := range proc.All() {
		stat, ok := r.Stat(pid) // before its mark, so that it is that process which is killed
		if !ok || pid == os.Getpid() {
			continue
		}
		switch got, known := r.Variable(pid, startMark); {
		case got == mark:
			found = stat.ID.Signal(os.Kill) || found
		case !known:
			unready = unready || stat.ID.Start >= since && stat.Virtual > 0
		}
	}
	return found, unready
}
