package site

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// Token is a value that the stylesheet is made of.
type Token struct {
	Name string // without the dashes
	// Light and Dark are its value in the themes, a colour as #rrggbb; both are the same where
	// the themes do not differ.
	Light, Dark string
}

var (
	declaration = regexp.MustCompile(`(?m)^\s*--([a-z0-9-]+): (.+);$`)
	ofThemes    = regexp.MustCompile(`^light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)$`)
)

// Tokens returns the values of the stylesheet, in its order.
func Tokens() (all []Token) {
	for _, found := range declaration.FindAllStringSubmatch(Style("00-tokens.css"), -1) {
		token := Token{found[1], found[2], found[2]}
		if themes := ofThemes.FindStringSubmatch(found[2]); themes != nil {
			token.Light, token.Dark = themes[1], themes[2]
		}
		all = append(all, token)
	}
	return all
}

// Colour reports whether the token is a colour of its own in each theme.
func (t Token) Colour() bool { return strings.HasPrefix(t.Light, "#") }

// Style returns a stylesheet by the name of its file.
func Style(name string) string {
	text, err := embedded.ReadFile("assets/style/" + name)
	if err != nil {
		panic(err) // the files are a part of this program
	}
	return string(text)
}

// Contrast is that of two colours, as WCAG 2 has it: from 1, for the same, to 21. Colours are
// written as #rrggbb.
func Contrast(a, b string) (float64, error) {
	x, err := luminance(a)
	if err != nil {
		return 0, err
	}
	y, err := luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05), err
}

func luminance(colour string) (sum float64, err error) {
	digits, found := strings.CutPrefix(colour, "#")
	channels, err := hex.DecodeString(digits)
	if !found || err != nil || len(channels) != 3 {
		return 0, fmt.Errorf("%q is no colour such as #59636e", colour)
	}
	for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(channels[n]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum, nil
}

// Pairing is a colour that is seen on another, both by their tokens, with the least contrast
// that it may have there: 4.5 for words, 3 for what is drawn.
type Pairing struct {
	Front, Back string
	Least       float64
}

// Pairings returns what stands on what.
func Pairings() (pairs []Pairing) {
	grounds := []string{"ground", "surface", "sunken"}
	tones := []string{"accent", "good", "busy", "wait", "bad"}
	add := func(least float64, fronts []string, backs ...string) {
		for _, front := range fronts {
			for _, back := range backs {
				pairs = append(pairs, Pairing{front, back, least})
			}
		}
	}
	add(4.5, append([]string{"ink", "quiet"}, tones...), grounds...)
	for _, tone := range tones {
		add(4.5, []string{tone, "ink", "quiet"}, tone+"-soft")
	}
	add(4.5, []string{"accent"}, "good-soft", "busy-soft", "wait-soft", "bad-soft", "line") // links in an alert
	add(4.5, []string{"ink", "quiet"}, "line")                                              // badges and counts
	add(4.5, []string{"on-accent"}, "accent")
	code := []string{"code-keyword", "code-name", "code-string", "code-number", "code-comment"}
	add(4.5, code, "sunken", "surface", "good-soft", "bad-soft")
	add(3, []string{"edge", "accent"}, grounds...) // of fields, and where the focus is
	add(3, []string{"bad"}, "surface")
	add(3, []string{"series-1", "series-2", "series-3", "series-4", "series-5", "series-6"}, "ground", "surface")
	return pairs
}
