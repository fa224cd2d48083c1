package daemon

import (
	"maps"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// pluginsOwn returns the figures that plugins tell of themselves, but for those whose names are taken: by the daemon, or by
// a plugin before it by name. harness_plugin_ is what the dashboard's plugin calls what it tells of plugins.
func (f *figures) pluginsOwn(others []pluginsdk.Figure) (own []pluginsdk.Figure) {
	if f.plugins == nil {
		return nil
	}
	taken := make(map[string]bool)
	for _, figure := range others {
		taken[figure.Name] = true
	}
	told := f.plugins()
	for _, plugin := range slices.Sorted(maps.Keys(told)) {
		for _, figure := range told[plugin] {
			if nameTaken(taken, figure.Name) {
				if !f.refused[figure.Name] {
					f.log.Warn("a figure of a plugin is left out, since its name is taken", "plugin", plugin, "figure", figure.Name)
				}
				f.refused[figure.Name] = true
				continue
			}
			taken[figure.Name] = true
			own = append(own, figure)
		}
	}
	return own
}

// nameTaken reports whether a figure has the name of one that is taken, or that Prometheus gives a part of a histogram.
func nameTaken(taken map[string]bool, name string) bool {
	if strings.HasPrefix(name, "harness_plugin_") || taken[name] {
		return true
	}
	for _, part := range []string{"_bucket", "_count", "_sum"} {
		if of, is := strings.CutSuffix(name, part); is && taken[of] {
			return true
		}
	}
	return false
}
