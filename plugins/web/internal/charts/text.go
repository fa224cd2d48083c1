package charts

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// plain makes a name that came from anywhere one line of visible text: no control
// characters, none that turn the direction of what is around them, and at most limit
// columns wide, with … at its end when there was more.
func plain(name string, limit int) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control, unicode.Noncharacter_Code_Point), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	end, used := 0, 0
	for i, r := range name {
		if used += columns(r); used > limit {
			return strings.TrimSpace(name[:end]) + "…"
		}
		if used < limit {
			end = i + len(string(r))
		}
	}
	return name
}

// columns is 2 for Chinese, Japanese and Korean characters and emoji, and 1 for others.
func columns(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// written is plain as the library may measure it. Its font has the scripts of Europe, and
// takes all other characters to be narrower than they are: spaces behind the name, which
// nobody sees, make up for that.
func written(name string, limit int) string {
	name = plain(name, limit)
	var missing float64 // in widths of an em space
	for _, r := range name {
		switch {
		case columns(r) == 2:
			missing += 0.6
		case r > unicode.MaxLatin1 && unicode.IsLetter(r) && !unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
			missing += 0.2
		}
	}
	return name + strings.Repeat("\u2003", int(math.Ceil(missing)))
}
