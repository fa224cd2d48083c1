package plugintest

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type metrics struct{ h *Host }

func (s metrics) Record(ctx context.Context, values []pluginsdk.Metric) error {
	leave, err := s.h.enter(ctx, "Metrics.Record")
	if err != nil {
		return err
	}
	defer leave()
	for _, metric := range values {
		metric.ID = s.h.next()
		if metric.CreatedAt.IsZero() {
			metric.CreatedAt = now()
		}
		s.h.metrics = append(s.h.metrics, metric)
	}
	return nil
}

func (s metrics) Query(ctx context.Context, query pluginsdk.MetricQuery) ([]pluginsdk.Metric, error) {
	leave, err := s.h.enter(ctx, "Metrics.Query")
	if err != nil {
		return nil, err
	}
	defer leave()
	return page(filter(s.h.metrics, func(m pluginsdk.Metric) bool {
		return (query.Name == "" || m.Name == query.Name) &&
			(query.ThreadID == "" || m.ThreadID == query.ThreadID) &&
			(query.Since.IsZero() || !m.CreatedAt.Before(query.Since)) &&
			(query.Until.IsZero() || m.CreatedAt.Before(query.Until)) &&
			m.ID > query.After
	}), query.Limit), nil
}
