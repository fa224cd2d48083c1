// Package charts draws what the dashboard shows over time: charts and sparklines as SVG
// images, without scripts and without anything that is fetched, and the same values as the
// cells of a table and as a sentence.
//
// All functions may be called by several goroutines at once. Nothing that is given is kept
// or changed.
package charts

import (
	"errors"
	"fmt"
	"math"
)

// Kind says how the values of a chart are drawn.
type Kind string

// The kinds of charts.
const (
	Bars    Kind = "bars"    // a bar for each series, side by side
	Stacked Kind = "stacked" // a bar for each label, the series on top of each other
	Lines   Kind = "lines"   // a line for each series
)

// Chart is a chart before it is drawn.
type Chart struct {
	// Title is not drawn: the page has it as a heading. Alt begins with it.
	Title string
	Kind  Kind
	Unit  Unit
	// Labels are the points of the horizontal axis, in order.
	Labels []string
	// Series are at most as many as a theme has colours; of more the colours repeat, and
	// there is no legend.
	Series []Series
}

// Series is a line, or the bars of one colour.
type Series struct {
	Name string
	// Values has a value for each label of the chart, none of them negative.
	Values []float64
}

// ErrNoData says that a chart has nothing to draw. Pages say so in words, in its place.
var ErrNoData = errors.New("the chart has no values")

// What a chart may hold, and its size in pixels.
const (
	maxLabels = 400
	maxSeries = 60
	minWidth  = 40
	minHeight = 16
	maxSize   = 4000
)

// Empty reports whether there is nothing to draw: Render would answer with ErrNoData.
func (c Chart) Empty() bool { return len(c.Labels) == 0 || len(c.Series) == 0 }

// check says what is wrong with the chart.
func (c Chart) check() error {
	switch c.Kind {
	case Bars, Stacked, Lines:
	default:
		return fmt.Errorf("the chart's kind is %q: it is one of %q, %q and %q", c.Kind, Bars, Stacked, Lines)
	}
	if _, known := units[c.Unit]; !known {
		return fmt.Errorf("the chart's unit is %q: it is one of %q, %q, %q and %q", c.Unit, Count, Tokens, USD, Seconds)
	}
	if c.Empty() {
		return ErrNoData
	}
	if len(c.Labels) > maxLabels || len(c.Series) > maxSeries {
		return fmt.Errorf("the chart has %d labels and %d series: at most %d labels and %d series are drawn, so take fewer points, or the largest series and the sum of the others",
			len(c.Labels), len(c.Series), maxLabels, maxSeries)
	}
	for _, series := range c.Series {
		if len(series.Values) != len(c.Labels) {
			return fmt.Errorf("the series %q has %d values for %d labels: it needs one for each", series.Name, len(series.Values), len(c.Labels))
		}
		for i, value := range series.Values {
			if err := checkValue(value); err != nil {
				return fmt.Errorf("the series %q at %q: %w", series.Name, c.Labels[i], err)
			}
		}
	}
	return nil
}

// checkValue refuses what no axis shows. The bound leaves room for sums.
func checkValue(value float64) error {
	if math.IsNaN(value) || value < 0 || value > 1e300 {
		return fmt.Errorf("the value %v cannot be drawn: it has to be a number from 0 to 1e300", value)
	}
	return nil
}

// checkSize refuses images that nobody could look at.
func checkSize(width, height int) error {
	if width < minWidth || height < minHeight || width > maxSize || height > maxSize {
		return fmt.Errorf("the image is %d x %d pixels: it has to be from %d x %d to %d x %d", width, height, minWidth, minHeight, maxSize, maxSize)
	}
	return nil
}

// total is the sum of all series at a label.
func (c Chart) total(label int) float64 {
	var sum float64
	for _, series := range c.Series {
		sum += series.Values[label]
	}
	return sum
}
