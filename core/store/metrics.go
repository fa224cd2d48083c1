package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-706843ae/harness/ent"
	"github.com/seed-706843ae/harness/ent/metric"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// RecordMetrics stores values, all or none. Those without a time get now. It
// does not wait for the disk. Times outside of the years 1970 to 9999 are
// CodeInvalid.
func (s *Store) RecordMetrics(ctx context.Context, metrics []pluginsdk.Metric) error {
	if len(metrics) == 0 {
		return nil
	}
	metrics = slices.Clone(metrics)
	for i := range metrics {
		if metrics[i].Name == "" {
			return pluginsdk.Errorf(pluginsdk.CodeInvalid, "name: a metric needs one")
		}
		if err := checkTimes(moment{fmt.Sprintf("metrics[%d].createdAt", i), metrics[i].CreatedAt}); err != nil {
			return err
		}
		if metrics[i].CreatedAt.IsZero() {
			metrics[i].CreatedAt = s.now()
		}
	}
	err := s.write.do(ctx, relaxed, func(ctx context.Context, tx *tx) error {
		for chunk := range slices.Chunk(metrics, 100) {
			creates := make([]*ent.MetricCreate, 0, len(chunk))
			for _, m := range chunk {
				creates = append(creates, insertMetric(tx.Metric, m))
			}
			if err := tx.Metric.CreateBulk(creates...).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return wrap("record metrics", err)
}

// QueryMetrics returns the selected values in the order in which they were
// recorded. Until is exclusive. A time that makes no sense is left out.
func (s *Store) QueryMetrics(ctx context.Context, q pluginsdk.MetricQuery) ([]pluginsdk.Metric, error) {
	if err := checkTimes(moment{"since", q.Since}, moment{"until", q.Until}); err != nil {
		return nil, err
	}
	query := s.read.Metric.Query().Order(metric.ByID()).Limit(page(q.Limit))
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
