package charts

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	lib "github.com/go-analyze/charts"
)

// The library draws at whole coordinates. It is given a canvas that is larger than the
// image by scale, so that bars lie within half a pixel of where they belong.
const scale = 2

// Sizes, in pixels of the image.
const (
	fontSize  = 11
	nameLimit = 24 // columns of a name in the legend
	labelSize = 16 // columns of a label at the axis
	widestBar = 36
	axisWidth = 50 // about what the vertical axis takes
)

// slack is by how much text is taken to be wider than in the library's font: it is drawn
// in one of the reader's.
const slack = 1.12

// Render draws the chart as an SVG image of that many pixels. Everything in it that came
// with the chart is escaped; it has no scripts, styles, links or fonts. It fails with
// ErrNoData when the chart is empty, and otherwise with what is wrong with the chart,
// the theme or the size.
func (c Chart) Render(theme Theme, width, height int) ([]byte, error) {
	if err := checkSize(width, height); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	palette, err := theme.palette(len(c.Series))
	if err != nil {
		return nil, err
	}
	painter := newPainter(palette, width, height)
	kind, names := c.shape(width), c.names(theme)
	axis := c.axis(height)
	labels, overhang := c.labels(painter, kind, width)
	values := c.values(axis, kind)
	if len(labels) == 1 { // a lone point stands in the middle
		labels = []string{"", labels[0], ""}
		for i, only := range values {
			values[i] = []float64{nothing, only[0], nothing}
		}
	}

	x := lib.CategoryAxisOption{Labels: labels, LabelCount: len(labels), LabelFontStyle: font(), BoundaryGap: lib.Ptr(kind != Lines)}
	y := []lib.ValueAxisOption{{
		Min: lib.Ptr(0.0), Max: lib.Ptr(axis.max()), LabelCount: axis.ticks + 1, LabelFontStyle: font(),
		ValueFormatter: func(value float64) string { return axis.label(value, c.Unit) },
	}}
	legend := lib.LegendOption{
		SeriesNames: names, Show: lib.Ptr(names != nil), FontStyle: font(), Symbol: lib.SymbolSquare,
		Offset: lib.OffsetLeft, Padding: lib.NewBox(0, 0, 0, 0),
	}
	padding := lib.NewBox(3*scale, 8*scale, 2*scale+overhang, 4*scale)

	if kind == Lines {
		option := lib.NewLineChartOptionWithData(values)
		option.Theme, option.Padding, option.XAxis, option.YAxis, option.Legend = palette, padding, x, y, legend
		option.StackSeries = lib.Ptr(c.Kind == Stacked)
		option.LineStrokeWidth = 1.5 * scale
		if c.Kind == Stacked || c.Kind == Bars && len(c.Series) == 1 {
			option.FillArea, option.FillOpacity, option.LineStrokeWidth = lib.Ptr(true), 255, 0.5
		}
		option.Symbol = lib.Symbol{Shape: lib.SymbolNone}
		err = painter.LineChart(option)
	} else {
		option := lib.NewBarChartOptionWithData(values)
		option.Theme, option.Padding, option.CategoryAxis, option.ValueAxis, option.Legend = palette, padding, x, y, legend
		option.StackSeries = lib.Ptr(kind == Stacked)
		option.BarSize = min(0.75, float64(widestBar*len(labels))/float64(width))
		err = painter.BarChart(option)
	}
	if err != nil {
		return nil, err
	}
	return finish(painter, plain(c.Title, 100), theme.Text, width, height)
}

