package charts

import (
	"math"
	"slices"
)

// least is the smallest value that is drawn as more than nothing.
const least = 1e-12

// grain is how many parts a step of the axis has. The library is given whole numbers of
// parts, however large or small the values themselves are.
const grain = 1000

// axis is the vertical axis: it begins at 0 and has so many steps.
type axis struct {
	step  float64
	ticks int
}

// axis has steps that are round in the chart's unit.
func (c Chart) axis(height int) axis {
	var highest float64
	for i := range c.Labels {
		if c.Kind == Stacked {
			highest = max(highest, c.total(i))
		}
	}
	if c.Kind != Stacked {
		for _, series := range c.Series {
			highest = max(highest, slices.Max(series.Values))
		}
	}
	wanted := 4.0
	if height < 160 {
		wanted = 2
	}
	if highest < least {
		return axis{step: units[c.Unit].step(1), ticks: 1}
	}
	step := units[c.Unit].step(highest / wanted)
	return axis{step: step, ticks: int(math.Ceil(highest/step - 1e-9))}
}

// max is the end of the axis, in parts.
func (a axis) max() float64 { return float64(a.ticks * grain) }

// scaled are the values in parts. What is less than half of one is 0.
func (a axis) scaled(values []float64) []float64 {
	parts := make([]float64, len(values))
	for i, value := range values {
		parts[i] = math.Round(value / a.step * grain)
	}
	return parts
}

// label is what stands at so many parts.
func (a axis) label(parts float64, unit Unit) string {
	return units[unit].tick(math.Round(parts/grain)*a.step, a.step)
}
