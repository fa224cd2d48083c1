package tally

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// maxSamples bounds the sets of labels of a figure: whoever reads them keeps each for
// ever. What comes later is counted with otherLabel in the place of every label.
const maxSamples = 100

const otherLabel = "other"

// Set is the figures that a room counts. The zero value is empty. All of it is safe for
// concurrent use.
type Set struct {
	mu       sync.Mutex
	families []*family
}

// Counter makes a counter in the set. Its name ends with its unit and _total.
func (s *Set) Counter(name, help string, labels ...string) *Counter {
	return &Counter{s.family(pluginsdk.Figure{Name: name, Help: help, Kind: pluginsdk.FigureCounter}, nil, labels)}
}

// Histogram makes a histogram of durations in the set. Its name ends with _seconds, and
// its bounds, in seconds, go from the lowest up.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) *Histogram {
	return &Histogram{s.family(pluginsdk.Figure{Name: name, Help: help, Kind: pluginsdk.FigureHistogram}, bounds, labels)}
}

func (s *Set) family(figure pluginsdk.Figure, bounds []float64, labels []string) *family {
	f := &family{figure: figure, bounds: bounds, labels: labels, samples: make(map[string]*pluginsdk.FigureSample)}
	if len(labels) == 0 {
		f.sample(nil) // it is there before anything has happened
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.families = append(s.families, f)
	return f
}

// Figures returns them as they are now.
func (s *Set) Figures() []pluginsdk.Figure {
	s.mu.Lock()
	defer s.mu.Unlock()
	figures := make([]pluginsdk.Figure, len(s.families))
	for n, family := range s.families {
		figures[n] = family.now()
	}
	return figures
}

// Counter counts what has happened.
type Counter struct{ family *family }

// Add counts n more, of what the labels' values say: as many as the counter has labels,
// in their order. Add(0, ...) makes a sample that is there before anything has happened.
func (c *Counter) Add(n float64, values ...string) {
	c.family.mu.Lock()
	defer c.family.mu.Unlock()
	c.family.sample(values).Value += n
}

// Histogram counts durations by their length.
type Histogram struct{ family *family }

// Observe counts a duration, of what the labels' values say, as in Counter.Add.
func (h *Histogram) Observe(took time.Duration, values ...string) {
	h.family.mu.Lock()
	defer h.family.mu.Unlock()
	sample, seconds := h.family.sample(values), took.Seconds()
	sample.Value += seconds
	sample.Count++
	for n, bucket := range slices.Backward(sample.Buckets) {
		if bucket.Bound < seconds {
			break
		}
		sample.Buckets[n].Count++
	}
}

// family is a figure that is counted.
type family struct {
	figure pluginsdk.Figure // without its samples
	bounds []float64
	labels []string

	mu      sync.Mutex
	samples map[string]*pluginsdk.FigureSample // by the values of their labels
}

// sample returns the sample of some values, and makes it when there is none. The lock is
// held, or nobody else has the family yet.
func (f *family) sample(values []string) *pluginsdk.FigureSample {
	key := strings.Join(values, "\x00")
	found := f.samples[key]
	if found != nil {
		return found
	}
	if others := slices.Repeat([]string{otherLabel}, len(f.labels)); len(f.samples) >= maxSamples && !slices.Equal(values, others) {
		return f.sample(others)
	}
	found = &pluginsdk.FigureSample{}
	if len(f.labels) > 0 {
		found.Labels = make(map[string]string, len(f.labels))
	}
	for n, label := range f.labels {
		found.Labels[label] = strings.ToValidUTF8(values[n], "")
	}
	for _, bound := range f.bounds {
		found.Buckets = append(found.Buckets, pluginsdk.FigureBucket{Bound: bound})
	}
	f.samples[key] = found
	return found
}

// now returns the figure with copies of its samples, in the order of their labels.
func (f *family) now() pluginsdk.Figure {
	f.mu.Lock()
	defer f.mu.Unlock()
	figure := f.figure
	for _, key := range slices.Sorted(maps.Keys(f.samples)) {
		sample := *f.samples[key]
		sample.Buckets = slices.Clone(sample.Buckets)
		figure.Samples = append(figure.Samples, sample)
	}
	return figure
}

// Gauge is a figure of one value, as it is now.
func Gauge(name, help string, value float64) pluginsdk.Figure {
	return pluginsdk.Figure{Name: name, Help: help, Kind: pluginsdk.FigureGauge, Samples: []pluginsdk.FigureSample{{Value: value}}}
}

// Flag is a figure that is 1 while something is so, and 0 while it is not.
func Flag(name, help string, is bool) pluginsdk.Figure {
	if is {
		return Gauge(name, help, 1)
	}
	return Gauge(name, help, 0)
}

// Gauges is a figure of a value for each value of a label, as they are now.
func Gauges(name, help, label string, values map[string]float64) pluginsdk.Figure {
	figure := pluginsdk.Figure{Name: name, Help: help, Kind: pluginsdk.FigureGauge}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		figure.Samples = append(figure.Samples, pluginsdk.FigureSample{Labels: map[string]string{label: key}, Value: values[key]})
	}
	return figure
}
