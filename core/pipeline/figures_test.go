package pipeline

import (
	"maps"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// An alarm about what is billed must not ring for what a plan has paid.
func TestFiguresTellNotionalDollarsApart(t *testing.T) {
	f := newFigures()
	for _, one := range []struct {
		usd      float64
		notional bool
	}{{0.25, false}, {0.5, true}, {1, true}} {
		f.turned(&trip{result: &pluginsdk.InvokeResult{Model: "opus", CostUSD: one.usd, Notional: one.notional}})
	}
	got := map[string]float64{}
	for _, figure := range f.Figures() {
		for _, sample := range figure.Samples {
			if figure.Name == "harness_turn_cost_usd_total" {
				got[sample.Labels["model"]+" "+sample.Labels["notional"]] += sample.Value
			}
		}
	}
	if want := map[string]float64{"opus false": 0.25, "opus true": 1.5}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
