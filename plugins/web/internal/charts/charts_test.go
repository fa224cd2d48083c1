package charts

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// days has n labels such as "24 Oct" would be.
func days(n int) []string {
	labels := make([]string, n)
	for i := range labels {
		labels[i] = fmt.Sprintf("%d Oct", i+1)
	}
	return labels
}

// waves has so many series of n values each, some of them zero, up to highest.
func waves(series, n int, highest float64) []Series {
	out := make([]Series, series)
	for s := range out {
		out[s] = Series{Name: fmt.Sprintf("series %d", s), Values: make([]float64, n)}
		for i := range n {
			out[s].Values[i] = highest * float64((i*(s+2)+s)%11) / 10
		}
	}
	return out
}

// sizes are those of a desk and of a phone.
var sizes = [][2]int{{720, 240}, {360, 220}}

// Whatever is shown, each page gets a picture: all of it is within the frame, labels do not
// run into each other, and it is small.
func TestChartsAreWhole(t *testing.T) {
	long := waves(4, 30, 3)
	for i, name := range []string{"很长的名称", "اسم طويل جدا ", "a very long name "} {
		long[i].Name = strings.Repeat(name, 40)
	}
	long[3].Name = ""
	for name, test := range map[string]struct {
		chart Chart
		most  int // bytes
	}{
		"thirty days of five series":   {Chart{Kind: Stacked, Unit: USD, Labels: days(30), Series: waves(5, 30, 2)}, 5500},
		"the same side by side":        {Chart{Kind: Bars, Unit: Count, Labels: days(30), Series: waves(5, 30, 2)}, 7000},
		"the same as lines":            {Chart{Kind: Lines, Unit: Seconds, Labels: days(30), Series: waves(5, 30, 2)}, 4000},
		"one series":                   {Chart{Kind: Bars, Unit: Tokens, Labels: days(30), Series: waves(1, 30, 2e6)}, 2500},
		"one value":                    {Chart{Kind: Stacked, Unit: USD, Labels: days(1), Series: waves(3, 1, 2)}, 1500},
		"one value of a line":          {Chart{Kind: Lines, Unit: USD, Labels: days(1), Series: waves(3, 1, 2)}, 1500},
		"zeros":                        {Chart{Kind: Stacked, Unit: USD, Labels: days(7), Series: waves(3, 7, 0)}, 1500},
		"zeros as lines":               {Chart{Kind: Lines, Unit: USD, Labels: days(7), Series: waves(3, 7, 0)}, 1500},
		"one zero":                     {Chart{Kind: Bars, Unit: Count, Labels: days(1), Series: waves(1, 1, 0)}, 1500},
		"millionths":                   {Chart{Kind: Stacked, Unit: USD, Labels: days(7), Series: waves(3, 7, 1e-6)}, 2000},
		"the smallest numbers":         {Chart{Kind: Stacked, Unit: Seconds, Labels: days(7), Series: waves(3, 7, 5e-324)}, 2000},
		"billions":                     {Chart{Kind: Stacked, Unit: Tokens, Labels: days(7), Series: waves(3, 7, 1e12)}, 2000},
		"the largest numbers":          {Chart{Kind: Stacked, Unit: Tokens, Labels: days(7), Series: waves(3, 7, 1e300)}, 2000},
		"a year":                       {Chart{Kind: Stacked, Unit: USD, Labels: days(366), Series: waves(5, 366, 2)}, 45000},
		"a year of one series":         {Chart{Kind: Bars, Unit: USD, Labels: days(366), Series: waves(1, 366, 2)}, 10000},
		"a year side by side":          {Chart{Kind: Bars, Unit: USD, Labels: days(366), Series: waves(3, 366, 2)}, 25000},
		"fifty series":                 {Chart{Kind: Stacked, Unit: USD, Labels: days(30), Series: waves(50, 30, 2)}, 40000},
		"fifty series side by side":    {Chart{Kind: Bars, Unit: USD, Labels: days(30), Series: waves(50, 30, 2)}, 40000},
		"as much as there may be":      {Chart{Kind: Lines, Unit: USD, Labels: days(400), Series: waves(60, 400, 2)}, 200000},
		"long names and other scripts": {Chart{Title: "费用 التكلفة", Kind: Stacked, Unit: USD, Labels: days(30), Series: long}, 5500},
		"long labels":                  {Chart{Kind: Bars, Unit: USD, Labels: []string{strings.Repeat("Monday ", 9), "二零二六年十一月二十三日", "الاثنين"}, Series: waves(2, 3, 2)}, 2000},
		"names that are the same":      {Chart{Kind: Bars, Unit: USD, Labels: []string{"a", "a"}, Series: []Series{{"s", []float64{1, 2}}, {"s", []float64{3, 4}}}}, 2000},
	} {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%d", name, size[0]), func(t *testing.T) {
				svg, err := test.chart.Render(Light(), size[0], size[1])
				if err != nil {
					t.Fatal(err)
				}
				drawn := read(t, svg)
				if len(svg) > test.most {
					t.Errorf("the image has %d bytes, want at most %d", len(svg), test.most)
				}
				drawn.check(t, size[0], size[1])
			})
		}
	}
}

