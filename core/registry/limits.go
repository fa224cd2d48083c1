package registry

import (
	"context"
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// NoLimit is how a row says that there is no limit; 0 in it is the default.
const NoLimit = -1

// SetLimits bounds what a plugin's processes may use, and what it may ask of the
// core, by what change makes of the limits that it has. change may be called more
// than once.
func (r *Registry) SetLimits(ctx context.Context, who, name string, change func(pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error)) (Outcome, error) {
	return r.change(ctx, ledger.PluginChange{Name: name, Who: who, Action: "plugin.limits", Edit: func(row *ledger.Plugin, _ []ledger.Plugin) (_ string, err error) {
		if row.Limits, err = change(row.Limits); err == nil {
			err = checkLimits(row.Limits)
		}
		return LimitsText(row.Limits), err
	}})
}

// leastMemory is less than any plugin's process needs, on which it would be restarted
// for ever.
const leastMemory = 4 << 20

func checkLimits(limits pluginsdk.PluginLimits) error {
	if limits.MemoryBytes > 0 && limits.MemoryBytes < leastMemory {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "memory: in %s no plugin can run; the least is %s",
			sizeText(limits.MemoryBytes), sizeText(leastMemory))
	}
	return nil
}

// LimitsText says all limits in words.
func LimitsText(limits pluginsdk.PluginLimits) string {
	return ProcessLimitsText(limits) + "; " + QuotasText(limits)
}

// ProcessLimitsText says what the plugin's processes may use.
func ProcessLimitsText(limits pluginsdk.PluginLimits) string {
	return fmt.Sprintf("memory %s, CPU %s, processes %s, open files %s", sizeText(limits.MemoryBytes),
		numberText(limits.CPUPercent, " % of a core"), numberText(limits.Processes, ""), numberText(limits.OpenFiles, ""))
}

// QuotasText says what the plugin may ask of the core.
func QuotasText(limits pluginsdk.PluginLimits) string {
	return fmt.Sprintf("calls a minute %s, rows a minute %s, bytes a minute %s, stored %s", numberText(limits.CallsPerMinute, ""),
		numberText(limits.RowsPerMinute, ""), sizeText(limits.BytesPerMinute), sizeText(limits.StoredBytes))
}

func numberText(n int, unit string) string {
	switch {
	case n == 0:
		return "default"
	case n < 0:
		return "no limit"
	}
	return strconv.Itoa(n) + unit
}

// sizeText shows a size in the units in which it was given, as far as can be told.
func sizeText(n int64) string {
	switch {
	case n <= 0:
		return numberText(int(n), "")
	case n%(1<<20) == 0:
		return humanize.IBytes(uint64(n))
	}
	return humanize.Bytes(uint64(n))
}
