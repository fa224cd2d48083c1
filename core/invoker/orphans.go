package invoker

import (
	"fmt"
	"log/slog"
	"os"
	"time"
)

// ownerMark is the environment variable that carries the installation's id.
const ownerMark = "HARNESS_OWNER"

// orphanGrace is how long an orphan gets from SIGTERM to SIGKILL: the CLI saves
// its transcript in it.
const orphanGrace = 2 * time.Second

// EndOrphans ends the processes that a dead daemon of the same installation
// left behind: those whose environment has HARNESS_OWNER=owner. It spares this
// process, the ones it descends from, and those exclude returns true for, and
// returns how many it ended. It works through /proc, and so on Linux only;
// elsewhere it ends nothing. It must run while no other daemon of the same
// owner does.
func EndOrphans(owner string, exclude func(pid int) bool, log *slog.Logger) (int, error) {
	if owner == "" {
		return 0, fmt.Errorf("end orphans: the owner is empty; want the installation's id")
	}
	above := ancestors(os.Getpid())
	spare := func(pid int) bool {
		return above[pid] || (exclude != nil && exclude(pid))
	}
	n := endAll(func() []procID { return marked(ownerMark + "=" + owner) }, spare, orphanGrace)
	if n > 0 && log != nil {
		log.Warn("ended processes that an earlier daemon left behind", "processes", n)
	}
	return n, nil
}