// Each value has its bar, of its height, in its colour: a bar too few is money that nobody sees.
func TestBarsAreTheValues(t *testing.T) {
	values := [][]float64{{1, 0, 4}, {2, 3, 0}}
	c := Chart{Kind: Stacked, Unit: USD, Labels: days(3), Series: []Series{{"a", values[0]}, {"b", values[1]}}}
	svg, err := c.Render(Light(), 720, 240)
	if err != nil {
		t.Fatal(err)
	}
	drawn := read(t, svg)
	perDollar := 0.0
	for s, series := range values {
		heights := drawn.bars(t, Light().Series[s])[1:] // the first is in the legend
		want := slices.DeleteFunc(slices.Clone(series), func(v float64) bool { return v == 0 })
		if len(heights) != len(want) {
			t.Fatalf("series %d has the bars %v for the values %v", s, heights, series)
		}
		for i, height := range heights {
			if perDollar == 0 {
				perDollar = height / want[i]
			}
			if math.Abs(height-want[i]*perDollar) > 2 {
				t.Errorf("series %d has the bars %v for the values %v", s, heights, series)
			}
		}
	}
	for _, text := range []string{"\u00a0a", "\u00a0b", "1 Oct", "2 Oct", "3 Oct", "$0", "$1", "$4"} {
		if !slices.ContainsFunc(drawn.texts, func(got label) bool { return got.content == text }) {
			t.Errorf("the text %q is missing in %v", text, drawn.texts)
		}
	}
}

// A day without a value has no bar, not even a thin one, and a lone day stands in the middle.
func TestBarsOfFewValues(t *testing.T) {
	c := Chart{Kind: Bars, Unit: USD, Labels: days(4), Series: []Series{{"a", []float64{0, 3, 1e-6, 0}}}}
	svg, err := c.Render(Light(), 720, 240)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, svg).bars(t, Light().Series[0]); len(got) != 1 {
		t.Errorf("of four values, three of them nothing beside the other, the bars are %v", got)
	}
	for _, kind := range []Kind{Bars, Stacked, Lines} {
		c := Chart{Kind: kind, Unit: USD, Labels: []string{"today"}, Series: []Series{{"a", []float64{3}}}}
		svg, err := c.Render(Light(), 720, 240)
		if err != nil {
			t.Fatal(err)
		}
		drawn := read(t, svg)
		if drawn.circles+len(drawn.bars(t, Light().Series[0])) != 1 {
			t.Errorf("%s of one value are not drawn: %s", kind, svg)
		}
		for _, text := range drawn.texts {
			if middle := 720 * scale / 2; text.content == "today" && (text.x < middle-50 || text.x > middle+50) {
				t.Errorf("the only label of %s is at %d, of %d", kind, text.x, 720*scale)
			}
		}
	}
}

