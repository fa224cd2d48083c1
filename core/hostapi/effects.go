package hostapi

import (
	"context"
	"fmt"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxEffectRows is how many rows and metrics one hook's effects may have.
const maxEffectRows = 25_000

// AdmitEffects returns what of a hook's effects may be stored with its run, and how many
// bytes they are: the plugin has been granted what they need, each row is one that
// a hook may write, and all of them fit into its quotas and into room, in bytes.
// What is left out is counted against the plugin; it is no error of the run.
func (a *API) AdmitEffects(ctx context.Context, plugin string, effects *pluginsdk.Effects, room int) (admitted ledger.Effect, size int) {
	all := len(effects.Rows) + len(effects.Metrics)
	switch {
	case effects.Key == "":
		a.Grants.Charge(plugin, all, "effects need a key")
		return ledger.Effect{}, 0
	case checkKey(effects.Key) != nil:
		a.Grants.Charge(plugin, all, "effects: "+checkKey(effects.Key).Error())
		return ledger.Effect{}, 0
	case all > maxEffectRows:
		a.Grants.Charge(plugin, all, fmt.Sprintf("effects: at most %d rows and metrics at once, these are %d", maxEffectRows, all))
		return ledger.Effect{}, 0
	}
	admitted = ledger.Effect{Plugin: plugin, Key: effects.Key}
	size += a.admitRows(plugin, effects.Rows, room, &admitted)
	size += a.admitMetrics(plugin, effects.Metrics, room-size, &admitted)
	kept := len(admitted.Rows) + len(admitted.Metrics)
	if kept == 0 {
		return ledger.Effect{}, 0
	}
	if err := a.Quotas.Effects(ctx, plugin, kept, int64(size)); err != nil {
		a.Grants.Charge(plugin, kept, "effects: "+err.Error())
		return ledger.Effect{}, 0
	}
	return admitted, size
}

// admitRows adds the rows that may be stored, and returns their bytes.
func (a *API) admitRows(plugin string, rows []pluginsdk.NewMessage, room int, to *ledger.Effect) (size int) {
	if len(rows) > 0 && !a.Grants.Granted(plugin, pluginsdk.CapMessagesWrite) {
		a.Grants.Charge(plugin, len(rows), "rows of effects: "+lacks(plugin, pluginsdk.CapMessagesWrite).Error())
		return 0
	}
	for n, row := range rows {
		bytes := int(sizeOfRow(row))
		err := row.CheckEffectOf(plugin)
		if err == nil {
			err = checkSides(row)
		}
		switch {
		case err != nil:
		case bytes > maxRowsBytes:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "at most %d bytes, this has %d", maxRowsBytes, bytes)
		case size+bytes > room:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "the run has no room for %d bytes more", bytes)
		}
		if err != nil {
			a.Grants.Charge(plugin, 1, fmt.Sprintf("row %d of effects: %s", n, err))
			continue
		}
		to.Rows = append(to.Rows, row)
		size += bytes
	}
	return size
}

func (a *API) admitMetrics(plugin string, metrics []pluginsdk.NewMetric, room int, to *ledger.Effect) (size int) {
	if len(metrics) > 0 && !a.Grants.Granted(plugin, pluginsdk.CapMetricsWrite) {
		a.Grants.Charge(plugin, len(metrics), "metrics of effects: "+lacks(plugin, pluginsdk.CapMetricsWrite).Error())
		return 0
	}
	for n, metric := range metrics {
		bytes := int(sizeOfMetric(metric))
		err := checkTime("at", metric.At)
		switch {
		case err != nil:
		case metric.Name == "":
			err = pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a metric needs one")
		case size+bytes > room:
			err = pluginsdk.Errorf(pluginsdk.CodeExhausted, "the run has no room for %d bytes more", bytes)
		}
		if err != nil {
			a.Grants.Charge(plugin, 1, fmt.Sprintf("metric %d of effects: %s", n, err))
			continue
		}
		to.Metrics = append(to.Metrics, metric)
		size += bytes
	}
	return size
}
