package text

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	bareURL   = regexp.MustCompile(`^https?://[^\s<>]*[^\s<>.,:;"'!?)\]*_~|` + "`" + `]`)
	angle     = regexp.MustCompile(`^<(?:[a-z][a-z0-9+.-]*:[^\s<>]*|@[!&]?\d+|#\d+|a?:\w+:\d+|t:-?\d+(?::\w)?|/[\w -]+:\d+|id:\w+)>`)
	tag       = regexp.MustCompile(`^<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s[^<>]*)?)/?>`)
	onlyTags  = regexp.MustCompile(`(?im)^(?:[ \t]*</?(?:details|div|p|center|ul|ol|section)(?:\s[^<>\n]*)?>)+[ \t]*$\n?`)
	entity    = regexp.MustCompile(`^&(?:[a-zA-Z][a-zA-Z0-9]{1,30}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});`)
	blockMark = regexp.MustCompile(`^(?:#{1,3}|-#|[-*+]|>{1,3}|[0-9]{1,9}[.)])(?:\s|$)`)
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

// linkSet is where the labels of links begin and end in a text.
type linkSet struct {
	s     string
	close map[int]int // of "[", its "]"
}

// findLinks finds what stands in brackets, outside code.
func findLinks(s string) linkSet {
	set := linkSet{s, map[int]int{}}
	if !strings.Contains(s, "]") {
		return set
	}
	ticks := newTicks(s)
	var open []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			if end, n := ticks.span(i); end > 0 {
				i = end - 1
			} else {
				i += n - 1
			}
		case '[':
			open = append(open, i)
		case ']':
			if n := len(open); n > 0 {
				set.close[open[n-1]] = i
				open = open[:n-1]
			}
		}
	}
	return set
}

var destination = regexp.MustCompile(`^\(\s*(<[^<>\n]*>|(?:[^\s()<>]|\([^\s()<>]*\))*)(?:\s+("[^"\n]*"|'[^'\n]*'))?\s*\)`)

// at is the link that begins at i, and where it ends; 0 when there is none.
func (l linkSet) at(i int, refs map[string]string) (text, dest, title string, end int) {
	shut, ok := l.close[i]
	if !ok {
		return "", "", "", 0
	}
	text = l.s[i+1 : shut]
	rest := l.s[shut+1:]
	if strings.HasPrefix(rest, "(") {
		// A "](" in an address begins another link; looking stops there.
		near := rest[:min(len(rest), 4*Limit)]
		if next := strings.Index(near, "]("); next >= 0 {
			near = near[:next]
		}
		if m := destination.FindStringSubmatch(near); m != nil {
			return text, m[1], m[2], shut + 1 + len(m[0])
		}
	}
	if len(refs) == 0 {
		return "", "", "", 0
	}
	label, end := text, shut+1
	if strings.HasPrefix(rest, "[") {
		if second, ok := l.close[shut+1]; ok {
			end = second + 1
			if second > shut+2 {
				label = l.s[shut+2 : second]
			}
		}
	}
	if dest, ok = refs[labelOf(label)]; !ok {
		return "", "", "", 0
	}
	return text, dest, "", end
}

func (l linkSet) has(i int, refs map[string]string) bool {
	_, _, _, end := l.at(i, refs)
	return end > 0
}

// labelOf is the label of a link by reference as it is compared.
func labelOf(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// ticks are the runs of backticks of a text.
type ticks struct {
	s    string
	runs map[int][]int // by length, where they begin
}

func newTicks(s string) *ticks {
	t := &ticks{s, map[int][]int{}}
	for i := 0; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		n := run(s, i)
		t.runs[n] = append(t.runs[n], i)
		i += n - 1
	}
	return t
}

// span is the code span that the backticks at i open: where it ends, 0 when nothing closes
// it, and how many backticks there are.
func (t *ticks) span(i int) (end, n int) {
	n = run(t.s, i)
	runs := t.runs[n]
	if k, _ := slices.BinarySearch(runs, i+n); k < len(runs) {
		return runs[k] + n, n
	}
	return 0, n
}

// run is how often the byte at i stands there in a row.
func run(s string, i int) int {
	n := 1
	for i+n < len(s) && s[i+n] == s[i] {
		n++
	}
	return n
}

// prose is a paragraph and what its cuts have to heed.
type prose struct {
	text   string
	units  int
	states []state
}

// state is what is open in a paragraph from an offset on, up to the next state's.
type state struct {
	from  int
	marks []string // what a cut closes and opens again, outermost first
	whole bool     // no cut
}

// span is a stretch of a paragraph: what is between two marks, or, without mark, whole.
type span struct {
	start, end int
	mark       string
}

