package operate

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Limits are what an operator says about limits: a number or a size, 0 for no
// limit, "default" for the daemon's, or nothing for what it was.
type Limits struct {
	Memory, CPU, Processes, OpenFiles                     string // of its processes
	CallsPerMinute, RowsPerMinute, BytesPerMinute, Stored string // what it may ask of the core
}

// SetLimits bounds what a plugin's processes may use, and what it may ask of the
// core.
func (o *Operator) SetLimits(ctx context.Context, name string, want Limits) error {
	row, err := o.plugin(ctx, name)
	if err != nil {
		return err
	}
	if want == (Limits{}) {
		o.say("%s: %s", name, limitsText(row.Limits))
		return nil
	}
	var limits pluginsdk.PluginLimits
	err = o.edit(ctx, name, "plugin.limits", func(row *ledger.Plugin) (_ string, err error) {
		limits, err = want.of(row.Limits)
		row.Limits = limits
		return limitsText(limits), err
	})
	if err != nil {
		return err
	}
	o.say("%s: %s; %s.", name, limitsText(limits), o.when())
	return nil
}

// of returns limits with what the operator said changed.
func (want Limits) of(limits pluginsdk.PluginLimits) (pluginsdk.PluginLimits, error) {
	for _, one := range []struct {
		into       *int
		flag, text string
	}{
		{&limits.CPUPercent, "--cpu", want.CPU}, {&limits.Processes, "--processes", want.Processes}, {&limits.OpenFiles, "--open-files", want.OpenFiles},
		{&limits.CallsPerMinute, "--calls-per-minute", want.CallsPerMinute}, {&limits.RowsPerMinute, "--rows-per-minute", want.RowsPerMinute},
	} {
		if err := readLimit(one.into, one.flag, one.text); err != nil {
			return limits, err
		}
	}
	for _, one := range []struct {
		into       *int64
		flag, text string
	}{
		{&limits.MemoryBytes, "--memory", want.Memory}, {&limits.BytesPerMinute, "--bytes-per-minute", want.BytesPerMinute},
		{&limits.StoredBytes, "--stored", want.Stored},
	} {
		if err := readSize(one.into, one.flag, one.text); err != nil {
			return limits, err
		}
	}
	return limits, nil
}

// noLimit is how a row says that there is no limit; 0 in it is the default.
const noLimit = -1

func readLimit(into *int, flag, text string) error {
	switch text {
	case "":
		return nil
	case "default":
		*into = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1_000_000 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not accepted; it takes a number, 0 for no limit, or default", flag, text)
	}
	if *into = n; n == 0 {
		*into = noLimit
	}
	return nil
}

func readSize(into *int64, flag, text string) error {
	switch text {
	case "":
		return nil
	case "default":
		*into = 0
		return nil
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not accepted; it takes a size such as 64MiB, 0 for no limit, or default", flag, text)
	}
	if *into = int64(size); size == 0 {
		*into = noLimit
	}
	return nil
}

// limitsText shows all limits as an operator reads them.
func limitsText(limits pluginsdk.PluginLimits) string {
	return processLimitsText(limits) + "; " + quotasText(limits)
}

func processLimitsText(limits pluginsdk.PluginLimits) string {
	return fmt.Sprintf("memory %s, CPU %s, processes %s, open files %s", sizeText(limits.MemoryBytes),
		numberText(limits.CPUPercent, " % of a core"), numberText(limits.Processes, ""), numberText(limits.OpenFiles, ""))
}

func quotasText(limits pluginsdk.PluginLimits) string {
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
