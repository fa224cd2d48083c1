package text

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// packer cuts rows into parts, from the first to the last.
type packer struct {
	rows  []row
	limit int
	i, at int // the next part's first row, and where in its text it begins
}

// place is where a part may end.
type place struct {
	kept  int    // how much the part has of what is written
	said  string // and what comes behind it
	i, at int    // where the next part begins
	score float64
}

// What it costs to cut, as a share of a part that may be left empty for a better place.
const (
	costNest     = 0.12 // in a list or quote, for each around both sides
	costClose    = 0.10 // blocks without an empty line between them
	costLead     = 0.30 // after "…:"
	costWhole    = 0.25 // in a block that fits into one part
	costCodeTop  = 0.15 // before a line of code that begins something
	costLine     = 0.40
	costSentence = 0.45
	costCode     = 0.50
	costWord     = 0.80
	costLetter   = 1.00
	costBold     = 1.00 // behind a bold line, which is a heading too
	costInTitle  = 2.00 // in a heading: better before it
	costHeading  = 3.00 // behind a heading: only when there is no other place
)

// next is the next part, "" when there is no more.
func (p *packer) next() string {
	if p.i >= len(p.rows) {
		return ""
	}
	if r := &p.rows[p.i]; r.code == nil { // a message may not begin with spaces
		p.at = len(r.text) - len(strings.TrimLeft(r.text[p.at:], " \t"))
	}
	w := &writer{rows: p.rows, limit: p.limit, first: p.i}
	best := place{score: math.Inf(-1)}
	// units are those of what is kept.
	consider := func(q place, units int, cost float64) {
		if units += Units(q.said); units > p.limit {
			return
		}
		if q.score = float64(units)/float64(p.limit) - cost; q.score >= best.score {
			best = q
		}
	}
	at := p.at
	for i := p.i; ; i++ {
		if i > p.i {
			if q, ok := w.end(i); ok {
				if i == len(p.rows) && w.units+Units(q.said) <= p.limit {
					p.i = i
					return w.part(q)
				}
				if i < len(p.rows) {
					consider(q, w.units, p.cost(i))
				}
			}
			if i == len(p.rows) {
				break
			}
		}
		w.begin(i, at)
		text := p.rows[i].text[at:]
		if len(text) > 3*p.limit || w.units+Units(text) > p.limit {
			p.inside(w, i, at, consider)
			break
		}
		w.write(text)
		at = 0
	}
	if math.IsInf(best.score, -1) {
		w, best = p.force()
	}
	p.i, p.at = best.i, best.at
	return w.part(best)
}

// cost is what a cut before row i costs.
func (p *packer) cost(i int) float64 {
	a, b := &p.rows[i-1], &p.rows[i]
	if a.heading() {
		return costHeading
	}
	switch {
	case a.code != nil && a.code == b.code:
		cost := codeCost(a.text, b)
		if b.code.units < p.limit*9/10 {
			cost += costWhole
		}
		return cost
	case a.para != nil && a.para == b.para:
		if b.para.units < p.limit*9/10 {
			return costLine + costWhole
		}
		return costLine
	}
	cost := costNest * float64(common(a, b))
	if !b.gap {
		cost += costClose
	}
	if strings.HasSuffix(strings.TrimRight(a.text, "*_ "), ":") || b.code != nil && a.mark == "-# " {
		cost += costLead
	}
	if a.rule {
		cost += costClose
	}
	if a.para != nil && len(a.text) > 4 && strings.HasPrefix(a.text, "**") && strings.HasSuffix(a.text, "**") && len(a.in) == 0 {
		cost += costBold
	}
	return cost
}

// codeCost is what a cut between two lines of code costs: less where something begins, the
// further to the left the less.
func codeCost(before string, r *row) float64 {
	line := strings.TrimLeft(r.text, " \t")
	if r.code.lang == "diff" {
		switch {
		case strings.HasPrefix(r.text, "diff "), strings.HasPrefix(r.text, "--- ") && !strings.HasPrefix(before, "index "):
			return costCodeTop
		case strings.HasPrefix(r.text, "@@ ") && !strings.HasPrefix(before, "+++ "):
			return costCodeTop + costClose
		}
		return costCode
	}
	if line == "" || strings.ContainsRune("}])", rune(line[0])) || strings.HasPrefix(line, "end") {
		return costCode
	}
	cost := costCodeTop
	for _, c := range r.text[:len(r.text)-len(line)] {
		if cost += 0.06; c == '\t' {
			cost += 0.06
		}
	}
	if strings.TrimSpace(before) == "" {
		cost -= costClose
	}
	return min(cost, costCode)
}

