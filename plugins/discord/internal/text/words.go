package text

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/clipperhouse/displaywidth"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// Clip cuts s to at most units, with "…" where it is cut, between letters as people count
// them.
func Clip(s string, units int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if Units(s) <= units {
		return s
	}
	if units < 1 {
		return ""
	}
	end, used := 0, 1
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		if used += Units(g.Value()); used > units {
			break
		}
		end += len(g.Value())
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace) + "…"
}

// cut is as much of the beginning of s as fits into units, runes whole.
func cut(s string, units int) string {
	for i, r := range s {
		if units -= max(utf16.RuneLen(r), 1); units < 0 {
			return s[:i]
		}
	}
	return s
}

var lineMark = lazy.Regexp("^(?:(?:#{1,6}|-#|[-*+]|>{1,3}|[0-9]{1,3}[.)]|\\[[ xX]\\])(?:\\s+|$)|`{3,}\\S*|~{3,}\\S*|-{3,}|\\*{3,})")

// Name is s as one clean line of at most units, for names of threads and the like: without
// line ends, control characters and Markdown's marks. It is "" when nothing is left.
func Name(s string, units int) string {
	s = strings.ToValidUTF8(s, "")
	var words []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		for mark := lineMark.FindString(line); mark != ""; mark = lineMark.FindString(line) {
			line = strings.TrimSpace(line[len(mark):])
		}
		words = append(words, line)
	}
	s = plain(inline(strings.Join(words, " "), nil, Limit))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || r == '\u200b' || r == '\ufeff' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return -1
		}
		return r
	}, s)
	return Clip(strings.Join(strings.Fields(s), " "), units)
}

var (
	plainURL  = lazy.Regexp(`https?://[A-Za-z0-9._/?=&%#:+,;!$-]*[A-Za-z0-9/]`)
	startMark = lazy.Regexp(`(?m)^([ \t]*)(#{1,6}|-#|[-+]|>{1,3})([ \t]|$)`)
	startList = lazy.Regexp(`(?m)^([ \t]*[0-9]+)([.)])([ \t]|$)`)
	formatted = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "|", `\|`, "`", "\\`",
		"[", `\[`, "]", `\]`, "<", `\<`, "@", "@\u200b")
)

// Escape makes the words of a stranger, a title, a name, a command, harmless in Discord's
// Markdown: no formatting, no mention, no link that hides where it leads. Addresses stay as
// they are.
func Escape(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	var b strings.Builder
	last := 0
	for _, at := range plainURL.FindAllStringIndex(s, -1) {
		b.WriteString(formatted.Replace(s[last:at[0]]) + s[at[0]:at[1]])
		last = at[1]
	}
	b.WriteString(formatted.Replace(s[last:]))
	s = startMark.ReplaceAllString(b.String(), `$1\$2$3`)
	return startList.ReplaceAllString(s, `$1\$2$3`)
}

// Fence is a code block that its content cannot break out of.
func Fence(lang, code string) string {
	if !language.MatchString(lang) {
		lang = ""
	}
	return "```" + lang + "\n" + separated(strings.TrimSuffix(code, "\n")) + "\n```"
}
