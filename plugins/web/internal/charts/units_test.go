package charts

import "testing"

// Who reads a cost, a number of tokens or a duration reads it at a glance, and never a wrong one.
func TestUnits(t *testing.T) {
	for _, test := range []struct {
		unit  Unit
		value float64
		want  string
	}{
		{USD, 0, "$0"},
		{USD, 0.000001, "$0.000001"},
		{USD, 0.0123, "$0.0123"},
		{USD, 0.01234567, "$0.0123"},
		{USD, 0.5, "$0.50"},
		{USD, 0.9999, "$1.00"},
		{USD, 12.4, "$12.40"},
		{USD, 999.994, "$999.99"},
		{USD, 999.999, "$1,000"},
		{USD, 1240.4, "$1,240"},
		{USD, 1e-17, "$1e-17"},
		{Tokens, 0, "0"},
		{Tokens, 12, "12"},
		{Tokens, 999, "999"},
		{Tokens, 999.7, "1k"},
		{Tokens, 12000, "12k"},
		{Tokens, 1234567, "1.2M"},
		{Tokens, 123456789, "123M"},
		{Tokens, 999600000, "1B"},
		{Tokens, 1e12, "1T"},
		{Tokens, 5e18, "5e+18"},
		{Count, 0.25, "0.25"},
		{Count, 3, "3"},
		{Count, 999.7, "1,000"},
		{Count, 1240, "1,240"},
		{Count, 12345678, "12,345,678"},
		{Count, 1e12, "1T"},
		{Seconds, 0, "0 s"},
		{Seconds, 0.00034, "0.34 ms"},
		{Seconds, 0.340, "340 ms"},
		{Seconds, 0.9999, "1 s"},
		{Seconds, 1.24, "1.2 s"},
		{Seconds, 59.97, "1 min"},
		{Seconds, 180, "3 min"},
		{Seconds, 200, "3 min 20 s"},
		{Seconds, 3599.9, "1 h"},
		{Seconds, 3600 * 2.5, "2 h 30 min"},
		{Seconds, 86399, "1 d"},
		{Seconds, 86400*1000 + 7200, "1,000 d 2 h"},
	} {
		if got := test.unit.Format(test.value); got != test.want {
			t.Errorf("%v %s are written %q, want %q", test.value, test.unit, got, test.want)
		}
	}
}

// The axis has few labels, of round numbers that differ, whatever the size of the values.
func TestAxis(t *testing.T) {
	for _, test := range []struct {
		unit    Unit
		highest float64
		want    []string
	}{
		{USD, 0, []string{"$0", "$1"}},
		{USD, 2e-6, []string{"$0", "$0.0000005", "$0.0000010", "$0.0000015", "$0.0000020"}},
		{USD, 0.9, []string{"$0", "$0.50", "$1.00"}},
		{USD, 4, []string{"$0", "$1", "$2", "$3", "$4"}},
		{USD, 4700, []string{"$0", "$2k", "$4k", "$6k"}},
		{Tokens, 1, []string{"0", "1"}},
		{Tokens, 3, []string{"0", "1", "2", "3"}},
		{Tokens, 38000, []string{"0", "10k", "20k", "30k", "40k"}},
		{Tokens, 1.1e12, []string{"0", "500B", "1T", "1.5T"}},
		{Seconds, 0.33, []string{"0", "100 ms", "200 ms", "300 ms", "400 ms"}},
		{Seconds, 5, []string{"0", "2 s", "4 s", "6 s"}},
		{Seconds, 100, []string{"0", "30 s", "60 s", "90 s", "120 s"}},
		{Seconds, 1100, []string{"0", "5 min", "10 min", "15 min", "20 min"}},
		{Seconds, 86400 * 7, []string{"0", "2 d", "4 d", "6 d", "8 d"}},
	} {
		c := Chart{Kind: Lines, Unit: test.unit, Labels: []string{"a"}, Series: []Series{{"s", []float64{test.highest}}}}
		axis := c.axis(240)
		var got []string
		for i := range axis.ticks + 1 {
			got = append(got, axis.label(float64(i*grain), test.unit))
		}
		if len(got) != len(test.want) {
			t.Errorf("the axis up to %v %s has %q, want %q", test.highest, test.unit, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("the axis up to %v %s has %q, want %q", test.highest, test.unit, got, test.want)
				break
			}
		}
		if axis.max() < axis.scaled([]float64{test.highest})[0] {
			t.Errorf("the axis up to %v %s ends below that", test.highest, test.unit)
		}
	}
}
