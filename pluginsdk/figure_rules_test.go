package pluginsdk

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// A plugin's figures reach whatever reads /metrics. One that could break that, or pass for another's, is left out, and
// the others are not.
func TestAPluginsOwnFigures(t *testing.T) {
	sample := func(labels map[string]string, value float64) []FigureSample {
		return []FigureSample{{Labels: labels, Value: value}}
	}
	good := Figure{Name: "harness_my_shop_queue_seconds", Help: "how long", Kind: FigureGauge, Samples: sample(map[string]string{"queue": "a \"b\" \\ é"}, 1)}
	with := func(change func(f *Figure)) Figure {
		f := good
		change(&f)
		return f
	}
	flood := make([]FigureSample, 1_000_000)
	for words, bad := range map[string]Figure{
		"must be harness_my_shop_":  with(func(f *Figure) { f.Name = "harness_runs_parked" }),
		"followed by":               with(func(f *Figure) { f.Name = "harness_my_shop_" }),
		"followed by a-z":           with(func(f *Figure) { f.Name = "harness_my_shop_x\ny" }),
		"in at most 200 bytes":      with(func(f *Figure) { f.Name += strings.Repeat("x", 200) }),
		"neither counter nor gauge": with(func(f *Figure) { f.Kind = FigureHistogram }),
		"end in _total":             with(func(f *Figure) { f.Kind = FigureCounter }),
		"help is not one line":      with(func(f *Figure) { f.Help = "a\nb" }),
		"NaN is no number":          with(func(f *Figure) { f.Samples = sample(nil, math.NaN()) }),
		"+Inf is no number":         with(func(f *Figure) { f.Samples = sample(nil, math.Inf(1)) }),
		"of histograms":             with(func(f *Figure) { f.Samples = []FigureSample{{Count: 1}} }),
		"plugin is Harness's own":   with(func(f *Figure) { f.Samples = sample(map[string]string{"plugin": "x"}, 1) }),
		"must be a letter":          with(func(f *Figure) { f.Samples = sample(map[string]string{"__name__": "x"}, 1) }),
		"value of queue is not one": with(func(f *Figure) { f.Samples = sample(map[string]string{"queue": "a\nharness_up 1"}, 1) }),
		"of at most 200 bytes ":     with(func(f *Figure) { f.Samples = sample(map[string]string{"queue": strings.Repeat("x", 201)}, 1) }),
		"of queue is":               with(func(f *Figure) { f.Samples = sample(map[string]string{"queue": "\xff"}, 1) }),
		"other labels": with(func(f *Figure) {
			f.Samples = append(sample(map[string]string{"a": ""}, 1), sample(map[string]string{"b": ""}, 1)...)
		}),
		"labels of an earlier one": with(func(f *Figure) { f.Samples = append(sample(nil, 1), sample(nil, 2)...) }),
		"1000000 samples are more": with(func(f *Figure) { f.Samples = flood }),
		"it is there twice":        good,
		"labels: 9 are more than 8": with(func(f *Figure) {
			f.Samples = sample(map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": "", "g": "", "h": "", "i": ""}, 1)
		}),
	} {
		kept, refused := KeepFigures("my-shop", []Figure{good, bad})
		if len(kept) != 1 || kept[0].Name != good.Name || len(refused) != 1 || !strings.Contains(refused[0].Error(), strings.TrimSpace(words)) || CodeOf(refused[0]) != CodeInvalid {
			t.Errorf("%s: kept are %d figures, refused %v", words, len(kept), refused)
		}
	}
	counter := with(func(f *Figure) { f.Name, f.Kind = "harness_my_shop_sold_total", FigureCounter })
	if kept, refused := KeepFigures("my-shop", []Figure{good, counter, {Name: "harness_my_shop_none", Kind: FigureGauge}}); len(kept) != 3 || len(refused) != 0 {
		t.Errorf("kept are %+v, refused %v", kept, refused)
	}
}

// However many there are, no more are kept than somebody who scrapes expects, and the reasons are few.
func TestAPluginsFiguresAreBounded(t *testing.T) {
	figure := func(n, samples int) Figure {
		f := Figure{Name: fmt.Sprintf("harness_shop_f%d", n), Kind: FigureGauge}
		for k := range samples {
			f.Samples = append(f.Samples, FigureSample{Labels: map[string]string{"k": fmt.Sprint(k)}})
		}
		return f
	}
	var many []Figure
	for n := range 10_000 {
		many = append(many, figure(n, 1))
	}
	if kept, refused := KeepFigures("shop", many); len(kept) != MaxFigures || len(refused) != 1 {
		t.Errorf("kept are %d, refused %d", len(kept), len(refused))
	}
	kept, refused := KeepFigures("shop", []Figure{figure(1, 600), figure(2, 600), figure(3, 400)})
	if len(kept) != 2 || kept[1].Name != "harness_shop_f3" || len(refused) != 1 {
		t.Errorf("kept are %d, refused %v", len(kept), refused)
	}
}
