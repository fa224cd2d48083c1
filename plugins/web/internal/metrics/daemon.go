package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-706843ae/harness/pluginsdk"
)

var _ prometheus.Collector = daemon{}

// daemon turns the daemon's own figures into metrics. Which there are is the daemon's to
// say: a new one needs no change here.
type daemon struct{ host pluginsdk.Metrics }

// Describe sends nothing: which metrics there are depends on the daemon.
func (daemon) Describe(chan<- *prometheus.Desc) {}

// Collect sends all figures. A daemon that is too old to have any tells none.
func (d daemon) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	answer, err := d.host.Figures(ctx, &pluginsdk.ListFiguresRequest{})
	switch {
	case pluginsdk.CodeOf(err) == pluginsdk.CodeUnimplemented:
		return
	case err != nil:
		err = fmt.Errorf("ask for the daemon's figures: %w", err)
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, figure := range answer.Figures {
		for _, sample := range figure.Samples {
			out <- metric(figure, sample)
		}
	}
}

// metric is one sample of a figure; of a kind that is not known here, an untyped one.
func metric(figure pluginsdk.Figure, sample pluginsdk.FigureSample) prometheus.Metric {
	names := slices.Sorted(maps.Keys(sample.Labels))
	values := make([]string, len(names))
	for n, name := range names {
		values[n] = sample.Labels[name]
	}
	desc := prometheus.NewDesc(figure.Name, figure.Help, names, nil)
	kind := prometheus.UntypedValue
	switch figure.Kind {
	case pluginsdk.FigureHistogram:
		buckets := make(map[float64]uint64, len(sample.Buckets))
		for _, bucket := range sample.Buckets {
			buckets[bucket.Bound] = uint64(max(0, bucket.Count))
		}
		histogram, err := prometheus.NewConstHistogram(desc, uint64(max(0, sample.Count)), sample.Value, buckets, values...)
		if err != nil {
			return prometheus.NewInvalidMetric(desc, err)
		}
		return histogram
	case pluginsdk.FigureCounter:
		kind = prometheus.CounterValue
	case pluginsdk.FigureGauge:
		kind = prometheus.GaugeValue
	}
	made, err := prometheus.NewConstMetric(desc, kind, sample.Value, values...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return made
}
