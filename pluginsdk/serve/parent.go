package serve

import (
	"errors"
	"log/slog"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk/internal/wire"
)

// parentInterval is how often a plugin looks whether its host is still there, where the system
// does not tell it.
const parentInterval = 5 * time.Second

// watchHost ends the process when its parent has changed or the host is gone
// (the parent is not the host when a script starts the plugin). The launcher
// also sets a parent-death signal, but only on Linux, and only for its child.
func watchHost(log *slog.Logger) {
	parent := os.Getppid()
	host, err := strconv.Atoi(os.Getenv(wire.HostPIDKey))
	if err != nil {
		host = parent
	}
	awaitHost(parent, host)
	log.Warn("the host is gone, ending")
	os.Exit(1)
}

// awaitHost waits until the parent has changed, or the host has ended. A host that nobody has waited for
// yet has ended, although it still has its number.
func awaitHost(parent, host int) {
	there := func() bool { return os.Getppid() == parent && alive(host) }
	for there() && !awaitEnd(there, parent, host) {
		<-time.After(parentInterval)
	}
}

func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
