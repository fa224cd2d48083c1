package plugintest

import (
	"context"
	"slices"

	"github.com/seed-706843ae/harness/pluginsdk"
)

type metrics struct{ view }

// maxMetrics is how many values one call may record.
const maxMetrics = 1000

// Metrics returns what was recorded and applied, of all plugins.
func (h *Host) Metrics() []pluginsdk.Metric {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.metrics)
}

// AddFigure adds one of the daemon's own figures.
func (h *Host) AddFigure(figure pluginsdk.Figure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.figures = append(h.figures, figure)
}

func (s metrics) Figures(ctx context.Context, _ *pluginsdk.ListFiguresRequest) (*pluginsdk.ListFiguresResponse, error) {
	leave, err := s.h.enter(ctx, "Metrics.Figures")
	if err != nil {
		return nil, err
	}
	defer leave()
	return &pluginsdk.ListFiguresResponse{Figures: slices.Clone(s.h.figures)}, nil
}

func (s metrics) Record(ctx context.Context, request *pluginsdk.RecordMetricsRequest) (*pluginsdk.RecordMetricsResponse, error) {
	leave, err := s.h.enter(ctx, "Metrics.Record")
	if err != nil {
		return nil, err
	}
	defer leave()
	if len(request.Metrics) > maxMetrics {
		return nil, pluginsdk.Errorf(pluginsdk.CodeExhausted, "%d values: at most %d at once", len(request.Metrics), maxMetrics)
	}
	for _, metric := range request.Metrics {
		s.record(metric)
	}
	return &pluginsdk.RecordMetricsResponse{}, nil
}

// record stores a value, unless its key is known among the plugin's.
func (v view) record(metric pluginsdk.NewMetric) {
	if metric.Key != "" && slices.ContainsFunc(v.h.metrics, func(m pluginsdk.Metric) bool {
		return m.Plugin == v.manifest.Name && m.Key == metric.Key
	}) {
		return
	}
	if metric.At.IsZero() {
		metric.At = now()
	}
	v.h.metrics = append(v.h.metrics, pluginsdk.Metric{
		ID: v.h.next(), Plugin: v.manifest.Name, Key: metric.Key, Name: metric.Name, Value: metric.Value,
		Tags: metric.Tags, ThreadID: metric.ThreadID, CreatedAt: metric.At,
	})
}

func (s metrics) Query(ctx context.Context, request *pluginsdk.QueryMetricsRequest) (*pluginsdk.QueryMetricsResponse, error) {
	leave, err := s.h.enter(ctx, "Metrics.Query")
	if err != nil {
		return nil, err
	}
	defer leave()
	query := request.Query
	return &pluginsdk.QueryMetricsResponse{Metrics: page(filter(s.h.metrics, func(m pluginsdk.Metric) bool {
		return (query.Plugin == "" || m.Plugin == query.Plugin) &&
			(query.Name == "" || m.Name == query.Name) &&
			(query.ThreadID == "" || m.ThreadID == query.ThreadID) &&
			(query.Since.IsZero() || !m.CreatedAt.Before(query.Since)) &&
			(query.Until.IsZero() || m.CreatedAt.Before(query.Until)) &&
			m.ID > query.After
	}), query.Limit)}, nil
}