// newProse finds the spans of a paragraph: code, links, addresses, and what stands in marks.
func newProse(s string, limit int) *prose {
	p := &prose{text: s, units: Units(s)}
	if !strings.ContainsAny(s, "`[<:*_~|\\") {
		return p
	}
	ticks, links := newTicks(s), findLinks(s)
	var spans []span
	var open []span
	whole := func(start, end int) {
		spans = append(spans, span{start: start, end: end})
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			whole(i, i+2)
			i += 2
		case c == '`':
			end, n := ticks.span(i)
			if end == 0 {
				whole(i, i+n)
				i += n
				continue
			}
			if Units(s[i:end]) <= limit/4 {
				whole(i, end)
			} else {
				spans = append(spans, span{i, end, s[i : i+n]})
			}
			i = end
		case c == '[':
			if _, _, _, end := links.at(i, nil); end > 0 && Units(s[i:end]) <= limit {
				whole(i, end)
				i = end
				continue
			}
			i++
		case c == '<':
			if m := angle.FindString(s[i:min(len(s), i+4*Limit)]); m != "" {
				whole(i, i+len(m))
				i += len(m)
				continue
			}
			i++
		case c == 'h' && (i == 0 || !isWord(rune(s[i-1]))):
			if url := bareURL.FindString(s[i:min(len(s), i+4*Limit)]); url != "" && Units(url) <= limit*9/10 {
				whole(i, i+len(url))
				i += len(url)
				continue
			}
			i++
		case c == '*' || c == '_' || c == '~' || c == '|':
			n := run(s, i)
			open, spans = pair(s, i, n, open, spans)
			whole(i, i+n)
			i += n
		default:
			i++
		}
	}
	p.states = states(spans)
	return p
}

// pair closes and opens what the n marks at i may: *, **, _, __, ~~ and ||.
func pair(s string, i, n int, open, spans []span) ([]span, []span) {
	if n > 3 || (s[i] == '~' || s[i] == '|') && n != 2 {
		return open, spans
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	closes := i > 0 && !unicode.IsSpace(before) && (s[i] != '_' || i+n == len(s) || !isWord(after))
	opens := i+n < len(s) && !unicode.IsSpace(after) && (s[i] != '_' || i == 0 || !isWord(before))
	if s[i] == '|' { // Discord hides whatever is between two, spaces too
		closes = slices.ContainsFunc(open, func(m span) bool { return m.mark == "||" })
		opens = !closes
	}
	at := i
	for closes && n > 0 {
		k := len(open) - 1
		for k >= 0 && (open[k].mark[0] != s[i] || len(open[k].mark) > n) {
			k--
		}
		if k < 0 {
			break
		}
		m := open[k]
		at, n = at+len(m.mark), n-len(m.mark)
		spans = append(spans, span{m.start, at, m.mark})
		open = open[:k]
	}
	if !opens {
		return open, spans
	}
	if n >= 2 {
		open = append(open, span{start: at, mark: s[at : at+2]})
		at, n = at+2, n-2
	}
	if n == 1 {
		open = append(open, span{start: at, mark: s[at : at+1]})
	}
	if len(open) > 8 {
		open = open[len(open)-8:]
	}
	return open, spans
}

// states makes of spans what holds from offset to offset.
func states(spans []span) []state {
	type edge struct {
		at    int
		open  bool
		order int // of its span: outer ones first
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	var edges []edge
	for k, s := range spans {
		from, to := s.start+1, s.end
		if s.mark != "" {
			from, to = s.start+len(s.mark), s.end-len(s.mark)+1
		}
		if from < to {
			edges = append(edges, edge{from, true, k}, edge{to, false, k})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.at - b.at })
	var out []state
	var marks []int
	wholes := 0
	for k, e := range edges {
		switch {
		case spans[e.order].mark == "" && e.open:
			wholes++
		case spans[e.order].mark == "":
			wholes--
		case e.open:
			marks = append(marks, e.order)
			slices.Sort(marks)
		default:
			marks = slices.DeleteFunc(marks, func(o int) bool { return o == e.order })
		}
		if k+1 < len(edges) && edges[k+1].at == e.at {
			continue
		}
		st := state{from: e.at, whole: wholes > 0}
		for _, o := range marks {
			st.marks = append(st.marks, spans[o].mark)
		}
		out = append(out, st)
	}
	return out
}

// at is what is open at an offset.
func (p *prose) at(offset int) (marks []string, whole bool) {
	k, found := slices.BinarySearchFunc(p.states, offset, func(s state, at int) int { return s.from - at })
	if !found {
		k--
	}
	if k < 0 {
		return nil, false
	}
	st := p.states[k]
	for _, m := range st.marks {
		// Marks of a cut beside marks of the text would be other marks.
		before, after := strings.TrimRight(p.text[:offset], " \t\n"), strings.TrimLeft(p.text[offset:], " \t\n")
		if strings.HasPrefix(after, m[:1]) || strings.HasSuffix(before, m[:1]) {
			return nil, true
		}
	}
	return st.marks, st.whole
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
