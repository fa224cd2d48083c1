package pluginhost

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/shipped"
	"github.com/seed-706843ae/harness/pluginsdk"
	"github.com/seed-706843ae/harness/pluginsdk/launch"
)

// DefaultLimits returns the limits of a plugin's processes where no operator has set
// others.
func DefaultLimits() pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{MemoryBytes: 1 << 30, Processes: 64, OpenFiles: 1024}
}

// limitsOf fills the limits that a row leaves out with the defaults. A negative value
// means no limit, and becomes 0.
func limitsOf(row, defaults pluginsdk.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes: limitOf(row.MemoryBytes, defaults.MemoryBytes),
		CPUPercent:  limitOf(row.CPUPercent, defaults.CPUPercent),
		Processes:   limitOf(row.Processes, defaults.Processes),
		OpenFiles:   limitOf(row.OpenFiles, defaults.OpenFiles),
	}
}

// processLimits returns the limits with which the plugin's processes are started. The
// others bound its calls to the host, and change without a new process.
func processLimits(limits pluginsdk.PluginLimits) pluginsdk.PluginLimits {
	return pluginsdk.PluginLimits{
		MemoryBytes: limits.MemoryBytes, CPUPercent: limits.CPUPercent, Processes: limits.Processes, OpenFiles: limits.OpenFiles,
	}
}

// Limits returns the plugin's limits as Quotas has them; none for one that was not
// enabled since the daemon's start.
func (h *Host) Limits(plugin string) pluginsdk.PluginLimits {
	instance, ok := h.current.Load(plugin)
	if !ok {
		return pluginsdk.PluginLimits{}
	}
	return Quotas(*instance.(*Instance).Info())
}

// Quotas returns the limits that an operator set for a plugin. A shipped plugin without a
// limit of StoredBytes may store any amount: retention bounds what activity records, and
// a limit would lose some of it.
func Quotas(info pluginsdk.PluginInfo) pluginsdk.PluginLimits {
	limits := info.Limits
	if limits.StoredBytes == 0 && comesWithHarness(info) {
		limits.StoredBytes = -1
	}
	return limits
}

// Shipped reports whether a plugin that was enabled since the daemon's start comes with
// Harness.
func (h *Host) Shipped(plugin string) bool {
	instance, ok := h.current.Load(plugin)
	return ok && comesWithHarness(*instance.(*Instance).Info())
}

func comesWithHarness(info pluginsdk.PluginInfo) bool {
	return info.Origin == pluginsdk.OriginDirectory && shipped.Plugins.Place(info.Name) > 0
}

func limitOf[N int | int64](row, standard N) N {
	if row == 0 {
		row = standard
	}
	return min(max(row, 0), largestLimit)
}

// largestLimit keeps sums and products of limits from overflowing; no machine reaches it.
const largestLimit = 1 << 48

// threadsPerProcess turns a limit of processes into one of threads, which are what a
// cgroup counts. It leaves room for the language runtimes, and none for a fork bomb.
const threadsPerProcess = 32

// exceeded says which limit the plugin's processes exceed; empty: none. The kernel
// enforces the other limits, where it can.
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