// Sparkline draws a line without axes, for a row of an overview. It may also stand in a
// page, as markup, under a policy that allows no styles. Like Render, it fails with
// ErrNoData when there are no values.
func Sparkline(values []float64, theme Theme, width, height int) ([]byte, error) {
	if err := checkSize(width, height); err != nil {
		return nil, err
	}
	if len(values) == 0 {
		return nil, ErrNoData
	}
	if len(values) > maxLabels {
		return nil, fmt.Errorf("the sparkline has %d values: at most %d are drawn", len(values), maxLabels)
	}
	for _, value := range values {
		if err := checkValue(value); err != nil {
			return nil, err
		}
	}
	palette, err := theme.palette(1)
	if err != nil {
		return nil, err
	}
	axis := axis{step: slices.Max(values), ticks: 1}
	if axis.step < least {
		axis.step = 1
	}
	option := lib.NewLineChartOptionWithData([][]float64{axis.scaled(values)})
	option.Theme, option.Padding = palette, lib.NewBox(2*scale, 2*scale, 2*scale, 2*scale)
	option.XAxis = lib.CategoryAxisOption{Show: lib.Ptr(false), BoundaryGap: lib.Ptr(len(values) == 1)}
	option.YAxis = []lib.ValueAxisOption{{Show: lib.Ptr(false), Min: lib.Ptr(0.0), Max: lib.Ptr(axis.max()), LabelCount: 2}}
	option.Legend.Show, option.LineStrokeWidth = lib.Ptr(false), 1.5*scale
	option.Symbol = lib.Symbol{Shape: lib.SymbolNone}
	painter := newPainter(palette, width, height)
	if err := painter.LineChart(option); err != nil {
		return nil, err
	}
	return finish(painter, "", theme.Text, width, height)
}

func newPainter(palette lib.ColorPalette, width, height int) *lib.Painter {
	return lib.NewPainter(lib.PainterOptions{
		OutputFormat: lib.ChartOutputSVG, Theme: palette, Width: width * scale, Height: height * scale,
	})
}

// font is what text is measured in; finish has what it is drawn in.
func font() lib.FontStyle {
	const pointsPerPixel = 0.75
	return lib.FontStyle{FontSize: fontSize * scale * pointsPerPixel * slack}
}

// finish makes the SVG small.
func finish(painter *lib.Painter, title, text string, width, height int) ([]byte, error) {
	drawn, err := painter.Bytes()
	if err != nil {
		return nil, err
	}
	return compact(bytes.NewReader(drawn), title, text, width, height)
}

// shape is the kind that the chart is drawn as: where bars would be thinner than a pixel
// they are areas, or lines when they stand side by side.
func (c Chart) shape(width int) Kind {
	beside := 1
	if c.Kind == Bars {
		beside = len(c.Series)
	}
	const gaps = 2
	if c.Kind != Lines && (width-axisWidth)/len(c.Labels) < beside*2+gaps {
		return Lines
	}
	return c.Kind
}

// names is the legend, or nil when there is nothing to tell apart, or no way to.
func (c Chart) names(theme Theme) []string {
	if len(c.Series) == 1 || len(c.Series) > len(theme.Series) {
		return nil
	}
	names := make([]string, len(c.Series))
	for i, series := range c.Series {
		names[i] = "\u00a0" + written(series.Name, nameLimit) // the library leaves no space after the colour
	}
	return names
}

// labels are those at the horizontal axis that have room, counted from the last, the
// others empty. The last reaches beyond the axis by overhang.
func (c Chart) labels(painter *lib.Painter, kind Kind, width int) (labels []string, overhang int) {
	labels = make([]string, len(c.Labels))
	widest, style := 0, font()
	style.FontColor = lib.ColorBlack // text without a colour has no size
	for i, label := range c.Labels {
		labels[i] = written(label, labelSize)
		widest = max(widest, painter.MeasureText(labels[i], 0, style).Width())
	}
	const gap = 10 * scale
	room := widest + gap
	slot := float64((width-axisWidth)*scale) / float64(len(labels))
	if kind == Lines {
		room += widest // the last label ends where the others begin
	} else {
		overhang = max(0, (widest-int(slot))/2)
	}
	every := max(1, int(math.Ceil(float64(room)/slot)))
	for i := range labels {
		if (len(labels)-1-i)%every != 0 {
			labels[i] = ""
		}
	}
	return labels, overhang
}

// nothing is a value that the library does not draw.
var nothing = lib.GetNullValue()

// values are the series as the library takes them. Of a bar of no height it would draw a
// line.
func (c Chart) values(axis axis, kind Kind) [][]float64 {
	values := make([][]float64, len(c.Series))
	for s, series := range c.Series {
		values[s] = axis.scaled(series.Values)
		for i, value := range values[s] {
			if value == 0 && kind != Lines {
				values[s][i] = nothing
			}
		}
	}
	return values
}
