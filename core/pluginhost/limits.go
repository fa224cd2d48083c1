package pluginhost

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// DefaultLimits bound the processes of a plugin for which nobody has set others.
func DefaultLimits() pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{MemoryBytes: 1 << 30, Processes: 64, OpenFiles: 1024}
}

// limitsOf fills in what a row leaves to the defaults. A negative value, which
// is no limit, becomes 0.
func limitsOf(row, defaults pluginsdk.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes: limitOf(row.MemoryBytes, defaults.MemoryBytes),
		CPUPercent:  limitOf(row.CPUPercent, defaults.CPUPercent),
		Processes:   limitOf(row.Processes, defaults.Processes),
		OpenFiles:   limitOf(row.OpenFiles, defaults.OpenFiles),
	}
}

// processLimits are those that the plugin's processes are started with; the others
// hold for what it asks of the host, from one call to the next.
func processLimits(limits pluginsdk.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes: limits.MemoryBytes, CPUPercent: limits.CPUPercent, Processes: limits.Processes, OpenFiles: limits.OpenFiles,
	}
}

// Limits returns what holds for a plugin (Quotas); nothing for one that was never
// started.
func (h *Host) Limits(plugin string) pluginsdk.PluginLimits {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return pluginsdk.PluginLimits{}
	}
	return Quotas(*instance.(*Instance).Info())
}

// Quotas returns what an operator has set for a plugin. One that comes with Harness, for
// which none has, may store any amount in all: what activity records is for retention
// to bound, not lost when there is much of it.
func Quotas(info pluginsdk.PluginInfo) pluginsdk.PluginLimits {
	limits := info.Limits
	if limits.StoredBytes == 0 && info.Origin == pluginsdk.OriginDirectory && shipped.Plugins.Place(info.Name) > 0 {
		limits.StoredBytes = -1
	}
	return limits
}

func limitOf[N int | int64](row, standard N) N {
	if row == 0 {
		row = standard
	}
	return min(max(row, 0), largestLimit)
}

// largestLimit leaves room to reckon with a limit; no machine reaches it.
const largestLimit = 1 << 48

// threadsPerProcess turns a limit of processes into one of threads, which are
// what a cgroup counts: room for the runtimes, none for a bomb.
const threadsPerProcess = 32

// exceeded says which limit the plugin's processes are over; empty: none. The
// kernel holds the others, where it can.
func exceeded(usage launch.Usage, limits pluginsdk.PluginLimits) string {
	switch {
	case limits.MemoryBytes > 0 && usage.RSSBytes > limits.MemoryBytes:
		return fmt.Sprintf("it uses %s of memory, its limit is %s",
			humanize.IBytes(uint64(usage.RSSBytes)), humanize.IBytes(uint64(limits.MemoryBytes))) //nolint:gosec // neither is negative
	case limits.Processes > 0 && usage.Processes > limits.Processes:
		return fmt.Sprintf("it has %d processes, its limit is %d", usage.Processes, limits.Processes)
	}
	return ""
}
