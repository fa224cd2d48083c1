package charts

import (
	"math"
	"strings"
	"testing"
)

// Who sees badly, or sees fewer colours, reads the texts and tells the series apart.
func TestThemesCanBeSeen(t *testing.T) {
	for name, test := range map[string]struct {
		theme      Theme
		background string
	}{"light": {Light(), "#ffffff"}, "dark": {Dark(), "#1b1f1e"}} {
		t.Run(name, func(t *testing.T) {
			background := linear(t, test.background)
			if got := contrast(linear(t, test.theme.Text), background); got < 4.5 {
				t.Errorf("text has a contrast of %.2f:1 against the background, want 4.5:1", got)
			}
			for i, hex := range test.theme.Series {
				series := linear(t, hex)
				if got := contrast(series, background); got < 3 {
					t.Errorf("the series %s has a contrast of %.2f:1 against the background, want 3:1", hex, got)
				}
				for _, other := range test.theme.Series[:i] {
					for sight, matrix := range sights {
						// 0.02 is about the least difference that is seen side by side.
						if got := distance(see(matrix, series), see(matrix, linear(t, other))); got < 0.12 {
							t.Errorf("to %s sight %s and %s are %.3f apart, want 0.12", sight, hex, other, got)
						}
					}
				}
			}
		})
	}
}

func TestThemeSaysWhichColourIsWrong(t *testing.T) {
	good := Chart{Kind: Bars, Unit: Count, Labels: []string{"a"}, Series: []Series{{"s", []float64{1}}}}
	for _, wrong := range []string{"red", "#12345", "#1234567", "#12345g", "url(#x)", `#fff"/><script>`, ""} {
		for name, theme := range map[string]Theme{
			"text":   {Text: wrong, Axis: "#000000", Grid: "#000000", Series: []string{"#000000"}},
			"series": {Text: "#000000", Axis: "#000000", Grid: "#000000", Series: []string{wrong}},
		} {
			if _, err := good.Render(theme, 300, 200); err == nil || !strings.Contains(err.Error(), "colour") {
				t.Errorf("the colour %q of %s gives the error %v, want one that names it", wrong, name, err)
			}
		}
	}
	if _, err := good.Render(Theme{Text: "#000000", Axis: "#000000", Grid: "#000000"}, 300, 200); err == nil {
		t.Error("a theme without colours for series is taken")
	}
}

// Stylesheets have colours such as #fff too, which the library calls by names.
func TestThemeOfColoursWithNames(t *testing.T) {
	for _, hex := range []string{"#ffffff", "#000000", "#ff0000", "#0000ff", "#008000", "#c0c0c0", "#808080"} {
		theme := Theme{Text: hex, Axis: hex, Grid: hex, Series: []string{hex}}
		svg, err := Chart{Kind: Bars, Unit: Count, Labels: []string{"a"}, Series: []Series{{"s", []float64{1}}}}.Render(theme, 300, 200)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, svg).bars(t, hex); len(got) != 1 {
			t.Errorf("the bars of the colour %s are %v, want one", hex, got)
		}
	}
}

type rgb [3]float64

// sights are how colours look to people: all of them, and without each kind of cone
// (Machado, Oliveira and Fernandes 2009, severity 1.0).
var sights = map[string][3]rgb{
	"full":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopic":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopic": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopic":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func linear(t *testing.T, hex string) rgb {
	t.Helper()
	colour, err := parse(hex)
	if err != nil {
		t.Fatal(err)
	}
	var out rgb
	for i, channel := range []uint8{colour.R, colour.G, colour.B} {
		v := float64(channel) / 255
		if out[i] = v / 12.92; v > 0.04045 {
			out[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return out
}

// contrast is that of WCAG 2.
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func see(matrix [3]rgb, c rgb) rgb {
	var out rgb
	for i, row := range matrix {
		out[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return out
}

// distance is that of Oklab, in which black and white are 1 apart.
func distance(a, b rgb) float64 {
	lab := func(c rgb) rgb {
		l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
		m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
		s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
		return rgb{
			0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
			1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
			0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
		}
	}
	x, y := lab(a), lab(b)
	return math.Hypot(math.Hypot(x[0]-y[0], x[1]-y[1]), x[2]-y[2])
}