// common is how many boxes two rows are both in.
func common(a, b *row) int {
	n := 0
	for n < len(a.in) && n < len(b.in) && a.in[n] == b.in[n] {
		n++
	}
	return n
}

// inside considers the places in a row that does not fit whole: behind sentences, words,
// letters.
func (p *packer) inside(w *writer, i, at int, consider func(place, int, float64)) {
	r := &p.rows[i]
	text := r.text[at:]
	text = text[:min(len(text), 3*p.limit)]
	cost := 0.0
	if r.para != nil && r.para.units < p.limit*9/10 {
		cost = costWhole
	}
	if r.heading() {
		cost += costInTitle
	}
	type found struct {
		at   int
		cost float64
	}
	var sentence, word, letter found
	used, last := w.units, rune(0)
	g := displaywidth.StringGraphemes(text)
	for pos := 0; g.Next() && used <= p.limit; {
		v := g.Value()
		if pos > 0 {
			open, whole := r.open(at + pos)
			rest := strings.TrimLeft(text[pos:], " \t")
			space := unicode.IsSpace(last) || strings.TrimLeft(v, " \t") == ""
			if !whole && used+Units(w.tail(r, open)) <= p.limit && (r.code != nil || !beginsBlock(rest)) {
				more := cost + 0.05*float64(len(open))
				letter = found{pos, costLetter + more}
				if space {
					word = found{pos, costWord + more}
					if endsSentence(text[:pos]) {
						sentence = found{pos, costSentence + more}
					}
				} else if strings.ContainsRune("。！？", last) {
					sentence, word = found{pos, costSentence + more}, found{pos, costWord + more}
				}
			}
		}
		used += Units(v)
		pos += len(v)
		last, _ = utf8.DecodeLastRuneInString(v)
	}
	for _, f := range []found{letter, word, sentence} {
		if f.at == 0 {
			continue
		}
		open, _ := r.open(at + f.at)
		said, next := text[:f.at], at+f.at
		if r.code == nil {
			said = strings.TrimRight(said, " \t")
			next += len(r.text[next:]) - len(strings.TrimLeft(r.text[next:], " \t"))
		}
		consider(place{kept: w.b.Len(), said: said + w.tail(r, open), i: i, at: next}, w.units, f.cost)
	}
}

// force cuts where nothing allows it, in letters of more than a part: at a rune.
func (p *packer) force() (*writer, place) {
	r := &p.rows[p.i]
	w := &writer{rows: p.rows, limit: p.limit, first: p.i}
	w.begin(p.i, p.at)
	tail := w.tail(r, nil)
	said := cut(r.text[p.at:], max(p.limit-w.units-Units(tail), 2))
	q := place{kept: w.b.Len(), said: said + tail, i: p.i, at: p.at + len(said)}
	if q.at == len(r.text) {
		q.i, q.at = p.i+1, 0
	}
	return w, q
}

// open is what is open in a row at an offset, and whether no cut is allowed there.
func (r *row) open(at int) (marks []string, whole bool) {
	if r.para == nil {
		return nil, false
	}
	return r.para.at(r.at + at)
}

// end is where the last words of a row begin that are at most units long.
func (r *row) end(units int) int {
	left := Units(r.text) - units
	at, begun := 0, false
	last := len(r.text)
	for g := displaywidth.StringGraphemes(r.text); g.Next(); {
		v := g.Value()
		if _, whole := r.open(at); left <= 0 && !whole {
			last = min(last, at)
			if begun { // at a word, if one begins soon
				return at
			}
			if -left > 40 {
				break
			}
		}
		begun = strings.TrimSpace(v) == ""
		left -= Units(v)
		at += len(v)
	}
	return last
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, " \t\"'”’)*_")
	last, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?…。！？؟।", last)
}
