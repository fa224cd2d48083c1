package wire

import (
	"context"

	"github.com/seed-706843ae/harness/pluginsdk"
	hostv1 "github.com/seed-706843ae/harness/proto/harness/host/v1"
)

// metricServer serves the host's Metrics.
type metricServer struct {
	hostv1.UnimplementedMetricServiceServer
	metrics pluginsdk.Metrics
}

func (s metricServer) RecordMetrics(ctx context.Context, m *hostv1.RecordMetricsRequest) (*hostv1.RecordMetricsResponse, error) {
	return &hostv1.RecordMetricsResponse{}, s.metrics.Record(ctx, listFrom(m.GetMetrics(), metricFrom))
}

func (s metricServer) QueryMetrics(ctx context.Context, m *hostv1.QueryMetricsRequest) (*hostv1.QueryMetricsResponse, error) {
	metrics, err := s.metrics.Query(ctx, metricQueryFrom(m.GetQuery()))
	return &hostv1.QueryMetricsResponse{Metrics: listTo(metrics, metricTo)}, err
}

// metricClient is the host's Metrics as a plugin sees them.
type metricClient struct {
	client hostv1.MetricServiceClient
}

func (c metricClient) Record(ctx context.Context, metrics []pluginsdk.Metric) error {
	_, err := c.client.RecordMetrics(ctx, &hostv1.RecordMetricsRequest{Metrics: listTo(metrics, metricTo)})
	return err
}

func (c metricClient) Query(ctx context.Context, query pluginsdk.MetricQuery) ([]pluginsdk.Metric, error) {
	m, err := c.client.QueryMetrics(ctx, &hostv1.QueryMetricsRequest{Query: metricQueryTo(query)})
	return listFrom(m.GetMetrics(), metricFrom), err
}
