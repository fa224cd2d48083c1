package terminal

import (
	"strings"
	"unicode/utf8"
)

// Clean takes out control characters, with which what an agent or a tool wrote
// could move the cursor or change the terminal. Line ends and tabs stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= 0xa0 || (r >= 0x20 && r < 0x7f) {
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
