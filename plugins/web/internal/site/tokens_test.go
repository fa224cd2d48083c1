package site

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/plugins/web/internal/charts"
)

// byTheme are the colours of both themes, by their names.
func byTheme() map[string]map[string]string {
	light, dark := make(map[string]string), make(map[string]string)
	for _, token := range Tokens() {
		if token.Colour() {
			light[token.Name], dark[token.Name] = token.Light, token.Dark
		}
	}
	return map[string]map[string]string{"light": light, "dark": dark}
}

// Who sees badly reads the words, finds the fields and sees where the focus is, in both
// themes.
func TestColoursCanBeSeen(t *testing.T) {
	for theme, colours := range byTheme() {
		for _, pair := range Pairings() {
			got, err := Contrast(colours[pair.Front], colours[pair.Back])
			if err != nil {
				t.Errorf("%s on %s: %v", pair.Front, pair.Back, err)
			} else if got < pair.Least {
				t.Errorf("in the %s theme %s on %s has a contrast of %.2f:1, want %v:1", theme, pair.Front, pair.Back, got, pair.Least)
			}
		}
	}
}

// A chart is of the page that it stands on.
func TestChartsHaveTheColoursOfThePages(t *testing.T) {
	for theme, drawn := range map[string]charts.Theme{"light": charts.Light(), "dark": charts.Dark()} {
		of := byTheme()[theme]
		want := charts.Theme{Text: of["quiet"], Axis: of["edge"], Grid: of["line"]}
		for _, name := range []string{"series-1", "series-2", "series-3", "series-4", "series-5", "series-6"} {
			want.Series = append(want.Series, of[name])
		}
		if drawn.Text != want.Text || drawn.Axis != want.Axis || drawn.Grid != want.Grid || !slices.Equal(drawn.Series, want.Series) {
			t.Errorf("charts are drawn with %+v in the %s theme, whose tokens are %+v", drawn, theme, want)
		}
	}
}

var literal = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(|:[^;{]*\b(?:white|black|gr[ae]y|red|green|blue|yellow|orange)\b`)

// A colour that is written anywhere else is that of one theme only.
func TestColoursAreTokens(t *testing.T) {
	known := make(map[string]bool)
	for _, token := range Tokens() {
		known[token.Name] = true
	}
	sheets, err := fs.Glob(embedded, "assets/style/*.css")
	if err != nil || len(sheets) < 4 {
		t.Fatal(sheets, err)
	}
	for _, sheet := range sheets {
		text := comments.ReplaceAllString(Style(strings.TrimPrefix(sheet, "assets/style/")), "")
		if !strings.HasSuffix(sheet, "00-tokens.css") {
			for _, rule := range rules.FindAllStringSubmatch(text, -1) {
				if found := literal.FindString(rule[2]); found != "" {
					t.Errorf("%s: %s has the colour %s; colours are tokens", sheet, strings.TrimSpace(rule[1]), found)
				}
			}
		}
		for _, used := range variable.FindAllStringSubmatch(text, -1) {
			if !known[used[1]] {
				t.Errorf("%s: there is no token %s", sheet, used[1])
			}
		}
	}
}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/`)
	rules    = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	variable = regexp.MustCompile(`var\(--([a-z0-9-]+)\)`) // one with a value to fall back on is a script's
)
