package wire

import (
	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

func newMetricTo(v pluginsdk.NewMetric) *typesv1.NewMetric {
	return &typesv1.NewMetric{
		Key:      v.Key,
		Name:     v.Name,
		Value:    v.Value,
		Tags:     v.Tags,
		ThreadId: v.ThreadID,
		At:       timeTo(v.At),
	}
}

func newMetricFrom(m *typesv1.NewMetric) pluginsdk.NewMetric {
	return pluginsdk.NewMetric{
		Key:      m.GetKey(),
		Name:     m.GetName(),
		Value:    m.GetValue(),
		Tags:     m.GetTags(),
		ThreadID: m.GetThreadId(),
		At:       timeFrom(m.GetAt()),
	}
}

func metricTo(v pluginsdk.Metric) *typesv1.Metric {
	return &typesv1.Metric{
		Id:        v.ID,
		Plugin:    v.Plugin,
		Key:       v.Key,
		Name:      v.Name,
		Value:     v.Value,
		Tags:      v.Tags,
		ThreadId:  v.ThreadID,
		CreatedAt: timeTo(v.CreatedAt),
	}
}

func metricFrom(m *typesv1.Metric) pluginsdk.Metric {
	return pluginsdk.Metric{
		ID:        m.GetId(),
		Plugin:    m.GetPlugin(),
		Key:       m.GetKey(),
		Name:      m.GetName(),
		Value:     m.GetValue(),
		Tags:      m.GetTags(),
		ThreadID:  m.GetThreadId(),
		CreatedAt: timeFrom(m.GetCreatedAt()),
	}
}

func metricQueryTo(v pluginsdk.MetricQuery) *typesv1.MetricQuery {
	return &typesv1.MetricQuery{
		Plugin:   v.Plugin,
		Name:     v.Name,
		ThreadId: v.ThreadID,
		Since:    timeTo(v.Since),
		Until:    timeTo(v.Until),
		After:    v.After,
		Limit:    int64(v.Limit),
	}
}

func metricQueryFrom(m *typesv1.MetricQuery) pluginsdk.MetricQuery {
	return pluginsdk.MetricQuery{
		Plugin:   m.GetPlugin(),
		Name:     m.GetName(),
		ThreadID: m.GetThreadId(),
		Since:    timeFrom(m.GetSince()),
		Until:    timeFrom(m.GetUntil()),
		After:    m.GetAfter(),
		Limit:    int(m.GetLimit()),
	}
}
