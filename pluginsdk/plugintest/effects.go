package plugintest

import (
	"errors"
	"slices"
	"strconv"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Applied is what became of Effects.
type Applied struct {
	Rows    []pluginsdk.Message
	Metrics []pluginsdk.Metric
	// Known says that effects of this key were stored in the run before: nothing is
	// stored again.
	Known bool
	// Dropped says of what was left out, why.
	Dropped []string
}

// Apply stores what a hook of a run returned, as the core does in the run's next
// commit: the rows in the run's thread, under the keys RUN/PLUGIN/KEY,
// RUN/PLUGIN#1/KEY, ... of which known ones store nothing, and the metrics.
func (h *Host) Apply(manifest pluginsdk.Manifest, runID, threadID string, effects *pluginsdk.Effects) (applied Applied) {
	if effects == nil {
		return applied
	}
	drop := func(what, why string) { applied.Dropped = append(applied.Dropped, what+": "+why) }
	h.mu.Lock()
	defer h.mu.Unlock()
	v, owner := view{h: h, manifest: manifest}, runID+"/"+manifest.Name
	if effects.Key == "" {
		drop("all", "the effects have no key")
		return applied
	}
	known := "effects " + numbered(owner, effects.Key, 0)
	if _, applied.Known = h.made[known]; applied.Known {
		return applied
	}
	h.made[known] = made{}
	for i, row := range effects.Rows {
		err := row.CheckEffectOf(manifest.Name)
		if err == nil {
			err = row.CheckActions(v.declares)
		}
		if !v.has(pluginsdk.CapMessagesWrite) {
			err = errors.New("it needs messages.write")
		}
		if err != nil {
			drop("row "+strconv.Itoa(i), err.Error())
			continue
		}
		message := v.row(threadID, row)
		message.RunID, message.Key = runID, numbered(owner, effects.Key, len(applied.Rows))
		applied.Rows = append(applied.Rows, h.addMessage(message))
	}
	before, unnamed := len(h.metrics), 0
	for i, metric := range effects.Metrics {
		if !v.has(pluginsdk.CapMetricsWrite) {
			drop("metric "+strconv.Itoa(i), "it needs metrics.write")
			continue
		}
		if metric.Key == "" {
			metric.Key = numbered(runID, effects.Key, unnamed)
			unnamed++
		}
		v.record(metric)
	}
	applied.Metrics = slices.Clone(h.metrics[before:])
	return applied
}

// numbered is the key of the one with the index i of those that share a key of an
// owner. The number is not behind the key, which may be anything, KEY#1 too.
func numbered(owner, key string, i int) string {
	if i > 0 {
		owner += "#" + strconv.Itoa(i)
	}
	return owner + "/" + key
}
