package pluginsdk_test

import (
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// The sign for a cost that may be wrong is of use to whoever reads why.
func TestWhyACostIsUnsureIsSaid(t *testing.T) {
	of := func(model string, unsure int64) pluginsdk.UsageSum {
		return pluginsdk.UsageSum{Of: model, Turns: unsure, Unsure: unsure}
	}
	for _, c := range []struct {
		all      int64
		unpriced []pluginsdk.UsageSum
		want     string
	}{
		{0, nil, ""},
		{1, nil, "The cost of 1 turn may be wrong: it was cut off before its end, or recorded by an earlier version of Harness."},
		{2, nil, "The cost of 2 turns may be wrong: they were cut off before their end, or recorded by an earlier version of Harness."},
		{1, []pluginsdk.UsageSum{of("m", 1)}, "The cost of 1 turn may be wrong: it is of a model whose price is not known (m)."},
		{3, []pluginsdk.UsageSum{of("m", 1), of("n", 2)}, "The cost of 3 turns may be wrong: they are of models whose price is not known (m, n)."},
		{2, []pluginsdk.UsageSum{of("m", 2), of("n", 2)}, "The cost of 2 turns may be wrong: they are of models whose price is not known (m, n)."},
		{3, []pluginsdk.UsageSum{of("m", 1)}, "The cost of 3 turns may be wrong: 1 is of a model whose price is not known (m); the others were cut off before their end, or recorded by an earlier version of Harness."},
		{2, []pluginsdk.UsageSum{of("m", 1)}, "The cost of 2 turns may be wrong: 1 is of a model whose price is not known (m); the other was cut off before its end, or recorded by an earlier version of Harness."},
		{9, []pluginsdk.UsageSum{of("a", 1), of("b", 1), of("c", 1), of("d", 1), of("e", 1), of("f", 1), of("g", 1)}, "The cost of 9 turns may be wrong: 7 are of models whose price is not known (a, b, c, d, e, 2 more); the others were cut off before their end, or recorded by an earlier version of Harness."},
	} {
		usage := pluginsdk.UsageResponse{Total: pluginsdk.UsageSum{Unsure: c.all}, Unpriced: c.unpriced}
		if got := usage.WhyUnsure(); got != c.want {
			t.Errorf("%d, %v: %q, want %q", c.all, c.unpriced, got, c.want)
		}
	}
}
