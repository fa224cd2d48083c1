package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch/proc"
)

// leftoverTime is how long the daemon waits at its end for the ends of detached processes.
const leftoverTime = 2 * time.Second

// Adopt makes this process the parent of what the agent, checks and plugins detach from
// themselves, so that it can be told from what a person has started. release is called when
// the daemon has ended: it ends what is left of these processes.
func Adopt(log *slog.Logger) (release func(), err error) {
	stop, err := proc.Adopt()
	if err != nil {
		return nil, err
	}
	return func() {
		if ended := proc.EndAdopted(leftoverTime); ended > 0 {
			log.Warn("ended detached processes that the agent, a check or a plugin had left running", "processes", ended)
		}
		stop()
	}, nil
}

// CheckPerson refuses a command that the agent, a check or a plugin of the installation has
// started, however detached it is: what acts on the installation is for people. The daemon
// must run; who has started the processes of one that has ended cannot be found out.
func CheckPerson(config Config) error {
	if !Running(config) {
		return nil
	}
	file, err := os.Open(filepath.Join(config.Data, "harness.lock"))
	if err != nil {
		return nil //nolint:nilerr // the daemon has just ended
	}
	defer file.Close() // it was only read
	var pid int
	if _, err := fmt.Fscanf(io.LimitReader(file, 100), "pid %d", &pid); err != nil {
		return nil //nolint:nilerr // the daemon is just starting
	}
	held, ok := proc.Of(pid)
	if !ok {
		return nil
	}
	var r proc.Reader
	if below, _ := r.Below(os.Getpid(), held); !below {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the agent, a check or a plugin of this installation has started this command "+
		"(it runs below the daemon, pid %d); what acts on the installation is for people: run it in a terminal of your own", pid)
}
