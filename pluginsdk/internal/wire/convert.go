package wire

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-706843ae/harness/pluginsdk"
	typesv1 "github.com/seed-706843ae/harness/proto/harness/types/v1"
)

// timeTo maps the zero time to no timestamp; timeFrom maps it back.
func timeTo(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func timeFrom(t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.AsTime()
}

func durationTo(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func durationFrom(d *durationpb.Duration) time.Duration {
	return d.AsDuration()
}

// listTo and listFrom keep a nil slice nil; an empty one becomes nil.
func listTo[V, M any](values []V, to func(V) *M) []*M {
	if len(values) == 0 {
		return nil
	}
	messages := make([]*M, len(values))
	for i, v := range values {
		messages[i] = to(v)
	}
	return messages
}

func listFrom[V, M any](messages []*M, from func(*M) V) []V {
	if len(messages) == 0 {
		return nil
	}
	values := make([]V, len(messages))
	for i, m := range messages {
		values[i] = from(m)
	}
	return values
}

func pointerTo[V, M any](value *V, to func(V) *M) *M {
	if value == nil {
		return nil
	}
	return to(*value)
}

func pointerFrom[V, M any](message *M, from func(*M) V) *V {
	if message == nil {
		return nil
	}
	value := from(message)
	return &value
}

// names are the contract's open enumerations: strings on the wire.
func namesTo[N ~string](names []N) []string {
	if len(names) == 0 {
		return nil
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return texts
}

func namesFrom[N ~string](texts []string) []N {
	if len(texts) == 0 {
		return nil
	}
	names := make([]N, len(texts))
	for i, text := range texts {
		names[i] = N(text)
	}
	return names
}

func nameTo[N ~string](name *N) *string {
	if name == nil {
		return nil
	}
	text := string(*name)
	return &text
}

func nameFrom[N ~string](text *string) *N {
	if text == nil {
		return nil
	}
	name := N(*text)
	return &name
}

func namesMapTo[K, V ~string](names map[K]V) map[string]string {
	if len(names) == 0 {
		return nil
	}
	texts := make(map[string]string, len(names))
	for k, v := range names {
		texts[string(k)] = string(v)
	}
	return texts
}

func namesMapFrom[K, V ~string](texts map[string]string) map[K]V {
	if len(texts) == 0 {
		return nil
	}
	names := make(map[K]V, len(texts))
	for k, v := range texts {
		names[K(k)] = V(v)
	}
	return names
}

// mapTo and mapFrom convert the values of a map whose keys are names or texts.
func mapTo[K ~string, V, M any](values map[K]V, to func(V) *M) map[string]*M {
	if len(values) == 0 {
		return nil
	}
	messages := make(map[string]*M, len(values))
	for k, v := range values {
		messages[string(k)] = to(v)
	}
	return messages
}

func mapFrom[K ~string, V, M any](messages map[string]*M, from func(*M) V) map[K]V {
	if len(messages) == 0 {
		return nil
	}
	values := make(map[K]V, len(messages))
	for k, m := range messages {
		values[K(k)] = from(m)
	}
	return values
}

// emptyTo and emptyFrom are the conversions of a type that has no fields yet.
func emptyTo[M, V any](V) *M { return new(M) }

func emptyFrom[V, M any](*M) (v V) { return v }

func callTo(v pluginsdk.Call) *typesv1.Call {
	return &typesv1.Call{
		Id:       v.ID,
		RunId:    v.RunID,
		Attempt:  int64(v.Attempt),
		Token:    v.Token,
		Deadline: timeTo(v.Deadline),
		TraceId:  v.TraceID,
	}
}

func callFrom(m *typesv1.Call) pluginsdk.Call {
	return pluginsdk.Call{
		ID:       m.GetId(),
		RunID:    m.GetRunId(),
		Attempt:  int(m.GetAttempt()),
		Token:    m.GetToken(),
		Deadline: timeFrom(m.GetDeadline()),
		TraceID:  m.GetTraceId(),
	}
}

func progressTo(v pluginsdk.Progress) *typesv1.Progress {
	return &typesv1.Progress{
		Done:    v.Done,
		Total:   v.Total,
		Message: v.Message,
	}
}

func progressFrom(m *typesv1.Progress) pluginsdk.Progress {
	return pluginsdk.Progress{
		Done:    m.GetDone(),
		Total:   m.GetTotal(),
		Message: m.GetMessage(),
	}
}

func stateEntryTo(v pluginsdk.StateEntry) *typesv1.StateEntry {
	return &typesv1.StateEntry{
		Key:      v.Key,
		Value:    v.Value,
		Revision: v.Revision,
	}
}

func stateEntryFrom(m *typesv1.StateEntry) pluginsdk.StateEntry {
	return pluginsdk.StateEntry{
		Key:      m.GetKey(),
		Value:    m.GetValue(),
		Revision: m.GetRevision(),
	}
}

func stateConditionTo(v pluginsdk.StateCondition) *typesv1.StateCondition {
	return &typesv1.StateCondition{
		Revision: v.Revision,
	}
}

func stateConditionFrom(m *typesv1.StateCondition) pluginsdk.StateCondition {
	return pluginsdk.StateCondition{
		Revision: m.GetRevision(),
	}
}

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

func figureTo(v pluginsdk.Figure) *typesv1.Figure {
	return &typesv1.Figure{
		Name:    v.Name,
		Help:    v.Help,
		Kind:    string(v.Kind),
		Samples: listTo(v.Samples, figureSampleTo),
	}
}

func figureFrom(m *typesv1.Figure) pluginsdk.Figure {
	return pluginsdk.Figure{
		Name:    m.GetName(),
		Help:    m.GetHelp(),
		Kind:    pluginsdk.FigureKind(m.GetKind()),
		Samples: listFrom(m.GetSamples(), figureSampleFrom),
	}
}

func figureSampleTo(v pluginsdk.FigureSample) *typesv1.FigureSample {
	return &typesv1.FigureSample{
		Labels:  v.Labels,
		Value:   v.Value,
		Count:   v.Count,
		Buckets: listTo(v.Buckets, figureBucketTo),
	}
}

func figureSampleFrom(m *typesv1.FigureSample) pluginsdk.FigureSample {
	return pluginsdk.FigureSample{
		Labels:  m.GetLabels(),
		Value:   m.GetValue(),
		Count:   m.GetCount(),
		Buckets: listFrom(m.GetBuckets(), figureBucketFrom),
	}
}

func figureBucketTo(v pluginsdk.FigureBucket) *typesv1.FigureBucket {
	return &typesv1.FigureBucket{
		Bound: v.Bound,
		Count: v.Count,
	}
}

func figureBucketFrom(m *typesv1.FigureBucket) pluginsdk.FigureBucket {
	return pluginsdk.FigureBucket{
		Bound: m.GetBound(),
		Count: m.GetCount(),
	}
}
