package terminal

import (
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
