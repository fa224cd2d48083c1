package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
