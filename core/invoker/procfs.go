package invoker

import (
	"os"
	"time"
)

// procID names a process for good: numbers are given out again, but not with
// the same start time.
type procID struct {
	pid   int
	start string
}

// endAll ends the processes that find finds: SIGTERM, a wait of at most grace,
// SIGKILL. find is called again at the end, for what they started meanwhile.
// It returns how many it signalled. exclude, when not nil, spares a process.
func endAll(find func() []procID, exclude func(pid int) bool, grace time.Duration) int {
	ended := map[procID]bool{}
	round := func(signal os.Signal) (alive []procID) {
		for _, id := range find() {
			if id.pid == os.Getpid() || (exclude != nil && exclude(id.pid)) {
				continue
			}
			if signalProcess(id, signal) {
				ended[id] = true
				alive = append(alive, id)
			}
		}
		return alive
	}
	if alive := round(terminateSignal); len(alive) > 0 {
		waitGone(alive, grace)
		// Twice, since what is killed may just have started something.
		for range 2 {
			if alive = round(os.Kill); len(alive) == 0 {
				break
			}
			waitGone(alive, killTime)
		}
	}
	return len(ended)
}

// signalProcess signals the process and reports whether it was there.
func signalProcess(id procID, signal os.Signal) bool {
	// The handle is taken first and the start time compared after: from then
	// on it can mean no other process.
	process, err := os.FindProcess(id.pid)
	if err != nil {
		return false
	}
	defer process.Release() //nolint:errcheck // frees nothing but memory
	if !alive(id) {
		return false
	}
	return process.Signal(signal) == nil
}

// waitGone waits until none of the processes is alive, but not past limit.
// They are not our children, so there is nothing to wait on but a look.
func waitGone(ids []procID, limit time.Duration) {
	deadline := time.Now().Add(limit)
	for _, id := range ids {
		for alive(id) && time.Now().Before(deadline) {
			<-time.After(5 * time.Millisecond)
		}
	}
}
