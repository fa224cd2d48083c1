package text

import (
	"html"
	"strings"
	"unicode"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

var (
	bareURL   = lazy.Regexp(`^https?://[^\s<>]*[^\s<>.,:;"'!?)\]*_~|` + "`" + `]`)
	angle     = lazy.Regexp(`^<(?:[a-z][a-z0-9+.-]*:[^\s<>]*|@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::\w)?|/[\w -]+:\d+|id:\w+)>`)
	tag       = lazy.Regexp(`^<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)/?>`)
	onlyTags  = lazy.Regexp(`(?im)^(?:[ \t]*</?(?:details|div|p|center|ul|ol|section)(?:\s[^<>\n]*)?>)+[ \t]*$\n?`)
	entity    = lazy.Regexp(`^&(?:[a-zA-Z][a-zA-Z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});`)
	blockMark = lazy.Regexp(`^(?:#{1,3}|-#|[-*+]|>{1,3}|[0-9]{1,9}[.)])(?:\s|$)`)
)

// htmlPairs are the tags whose meaning Discord has marks for.
var htmlPairs = map[string]string{
	"b": "**", "strong": "**", "i": "*", "em": "*", "u": "__", "ins": "__",
	"s": "~~", "del": "~~", "strike": "~~", "code": "`", "kbd": "`", "summary": "**",
}

// separated writes three backticks in a row with a zero-width space in between: Discord
// ends a code block at the first three, wherever they stand, and has no way to quote them.
func separated(s string) string {
	for strings.Contains(s, "```") { // more than three, too
		s = strings.ReplaceAll(s, "```", "``\u200b`")
	}
	return s
}

// inline writes a paragraph for Discord: images and links by reference as links, links that
// Discord does not follow as words, HTML that has a mark as that mark, entities as what they
// stand for. What is in code spans stays. A link longer than limit is words and its address.
func inline(s string, refs map[string]string, limit int) string {
	s = onlyTags.ReplaceAllString(s, "")
	if !strings.ContainsAny(s, "[<&`|") {
		return s
	}
	var b strings.Builder
	ticks := newTicks(s)
	lower := strings.ToLower(s)
	closing, opened := map[string]int{}, map[string]int{}
	for name := range htmlPairs {
		closing[name] = strings.LastIndex(lower, "</"+name+">")
	}
	links := findLinks(s)
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i += 2
		case c == '`':
			end, n := ticks.span(i)
			if end == 0 {
				if n >= 3 {
					b.WriteString(strings.Repeat("\\`", n))
				} else {
					b.WriteString(s[i : i+n])
				}
				i += n
				continue
			}
			span := s[i:end]
			if n >= 3 {
				code := s[i+n : end-n]
				quote := "`"
				if strings.Contains(code, "`") {
					quote = "``"
				}
				span = quote + code + quote
			}
			b.WriteString(separated(span))
			i = end
		case c == 'h' && (i == 0 || !isWord(rune(s[i-1]))):
			if url := bareURL.FindString(s[i:min(len(s), i+4*Limit)]); url != "" {
				b.WriteString(url)
				i += len(url)
				continue
			}
			b.WriteByte(c)
			i++
		case c == '!' && i+1 < len(s) && s[i+1] == '[' && links.has(i+1, refs):
			i++ // an image is the link to it
		case c == '[':
			text, dest, title, end := links.at(i, refs)
			if end == 0 {
				b.WriteByte(c)
				i++
				continue
			}
			if text = inline(text, nil, limit); strings.Contains(text, "](") {
				text = plain(text) // a picture that is a link
			}
			b.WriteString(link(text, dest, title, limit))
			i = end
		case c == '<':
			if m := angle.FindString(s[i:min(len(s), i+4*Limit)]); m != "" {
				b.WriteString(m)
				i += len(m)
				continue
			}
			m := tag.FindStringSubmatch(s[i:min(len(s), i+400)])
			if m == nil {
				b.WriteByte(c)
				i++
				continue
			}
			name := strings.ToLower(m[2])
			mark, paired := htmlPairs[name]
			switch {
			case name == "br":
				b.WriteByte('\n')
			case paired && m[1] == "" && closing[name] > i:
				opened[name]++
				b.WriteString(mark)
			case paired && m[1] == "/" && opened[name] > 0:
				opened[name]--
				b.WriteString(mark)
			default:
				b.WriteString(m[0])
			}
			i += len(m[0])
		case c == '|' && strings.HasPrefix(s[max(i-1, 0):], " || "):
			b.WriteString(`\|\|`) // an "or", not what is hidden between two
			i += 2
		case c == '&':
			if m := entity.FindString(s[i:min(len(s), i+40)]); m != "" {
				b.WriteString(html.UnescapeString(m))
				i += len(m)
				continue
			}
			b.WriteByte(c)
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return separated(b.String())
}

// link is a link as Discord follows it: a masked one leads to the web and is not named like
// an address.
func link(text, dest, title string, limit int) string {
	bare := strings.Trim(dest, "<>")
	web := strings.HasPrefix(bare, "https://") || strings.HasPrefix(bare, "http://") || strings.HasPrefix(bare, "discord://")
	switch {
	case strings.TrimSpace(text) == "" || text == bare:
		return dest
	case !web || strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://"):
		if !web && !strings.Contains(dest, "`") {
			dest = "`" + bare + "`"
		}
		if title != "" {
			return text + " (" + dest + " " + title + ")"
		}
		return text + " (" + dest + ")"
	}
	if title != "" {
		title = " " + title
	}
	whole := "[" + text + "](" + dest + title + ")"
	if Units(whole) > limit {
		return text + title + " " + dest
	}
	return whole
}

// plain is a text without its inline marks, as it is read: for where none are shown.
func plain(s string) string {
	var b strings.Builder
	drop := map[int]int{}
	ticks, links := newTicks(s), findLinks(s)
	var open, spans []span
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && unicode.IsPunct(rune(s[i+1])) || c == '\\' && i+1 < len(s) && strings.ContainsRune("|~`<>+=^$", rune(s[i+1])):
			drop[i] = 1
			i += 2
		case c == '`':
			end, n := ticks.span(i)
			if end > 0 {
				drop[i], drop[end-n] = n, n
				i = end
				continue
			}
			i += n
		case c == '[':
			if text, _, _, end := links.at(i, nil); end > 0 {
				drop[i] = 1
				drop[i+1+len(text)] = end - (i + 1 + len(text))
			}
			i++
		case c == 'h':
			url := bareURL.FindString(s[i:min(len(s), i+4*Limit)])
			i += max(len(url), 1)
		case c == '*' || c == '_' || c == '~' || c == '|':
			n := run(s, i)
			open, spans = pair(s, i, n, open, spans)
			i += n
		default:
			i++
		}
	}
	for _, sp := range spans {
		drop[sp.start], drop[sp.end-len(sp.mark)] = len(sp.mark), len(sp.mark)
	}
	for i := 0; i < len(s); {
		if n := drop[i]; n > 0 {
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// beginsBlock says whether words at the beginning of a line would be more than words.
func beginsBlock(s string) bool { return blockMark.MatchString(s) }
