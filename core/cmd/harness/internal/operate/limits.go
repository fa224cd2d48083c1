package operate

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/dustin/go-humanize"

	"github.com/seed-706843ae/harness/core/registry"
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
	if want == (Limits{}) {
		row, err := o.Plugins.Plugin(ctx, name)
		if err != nil {
			return err
		}
		o.say("%s: %s", name, registry.LimitsText(row.Limits))
		return nil
	}
	done, err := o.Plugins.SetLimits(ctx, Who, name, want.of)
	if err != nil {
		return err
	}
	return o.applied(ctx, name, fmt.Sprintf("%s: %s", name, registry.LimitsText(done.Plugin.Limits)))
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
		*into = registry.NoLimit
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
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %s of what? It takes a size with its unit: %[2]sMiB, %[2]sKB, or %[2]sB for bytes", flag, text)
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "%s: %q is not accepted; it takes a size such as 64MiB, 0 for no limit, or default", flag, text)
	}
	if *into = int64(size); size == 0 {
		*into = registry.NoLimit
	}
	return nil
}