// An axis that does not begin at 0 makes little differences large.
func TestAxisBeginsAtZero(t *testing.T) {
	for _, kind := range []Kind{Bars, Stacked, Lines} {
		for _, small := range []float64{0.0001, 0.0004, 0.001, 0.9, 2.9} {
			c := Chart{Kind: kind, Unit: USD, Labels: days(2), Series: []Series{{"a", []float64{3, 3}}, {"b", []float64{small, small}}}}
			svg, err := c.Render(Light(), 720, 240)
			if err != nil {
				t.Fatal(err)
			}
			lowest := label{}
			for _, text := range read(t, svg).texts {
				if strings.HasPrefix(text.content, "$") && text.y > lowest.y {
					lowest = text
				}
			}
			if lowest.content != "$0" {
				t.Errorf("the axis of %s from %v to 3 begins at %q", kind, small, lowest.content)
			}
		}
	}
}

// A legend that says the same colour twice says nothing.
func TestLegend(t *testing.T) {
	for series, want := range map[int]bool{1: false, 2: true, 6: true, 7: false} {
		c := Chart{Kind: Lines, Unit: Count, Labels: days(5), Series: waves(series, 5, 3)}
		svg, err := c.Render(Dark(), 720, 240)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(svg), "series 0"); got != want {
			t.Errorf("of %d series the legend is there: %v, want %v", series, got, want)
		}
	}
}

// What cannot be drawn is refused with what is wrong, and never drawn wrongly.
func TestChartsThatAreRefused(t *testing.T) {
	good := func() Chart {
		return Chart{Title: "Cost", Kind: Bars, Unit: USD, Labels: days(2), Series: []Series{{"model", []float64{1, 2}}}}
	}
	for name, test := range map[string]struct {
		change func(*Chart)
		want   string
	}{
		"kind":     {func(c *Chart) { c.Kind = "pie" }, `"pie"`},
		"unit":     {func(c *Chart) { c.Unit = "eur" }, `"eur"`},
		"NaN":      {func(c *Chart) { c.Series[0].Values[1] = math.NaN() }, `series "model" at "2 Oct": the value NaN`},
		"infinite": {func(c *Chart) { c.Series[0].Values[1] = math.Inf(1) }, "+Inf"},
		"negative": {func(c *Chart) { c.Series[0].Values[0] = -1 }, "the value -1"},
		"few":      {func(c *Chart) { c.Series[0].Values = []float64{1} }, "1 values for 2 labels"},
		"many":     {func(c *Chart) { c.Series[0].Values = []float64{1, 2, 3} }, "3 values for 2 labels"},
		"labels":   {func(c *Chart) { c.Labels, c.Series = days(401), waves(1, 401, 1) }, "401 labels"},
		"series":   {func(c *Chart) { c.Series = waves(61, 2, 1) }, "61 series"},
	} {
		t.Run(name, func(t *testing.T) {
			c := good()
			test.change(&c)
			if _, err := c.Render(Light(), 720, 240); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
			if _, rows := c.Table(); rows != nil {
				t.Error("the table has rows of values that are refused")
			}
			if got := c.Alt(); got != "Cost: no data." {
				t.Errorf("the sentence is %q", got)
			}
		})
	}
	for _, size := range [][2]int{{0, 0}, {-720, 240}, {720, 5}, {1 << 30, 240}} {
		if _, err := good().Render(Light(), size[0], size[1]); err == nil {
			t.Errorf("an image of %v is drawn", size)
		}
		if _, err := Sparkline([]float64{1}, Light(), size[0], size[1]); err == nil {
			t.Errorf("a sparkline of %v is drawn", size)
		}
	}
	for _, empty := range []Chart{{Kind: Bars, Unit: USD}, {Kind: Bars, Unit: USD, Labels: days(3)}} {
		if _, err := empty.Render(Light(), 720, 240); !errors.Is(err, ErrNoData) || !empty.Empty() {
			t.Errorf("a chart without values gives the error %v", err)
		}
	}
}

func TestTable(t *testing.T) {
	c := Chart{Kind: Stacked, Unit: USD, Labels: days(2), Series: []Series{{"<b>", []float64{0.0123, 1}}, {"b", []float64{0, 12.4}}}}
	head, rows := c.Table()
	if want := []string{"", "<b>", "b", "Total"}; !slices.Equal(head, want) {
		t.Errorf("the head is %q, want %q", head, want)
	}
	want := [][]string{{"1 Oct", "$0.0123", "$0", "$0.0123"}, {"2 Oct", "$1.00", "$12.40", "$13.40"}}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("the rows are %q, want %q", rows, want)
	}
	c.Kind = Lines
	if head, rows := c.Table(); len(head) != 3 || len(rows[0]) != 3 {
		t.Errorf("lines are added up: %q, %q", head, rows)
	}
}

