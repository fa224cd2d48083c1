package search

import (
	"unicode"
	"unicode/utf8"
)

// maxQuery is how many bytes of a query are read.
const maxQuery = 1 << 10

// want is a word that a query asks for.
type want struct {
	folded string
	prefix bool // all words that begin so
	wide   bool
}

func (w want) is(folded []byte) bool {
	if w.prefix {
		return len(folded) >= len(w.folded) && string(folded[:len(w.folded)]) == w.folded
	}
	return string(folded) == w.folded
}

// phrase is words that stand beside each other; mostly one.
type phrase []want

// query is what a text asks for: messages that have each of its phrases.
type query struct {
	phrases []phrase
	// singles are the phrases of one word without a prefix, by that word.
	singles map[string]int
	others  []int // all other phrases
}

// parse reads a query. Every text is one; without a word in it, it has no phrases.
func parse(text string) *query {
	q := &query{singles: make(map[string]int)}
	if len(text) > maxQuery {
		cut := maxQuery
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	known := make(map[string]bool)
	add := func(p phrase) {
		var key []byte
		for _, w := range p {
			key = append(append(key, w.folded...), ' ')
			if w.prefix {
				key = append(key, '*')
			}
		}
		if len(p) == 0 || known[string(key)] {
			return
		}
		known[string(key)] = true
		if len(p) == 1 && !p[0].prefix {
			q.singles[p[0].folded] = len(q.phrases)
		} else {
			q.others = append(q.others, len(q.phrases))
		}
		q.phrases = append(q.phrases, p)
	}
	for quoted, rest := false, text; rest != ""; quoted = !quoted {
		part := rest
		if i, size := nextQuote(rest); i >= 0 {
			part, rest = rest[:i], rest[i+size:]
		} else {
			rest = ""
		}
		var current phrase
		end := 0 // of the word before
		split(part, func(found word) bool {
			w := want{folded: string(found.folded), wide: found.wide, prefix: !found.wide && starred(part[found.end:])}
			if len(current) > 0 && found.start < end { // both are of one character: ½ is 1 and 2, and the * ends the 2
				current[len(current)-1].prefix = false
			}
			goesOn := quoted || w.wide && len(current) > 0 && current[len(current)-1].wide && end == found.start
			if !goesOn {
				add(current)
				current = nil
			}
			current, end = append(current, w), found.end
			return true
		})
		add(current)
	}
	return q
}

// nextQuote returns where the next double quote is, also a typographic one, and its size.
func nextQuote(text string) (at, size int) {
	for i, r := range text {
		switch r {
		case '"', '“', '”', '„':
			return i, utf8.RuneLen(r)
		}
	}
	return -1, 0
}

// starred reports whether what follows a word makes it a prefix: a * behind which no other
// word begins.
func starred(rest string) bool {
	if rest == "" || rest[0] != '*' {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest[1:])
	return rest == "*" || !unicode.IsLetter(r) && !unicode.IsNumber(r)
}

// matcher holds texts against a query. It is for one goroutine.
type matcher struct {
	query  *query
	counts []int   // how often each phrase was found in the text
	active [][]int // for each of others: how many of its words have just been seen
	starts [][]int // and where the first of those stood
	work   int     // how many times a word of a phrase was compared in the last text
}

func (q *query) matcher() *matcher {
	return &matcher{
		query: q, counts: make([]int, len(q.phrases)),
		active: make([][]int, len(q.others)), starts: make([][]int, len(q.others)),
	}
}

// match reports whether a text has all phrases of the query, and how well it fits. Found,
// unless it is nil, is called with where each phrase stands.
func (m *matcher) match(text string, found func(phrase, start, end int)) (score float64, ok bool) {
	clear(m.counts)
	m.work = 0
	for i := range m.active {
		m.active[i], m.starts[i] = m.active[i][:0], m.starts[i][:0]
	}
	length := 0
	split(text, func(w word) bool {
		length++
		if i, ok := m.query.singles[string(w.folded)]; ok {
			m.counts[i]++
			if found != nil {
				found(i, w.start, w.end)
			}
		}
		for n, i := range m.query.others {
			m.advance(n, i, w, found)
		}
		return true
	})
	for _, count := range m.counts {
		if count == 0 {
			return 0, false
		}
	}
	return m.score(length), len(m.counts) > 0
}

// advance tells one of the others, a phrase, of the text's next word.
func (m *matcher) advance(n, i int, w word, found func(phrase, start, end int)) {
	p := m.query.phrases[i]
	active, starts := m.active[n], m.starts[n]
	m.work += len(active)
	kept := 0
	for k, seen := range active {
		if !p[seen].is(w.folded) {
			continue
		}
		if seen++; seen < len(p) {
			active[kept], starts[kept] = seen, starts[k]
			kept++
			continue
		}
		m.counts[i]++
		if found != nil {
			found(i, starts[k], w.end)
		}
	}
	active, starts = active[:kept], starts[:kept]
	if p[0].is(w.folded) {
		if len(p) == 1 {
			m.counts[i]++
			if found != nil {
				found(i, w.start, w.end)
			}
		} else {
			active, starts = append(active, 1), append(starts, w.start)
		}
	}
	m.active[n], m.starts[n] = active, starts
}

// The constants of BM25 (Robertson, Zaragoza 2009), with a usual length in the place of
// the average one: so a score depends on nothing but the text and the query, and a page
// goes on where the one before ended, whatever has been said meanwhile.
const (
	saturation  = 1.2
	lengthening = 0.75
	usualLength = 60 // words
)

// score says how well the text fits: BM25 without the rarity of the words, since each
// message that is found has all of them.
func (m *matcher) score(length int) (sum float64) {
	norm := saturation * (1 - lengthening + lengthening*float64(length)/usualLength)
	for _, count := range m.counts {
		sum += float64(count) * (saturation + 1) / (float64(count) + norm)
	}
	return sum
}
