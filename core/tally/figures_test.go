package tally

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An operator's alarms hang on what is counted: each thing under its own labels, and a
// duration in every bucket that it is not above.
func TestFiguresAreWhatWasCounted(t *testing.T) {
	var set Set
	ended := set.Counter("runs_total", "Runs.", "kind", "outcome")
	set.Counter("starts_total", "Starts.")
	took := set.Histogram("run_seconds", "How long.", []float64{0.1, 1})
	ended.Add(0, "turn", "failed")
	ended.Add(2, "message", "failed")
	ended.Add(1, "message", "failed")
	for _, duration := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute} {
		took.Observe(duration)
	}
	labels := func(kind string) map[string]string { return map[string]string{"kind": kind, "outcome": "failed"} }
	want := []pluginsdk.Figure{
		{Name: "runs_total", Help: "Runs.", Kind: "counter", Samples: []pluginsdk.FigureSample{
			{Labels: labels("message"), Value: 3}, {Labels: labels("turn")},
		}},
		{Name: "starts_total", Help: "Starts.", Kind: "counter", Samples: []pluginsdk.FigureSample{{}}},
		{Name: "run_seconds", Help: "How long.", Kind: "histogram", Samples: []pluginsdk.FigureSample{
			{Value: 61.15, Count: 4, Buckets: []pluginsdk.FigureBucket{{Bound: 0.1, Count: 2}, {Bound: 1, Count: 3}}},
		}},
	}
	got := set.Figures()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
	took.Observe(time.Millisecond)
	if got[2].Samples[0].Buckets[0].Count != 2 {
		t.Error("figures that were told have changed")
	}
}

// Labels that plugins or people choose must not fill the memory of who reads the figures:
// what is too much is counted all the same.
func TestLabelsAreBounded(t *testing.T) {
	var set Set
	counter := set.Counter("things_total", "Things.", "model", "way")
	for n := range 3 * maxSamples {
		counter.Add(1, fmt.Sprint("model ", n), "in")
	}
	counter.Add(1, "model 0", "in")
	samples, all := set.Figures()[0].Samples, 0.0
	for _, sample := range samples {
		all += sample.Value
	}
	last := samples[len(samples)-1]
	if len(samples) != maxSamples+1 || all != 3*maxSamples+1 || last.Labels["model"] != "other" || last.Labels["way"] != "other" || last.Value != 2*maxSamples {
		t.Errorf("%d samples of %v things, the last %+v", len(samples), all, last)
	}
}
