package operate

import (
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/core/cmd/harness/internal/terminal"
)

// visible is text of a stranger on one line. What cannot be seen, or changes how
// the rest is seen, is taken out: terminals obey control characters, and turn text
// around for others.
func visible(text string) string {
	return terminal.Clean(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d': // they join letters, and nobody sees them in a name
			return -1
		}
		return r
	}, text))
}

// plain is visible, with single spaces and of at most limit characters.
func plain(text string, limit int) string {
	line := []rune(strings.Join(strings.Fields(visible(text)), " "))
	if len(line) <= limit {
		return string(line)
	}
	return strings.TrimSpace(string(line[:limit-1])) + "…"
}

// The longest a stranger's words are shown.
const (
	shortText = 60
	longText  = 300
)

// list joins names, or says none.
func list[T ~string](names []T) string {
	if len(names) == 0 {
		return "none"
	}
	shown := make([]string, len(names))
	for n, name := range names {
		shown[n] = plain(string(name), shortText)
	}
	return strings.Join(shown, ", ")
}

// short is a SHA-256 as people compare it.
func short(sum string) string {
	if len(sum) > 12 {
		return sum[:12]
	}
	return sum
}
