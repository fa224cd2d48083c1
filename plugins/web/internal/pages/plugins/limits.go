package plugins

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/plugins/web/internal/ui"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const mebi = 1 << 20

// limitKinds are the limits of a plugin, in the units in which people write them.
var limitKinds = []struct {
	name, label, hint string
	unit              float64
	of                func(pluginsdk.PluginLimits) int64
}{
	{"memoryBytes", "Memory, in MiB", "Of all its processes together. One that has more is ended.", mebi, func(l pluginsdk.PluginLimits) int64 { return l.MemoryBytes }},
	{"cpuPercent", "Processor, in percent of one core", "", 1, func(l pluginsdk.PluginLimits) int64 { return int64(l.CPUPercent) }},
	{"processes", "Processes", "", 1, func(l pluginsdk.PluginLimits) int64 { return int64(l.Processes) }},
	{"openFiles", "Open files of each process", "", 1, func(l pluginsdk.PluginLimits) int64 { return int64(l.OpenFiles) }},
	{"callsPerMinute", "What it may ask of Harness, in calls a minute", "What is more is refused until the minute is over.", 1, func(l pluginsdk.PluginLimits) int64 { return int64(l.CallsPerMinute) }},
	{"rowsPerMinute", "What it may store, in rows a minute", "", 1, func(l pluginsdk.PluginLimits) int64 { return int64(l.RowsPerMinute) }},
	{"bytesPerMinute", "What it may store, in MiB a minute", "", mebi, func(l pluginsdk.PluginLimits) int64 { return l.BytesPerMinute }},
	{"storedBytes", "What it may store in all, in MiB", "", mebi, func(l pluginsdk.PluginLimits) int64 { return l.StoredBytes }},
}

// limitFields are the fields of the form, as the limits are now.
func limitFields(limits pluginsdk.PluginLimits) []ui.Input {
	fields := make([]ui.Input, len(limitKinds))
	for n, kind := range limitKinds {
		fields[n] = ui.Input{Name: kind.name, Label: kind.label, Hint: kind.hint, Value: limitText(kind.of(limits), kind.unit), Placeholder: "the default"}
	}
	return fields
}

// limitText is a limit as people write it.
func limitText(value int64, unit float64) string {
	switch {
	case value == 0:
		return ""
	case value < 0:
		return "none"
	}
	return strconv.FormatFloat(float64(value)/unit, 'f', -1, 64)
}

// limitOf reads what limitText has written.
func limitOf(text string, unit float64) (value int64, wrong string) {
	switch text = strings.ToLower(strings.TrimSpace(text)); text {
	case "":
		return 0, ""
	case "none":
		return -1, ""
	}
	number, err := strconv.ParseFloat(text, 64)
	scaled := math.Round(number * unit)
	if err != nil || number <= 0 || math.IsNaN(number) || scaled < 1 || scaled > 1<<52 {
		return 0, "This is no number above 0. Leave it empty for the default, or write none for no limit."
	}
	return int64(scaled), ""
}

func (p pages) limits(r *http.Request) (site.Done, error) {
	page, err := p.read(r)
	if err != nil {
		return site.Done{}, err
	}
	fields, bad, change := limitFields(page.plugin.Limits), false, map[string]int64{}
	for n, kind := range limitKinds {
		fields[n].Value = r.PostForm.Get(kind.name)
		value, wrong := limitOf(fields[n].Value, kind.unit)
		fields[n].Wrong, bad = wrong, bad || wrong != ""
		if was := kind.of(page.plugin.Limits); value != was && (value > 0 || max(value, -1) != max(was, -1)) {
			change[kind.name] = value
		}
	}
	page.tab = "limits"
	if !bad && len(change) > 0 {
		err = p.Ask(r.Context(), http.MethodPatch, "/api"+path(page.plugin.Name, "limits"), nil, change, nil)
	}
	if bad || err != nil {
		if err != nil {
			page.wrong = err.Error()
		}
		page.body = limitsTab(page, fields)
		return site.Done{}, &site.Again{View: page.view()}
	}
	if len(change) == 0 {
		return site.Done{To: tab(page.plugin.Name, "limits"), Said: "Nothing has changed."}, nil
	}
	return site.Done{To: followed(page.plugin.Name, "limits"), Said: "The limits of " + page.plugin.Name + " are set."}, nil
}
