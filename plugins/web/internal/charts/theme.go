package charts

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	lib "github.com/go-analyze/charts"
)

// Theme has the colours of a chart, each as #rrggbb. They are the tokens of the stylesheet
// of the page that the chart stands on. The background is the page's: charts have none.
type Theme struct {
	Text   string
	Axis   string   // the line at zero
	Grid   string   // the other lines
	Series []string // in order
}

// Light is for pages in the light theme; its colours are the stylesheet's tokens quiet, edge,
// line and series-1 and on. Text has a contrast of at least 4.5:1 against the grounds of the
// theme, and series one of at least 3:1; all series can be told apart with each of the three
// kinds of colour blindness.
func Light() Theme {
	return Theme{
		Text: "#535d5a", Axis: "#858c87", Grid: "#e0e2dd",
		Series: []string{"#297288", "#af8926", "#3f3887", "#9a5224", "#7e88db", "#73213c"},
	}
}

// Dark is for pages in the dark theme: see Light.
func Dark() Theme {
	return Theme{
		Text: "#a3ada9", Axis: "#76807c", Grid: "#2d3331",
		Series: []string{"#519bcd", "#cab586", "#5069a3", "#b5862f", "#63cbea", "#a1563d"},
	}
}

// palette is the theme as the library has it, with a colour for each of n series.
func (t Theme) palette(n int) (lib.ColorPalette, error) {
	if len(t.Series) == 0 {
		return nil, errors.New("the theme has no colours for series: it needs at least one")
	}
	colours := make([]lib.Color, 3, 3+n)
	for i, text := range []string{t.Text, t.Axis, t.Grid} {
		colour, err := parse(text)
		if err != nil {
			return nil, err
		}
		colours[i] = colour
	}
	for i := range n {
		colour, err := parse(t.Series[i%len(t.Series)])
		if err != nil {
			return nil, err
		}
		colours = append(colours, colour)
	}
	return lib.MakeTheme(lib.ThemeOption{
		TextColor: colours[0], AxisStrokeColor: colours[1], AxisSplitLineColor: colours[2],
		BackgroundColor: lib.ColorTransparent, SeriesColors: colours[3:],
	}), nil
}

func parse(text string) (lib.Color, error) {
	digits, found := strings.CutPrefix(text, "#")
	rgb, err := hex.DecodeString(digits)
	if !found || err != nil || len(rgb) != 3 {
		return lib.Color{}, fmt.Errorf("the theme has the colour %q: it has to be # and six digits, such as #59636e", text)
	}
	return lib.Color{R: rgb[0], G: rgb[1], B: rgb[2], A: 255}, nil
}
