package launch

import (
	"crypto/rand"
	"fmt"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Limits bound what a plugin may take of the machine. Zero is no limit.
//
// OpenFiles is a limit of each process (setrlimit(2), Linux). The others are
// of the plugin with everything it starts, and need Config.Cgroups; without
// it they are not enforced, and the host has to watch Plugin.Usage. Rlimits
// are no way round that: RLIMIT_AS counts address space, of which the runtimes
// of Go and V8 reserve far more than they use, and RLIMIT_NPROC counts what
// the user runs, not what the plugin does.
//
// On Linux a plugin never writes a core file, whatever its limits: it would
// have its secrets in it.
type Limits struct {
	// MemoryBytes: a plugin that needs more is killed. It gets no swap.
	MemoryBytes int64
	// CPUPercent of one processor; 200 is two.
	CPUPercent int
	// Processes counts threads too, as the kernel does: the runtimes of Go and
	// Node.js alone take about a dozen.
	Processes int
	// OpenFiles that each process may hold.
	OpenFiles int
}

func (l Limits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"MemoryBytes", l.MemoryBytes}, {"CPUPercent", int64(l.CPUPercent)},
		{"Processes", int64(l.Processes)}, {"OpenFiles", int64(l.OpenFiles)},
	} {
		if limit.value < 0 {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "Limits.%s is %d; want 0 for no limit, or more", limit.name, limit.value)
		}
	}
	return nil
}

// startMark is the environment variable by which the processes of one start of
// a plugin are known, wherever they went.
const startMark = "HARNESS_PLUGIN_START"

// confinement is what keeps a process within its limits and its descendants
// within reach.
type confinement struct {
	label   string
	limits  Limits
	cgroups *Cgroups // may be nil
	leaf    *leaf    // the process's own cgroup; nil without cgroups
	mark    string   // NAME=value, in the environment of this start only
	since   uint64   // when the process was started, in the clock of /proc
}

func newConfinement(cfg Config) confinement {
	return confinement{label: cfg.label(), limits: cfg.Limits, cgroups: cfg.Cgroups, mark: startMark + "=" + rand.Text()}
}

// byteText is a number of bytes as a person would say it.
func byteText(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1e9, "GB"}, {1 << 20, "MiB"}, {1e6, "MB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	if n >= 1<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
