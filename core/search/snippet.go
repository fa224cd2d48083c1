package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/pluginsdk"
)

const (
	// maxSnippet is how many bytes of a message are shown.
	maxSnippet = 300
	// lead is how many of them stand in front of what was found.
	lead = 60
	// maxSpans is how many places of a message are looked at for the best ones.
	maxSpans = 2000
)

const ellipsis = "…"

// place is where in a text a phrase stands.
type place struct{ phrase, start, end int }

// snippet returns the part of a text in which most of the phrases stand, the first such,
// with where they stand in it. Line breaks and other control characters are spaces.
func snippet(m *matcher, text string) (string, []pluginsdk.Span) {
	var places []place
	m.match(text, func(phrase, start, end int) {
		if len(places) < maxSpans {
			places = append(places, place{phrase, start, end})
		}
	})
	slices.SortFunc(places, func(a, b place) int { return a.start - b.start })
	first := 0
	if len(places) > 0 {
		first = best(places, len(m.counts))
	}
	room := maxSnippet - 2*len(ellipsis)
	start, end := 0, len(text)
	if len(text) > maxSnippet {
		if len(places) > 0 && places[first].start > lead {
			start = cutAfter(text, places[first].start-lead, places[first].start)
		}
		if len(text)-start <= room { // there is room for more in front
			start = cutAfter(text, len(text)-room, len(text))
		}
		end = cutBefore(text, start, start+room)
	}
	var b strings.Builder
	if start > 0 {
		b.WriteString(ellipsis)
	}
	shift := b.Len() - start
	shown := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text[start:end])
	b.WriteString(shown)
	if end < len(text) {
		b.WriteString(ellipsis)
	}
	return b.String(), marks(places, start, end, shift)
}

// marks are the places within a part of a text, those that overlap as one.
func marks(places []place, start, end, shift int) (spans []pluginsdk.Span) {
	for _, p := range places {
		p.start, p.end = max(p.start, start), min(p.end, end)
		if p.start >= p.end {
			continue
		}
		if n := len(spans) - 1; n >= 0 && p.start+shift <= spans[n].End {
			spans[n].End = max(spans[n].End, p.end+shift)
			continue
		}
		spans = append(spans, pluginsdk.Span{Start: p.start + shift, End: p.end + shift})
	}
	return spans
}

// best returns the first of the places from which on the most phrases can be shown
// together.
func best(places []place, phrases int) (first int) {
	within := make([]int, phrases) // how often each phrase stands in the window
	distinct, most, next := 0, 0, 0
	for i, from := range places {
		for ; next < len(places) && places[next].end <= from.start+maxSnippet-lead-2*len(ellipsis); next++ {
			if within[places[next].phrase]++; within[places[next].phrase] == 1 {
				distinct++
			}
		}
		if distinct > most {
			first, most = i, distinct
		}
		if next > i {
			if within[from.phrase]--; within[from.phrase] == 0 {
				distinct--
			}
		} else {
			next = i + 1 // a place that is longer than the window
		}
	}
	return first
}

// cutAfter returns where a part of a text can begin, from an offset on: behind a space,
// if there is one before the limit, else at the next character.
func cutAfter(text string, from, limit int) int {
	if i := strings.IndexFunc(text[from:limit], unicode.IsSpace); i >= 0 {
		_, size := utf8.DecodeRuneInString(text[from+i:])
		return from + i + size
	}
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return from
}

// cutBefore returns where a part of a text that begins at start can end, up to an offset:
// before a space, if there is one in the last quarter, else at a character.
func cutBefore(text string, start, to int) int {
	if to >= len(text) {
		return len(text)
	}
	for !utf8.RuneStart(text[to]) {
		to--
	}
	if i := strings.LastIndexFunc(text[start:to], unicode.IsSpace); i > (to-start)*3/4 {
		return start + i
	}
	return to
}
