package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
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
	for _, data := range dataOf(config) {
		config.Data = data
		if err := checkBeside(config); err != nil {
			return err
		}
	}
	return nil
}

// dataOf returns the data directory, and those that its files really are in: a directory of
// links to an installation's files is that installation.
func dataOf(config Config) []string {
	all := []string{config.Data}
	for _, name := range []string{"harness.db", ConfigFile, "secrets.key", "installation-id"} {
		if real, err := filepath.EvalSymlinks(filepath.Join(config.Data, name)); err == nil && !slices.Contains(all, filepath.Dir(real)) {
			all = append(all, filepath.Dir(real))
		}
	}
	return all
}

// checkBeside refuses whoever runs below the daemon of a data directory, and whoever does not
// see its process, as in a namespace of their own: they cannot be told apart.
func checkBeside(config Config) error {
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
		if _, err := os.Stat("/proc/self/stat"); err != nil || !Running(config) {
			return nil //nolint:nilerr // processes are not seen here at all, or the daemon has just ended
		}
		return pluginsdk.Errorf(pluginsdk.CodeDenied, "the daemon (pid %d) is not seen from here, so that nobody knows whether the agent has started this command; "+
			"run it where the daemon runs: in its container, or outside of this namespace", pid)
	}
	var r proc.Reader
	if below, _ := r.Below(os.Getpid(), held); !below {
		return nil
	}
	return pluginsdk.Errorf(pluginsdk.CodeDenied, "the agent, a check or a plugin of this installation has started this command "+
		"(it runs below the daemon, pid %d); what acts on the installation is for people: run it in a terminal of your own", pid)
}
