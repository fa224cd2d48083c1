package invoker

import (
	"fmt"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// ownerMark is the environment variable that carries the installation's id.
const ownerMark = "HARNESS_OWNER"

// orphanGrace is the time from SIGTERM to SIGKILL of an orphan, in which the CLI saves
// its transcript.
const orphanGrace = 2 * time.Second

// EndOrphans ends the processes that a dead daemon of the same installation left behind:
// those whose environment has HARNESS_OWNER=owner. It spares this process, its ancestors,
// and those for which exclude returns true. It returns how many it ended. It needs /proc;
// elsewhere it ends nothing. It must not run while another daemon of the same owner does.
func EndOrphans(owner string, exclude func(pid int) bool, log *slog.Logger) (int, error) {
	if owner == "" {
		return 0, fmt.Errorf("end orphans: the owner is empty; want the installation's id")
	}
	above := ancestors(os.Getpid())
	spare := func(pid int) bool {
		return above[pid] || (exclude != nil && exclude(pid))
	}
	n := endAll(func() []proc.ID { return proc.Marked(ownerMark, owner) }, spare, orphanGrace)
	if n > 0 && log != nil {
		log.Warn("ended processes that an earlier daemon left behind", "processes", n)
	}
	return n, nil
}

// endAll ends the processes that find returns: SIGTERM, a wait of at most grace, SIGKILL.
// It calls find again before SIGKILL, for processes that they started meanwhile. It
// returns how many it signalled. exclude, when not nil, spares a process.
func endAll(find func() []proc.ID, exclude func(pid int) bool, grace time.Duration) int {
	ended := map[proc.ID]bool{}
	round := func(signal os.Signal) (alive []proc.ID) {
		for _, id := range find() {
			if id.PID == os.Getpid() || (exclude != nil && exclude(id.PID)) {
				continue
			}
			if id.Signal(signal) {
				ended[id] = true
				alive = append(alive, id)
			}
		}
		return alive
	}
	if alive := round(syscall.SIGTERM); len(alive) > 0 {
		waitGone(alive, grace)
		// Twice, since a killed process may just have started another.
		for range 2 {
			if alive = round(os.Kill); len(alive) == 0 {
				break
			}
			waitGone(alive, killTime)
		}
	}
	return len(ended)
}

// waitGone waits until none of the processes is alive, at most until limit. They are not
// our children, so it has to poll.
func waitGone(ids []proc.ID, limit time.Duration) {
	deadline := time.Now().Add(limit)
	for _, id := range ids {
		for id.Alive() && time.Now().Before(deadline) {
			<-time.After(5 * time.Millisecond)
		}
	}
}

// families are the processes of the system, by the id of their parent.
type families map[int][]proc.Stat

func readFamilies() families {
	var r proc.Reader
	children := families{}
	for _, pid := range proc.All() {
		if stat, ok := r.Stat(pid); ok {
			children[stat.Parent] = append(children[stat.Parent], stat)
		}
	}
	return children
}

// below returns the descendants of pid, as far as their parents live.
func (f families) below(pid int) []proc.Stat {
	var found []proc.Stat
	queue := []int{pid}
	for len(queue) > 0 {
		for _, child := range f[queue[0]] {
			found = append(found, child)
			queue = append(queue, child.ID.PID)
		}
		queue = queue[1:]
	}
	return found
}

// ancestors returns the ids of the processes above pid.
func ancestors(pid int) map[int]bool {
	var r proc.Reader
	above := map[int]bool{}
	for {
		stat, ok := r.Stat(pid)
		if !ok || stat.Parent == 0 || above[stat.Parent] {
			return above
		}
		above[stat.Parent] = true
		pid = stat.Parent
	}
}
