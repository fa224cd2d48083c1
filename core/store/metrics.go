package store

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/metric"
	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// metricsMax is how many values one call records at most, and metricBytes how
	// long the words of one may be together.
	metricsMax  = 1000
	metricBytes = 64 << 10
)

// RecordMetrics stores what a plugin (empty: the core) has measured, all or none;
// a value whose key is known is there already. Those without a time get now. It
// does not wait for the disk. Times outside of the years 1970 to 9999 are
// CodeInvalid.
func (s *Store) RecordMetrics(ctx context.Context, plugin string, metrics []pluginsdk.NewMetric) error {
	if len(metrics) > metricsMax {
		return pluginsdk.Errorf(pluginsdk.CodeInvalid, "metrics: %d at once; at most %d are allowed", len(metrics), metricsMax)
	}
	values := make([]pluginsdk.Metric, 0, len(metrics))
	for i, m := range metrics {
		value, err := s.newMetric(plugin, i, m)
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil
	}
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		sizes := make(storedBytes)
		if err := tx.insertMetrics(ctx, values, sizes); err != nil {
			return err
		}
		return tx.countStored(ctx, sizes)
	})
	return wrap("record metrics", err)
}

// newMetric checks value i of those that came together, and says when it was
// measured if nobody did.
func (s *Store) newMetric(plugin string, i int, n pluginsdk.NewMetric) (pluginsdk.Metric, error) {
	if n.Name == "" {
		return pluginsdk.Metric{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metrics[%d].name: a metric needs one", i)
	}
	if math.IsNaN(n.Value) || math.IsInf(n.Value, 0) {
		return pluginsdk.Metric{}, pluginsdk.Errorf(pluginsdk.CodeInvalid, "metrics[%d].value: %v cannot be stored", i, n.Value)
	}
	if n.At.IsZero() {
		n.At = s.now()
	} else if err := checkTimes(moment{fmt.Sprintf("metrics[%d].at", i), n.At}); err != nil {
		return pluginsdk.Metric{}, err
	}
	size := len(n.Key) + len(n.Name) + len(n.ThreadID)
	for tag, value := range n.Tags {
		size += len(tag) + len(value)
	}
	if size > metricBytes {
		return pluginsdk.Metric{}, pluginsdk.Errorf(pluginsdk.CodeInvalid,
			"metrics[%d]: its name, key, tags and threadId have %d bytes together; at most %d are allowed", i, size, metricBytes)
	}
	return pluginsdk.Metric{
		Plugin: plugin, Key: n.Key, Name: n.Name, Value: n.Value, Tags: n.Tags, ThreadID: n.ThreadID, CreatedAt: n.At,
	}, nil
}

// insertMetrics stores values in their order, but for those whose keys are known,
// and notes in sizes what they count for.
func (t *tx) insertMetrics(ctx context.Context, metrics []pluginsdk.Metric, sizes storedBytes) error {
	for chunk := range slices.Chunk(metrics, insertChunk) {
		var args []any
		for _, m := range chunk {
			values, err := metricValues(m)
			if err != nil {
				return err
			}
			args = append(args, values...)
		}
		rows, err := t.exec.QueryContext(ctx, insertStatement("metrics", metricColumns, len(chunk))+
			" ON CONFLICT (plugin, key) DO NOTHING RETURNING plugin, "+metricSize, args...)
		if err != nil {
			return err
		}
		if _, err := sizes.note(rows, 1); err != nil {
			return err
		}
	}
	return nil
}

// QueryMetrics returns the selected values in the order in which they were
// recorded. Until is exclusive. A time that makes no sense is left out.
func (s *Store) QueryMetrics(ctx context.Context, q pluginsdk.MetricQuery) ([]pluginsdk.Metric, error) {
	if err := checkTimes(moment{"since", q.Since}, moment{"until", q.Until}); err != nil {
		return nil, err
	}
	query := s.read.Metric.Query().Order(metric.ByID()).Limit(page(q.Limit))
	if q.Plugin != "" {
		query.Where(metric.Plugin(q.Plugin))
	}
	if q.Name != "" {
		query.Where(metric.Name(q.Name))
	}
	if q.ThreadID != "" {
		query.Where(metric.ThreadID(q.ThreadID))
	}
	if !q.Since.IsZero() {
		query.Where(metric.CreatedAtGTE(instant(q.Since)))
	}
	if !q.Until.IsZero() {
		query.Where(metric.CreatedAtLT(instant(q.Until)))
	}
	if q.After > 0 {
		query.Where(metric.IDGT(q.After))
	}
	rows, err := query.Clone().All(ctx)
	if misread(err) {
		rows, err = s.readMetrics(ctx, query)
	}
	if err != nil {
		return nil, wrap("query metrics", err)
	}
	return all(rows, metricOf), nil
}

// readMetrics reads values whose times may make no sense.
func (s *Store) readMetrics(ctx context.Context, query *ent.MetricQuery) ([]*ent.Metric, error) {
	rows, err := query.Select(without(metric.Columns, metric.FieldCreatedAt)...).All(ctx)
	if err != nil || len(rows) == 0 {
		return rows, err
	}
	times, err := readTimes[int64](ctx, s.query, metric.Table, []string{metric.FieldCreatedAt},
		"id BETWEEN $1 AND $2", rows[0].ID, rows[len(rows)-1].ID)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if at := times[row.ID]; at != nil {
			row.CreatedAt = orZero(at[0])
		}
	}
	return rows, nil
}
