package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean takes out what an agent, a tool or a plugin could play with the terminal
// by: control characters, which move the cursor and change colors, and characters
// that cannot be seen, of which some turn text around. Line ends and tabs stay,
// and what joins letters and emoji.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d', unicode.IsGraphic(r):
			return r
		}
		return -1
	}, text)
}

// Short returns text on one line of at most limit characters.
func Short(text string, limit int) string {
	line := strings.Join(strings.Fields(Clean(text)), " ")
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:limit-1])) + "…"
}

// Visible shows what somebody is asked to allow as it is: what Clean takes out is written
// as an escape, such as \x1b, since it is part of what will be done; so are spaces of other
// kinds than the usual one, and letters that cannot be seen. Line ends and tabs stay.
func Visible(text string) string {
	var shown strings.Builder
	for _, r := range text {
		switch {
		case r == '\n', r == '\t', r == ' ', seen(r):
			shown.WriteRune(r)
		default:
			shown.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return shown.String()
}

// seen reports whether a character leaves something on the screen.
func seen(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsGraphic(r) && r != utf8.RuneError && r != blankBraille &&
		!unicode.In(r, unicode.Zs, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