func TestAlt(t *testing.T) {
	for want, c := range map[string]Chart{
		"Cost by day, 1 Oct to 3 Oct: $12.40 in all, most on 2 Oct: $8.00.": {Kind: Stacked, Unit: USD, Labels: days(3), Series: []Series{{"a", []float64{2, 7, 0}}, {"b", []float64{2, 1, 0.4}}}},
		"Cost by day, 1 Oct: $3.00.":                                        {Kind: Stacked, Unit: USD, Labels: days(1), Series: []Series{{"a", []float64{3}}}},
		"Cost by day, 1 Oct to 2 Oct: $0.":                                  {Kind: Bars, Unit: USD, Labels: days(2), Series: []Series{{"a", []float64{0, 0}}}},
		"Cost by day, 1 Oct to 3 Oct: from 340 ms to 3 min, most on 2 Oct.": {Kind: Lines, Unit: Seconds, Labels: days(3), Series: []Series{{"a", []float64{0.34, 1, 1}}, {"b", []float64{5, 180, 1}}}},
		"Cost by day, 1 Oct to 2 Oct: 1 s.":                                 {Kind: Lines, Unit: Seconds, Labels: days(2), Series: []Series{{"a", []float64{1, 1}}}},
		"Cost by day, 1 Oct: from 1 s to 2 s.":                              {Kind: Lines, Unit: Seconds, Labels: days(1), Series: []Series{{"a", []float64{1}}, {"b", []float64{2}}}},
		"Cost by day: no data.":                                             {Kind: Lines, Unit: Seconds},
	} {
		c.Title = "Cost by day"
		if got := c.Alt(); got != want {
			t.Errorf("the sentence is %q, want %q", got, want)
		}
	}
}

func TestSparkline(t *testing.T) {
	for name, values := range map[string][]float64{
		"many": waves(1, 30, 2)[0].Values, "one": {4}, "two": {0, 1}, "zeros": {0, 0, 0}, "tiny": {5e-324, 0}, "huge": {1e300, 1}, "all": make([]float64, 400),
	} {
		t.Run(name, func(t *testing.T) {
			svg, err := Sparkline(values, Dark(), 120, 28)
			if err != nil {
				t.Fatal(err)
			}
			drawn := read(t, svg)
			drawn.check(t, 120, 28)
			if len(drawn.texts) != 0 || len(drawn.paths)+drawn.circles != 1 {
				t.Errorf("the sparkline is not one line: %s", svg)
			}
			if len(values) < 50 && len(svg) > 600 {
				t.Errorf("the sparkline has %d bytes", len(svg))
			}
		})
	}
	if _, err := Sparkline(nil, Dark(), 120, 28); !errors.Is(err, ErrNoData) {
		t.Errorf("a sparkline of nothing gives the error %v", err)
	}
	for _, values := range [][]float64{{math.NaN()}, {-1}, make([]float64, 401)} {
		if _, err := Sparkline(values, Dark(), 120, 28); err == nil {
			t.Errorf("%d values such as %v are drawn", len(values), values[0])
		}
	}
}

// Two people who look at the same chart at once see the same.
func TestRenderIsTheSameForAll(t *testing.T) {
	c := Chart{Kind: Stacked, Unit: USD, Labels: days(30), Series: waves(5, 30, 2)}
	want, err := c.Render(Light(), 720, 240)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			theme := Light()
			if i%2 == 1 {
				theme = Dark()
			}
			got, err := c.Render(theme, 720, 240)
			if err != nil || i%2 == 0 && string(got) != string(want) {
				t.Errorf("another image, or the error %v", err)
			}
		})
	}
	all.Wait()
}

func BenchmarkRender(b *testing.B) {
	c := Chart{Kind: Stacked, Unit: USD, Labels: days(30), Series: waves(5, 30, 2)}
	var svg []byte
	for b.Loop() {
		var err error
		if svg, err = c.Render(Light(), 720, 240); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(svg)), "bytes/image")
}
