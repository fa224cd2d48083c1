package search

import (
	"hash/fnv"
	"strings"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/core/ledger"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Tokens are what the index of either database keeps of a message, and all that it knows:
//
//   - its words, folded. Of characters of scripts without spaces each with the one that
//     follows, or alone where none does
//   - for each two words that stand beside each other, but two such characters, a hash.
//     So phrases are found by the index, however common their words
//   - thread, role, kind and author
//
// The index says which messages may be what a query asks for: none that is, is missing.
// Whether one is, its text decides (matcher). So hashes may collide.

// mark begins each token that is no word: an underscore is neither letter nor digit.
// SQLite's index of the beginnings of tokens, up to three characters, has one entry for all
// of these.
const mark = "___"

// facetsOf is how many facets a message has. Its tokens begin with them.
const facetsOf = 4

// tokensOf returns what the index is to keep of a message.
func tokensOf(said ledger.Said) []string {
	tokens := []string{
		facet('t', said.ThreadID), facet('r', string(said.Role)), facet('k', string(said.Kind)), facet('a', said.Author),
	}
	known := make(map[string]bool)
	add := func(token []byte) {
		if !known[string(token)] {
			known[string(token)] = true
			tokens = append(tokens, string(token))
		}
	}
	var last word
	var kept, both []byte // the bytes of last
	split(said.Content, func(w word) bool {
		switch {
		case last.wide && w.wide:
			both = append(append(both[:0], kept...), w.folded...)
			add(both)
		case len(kept) > 0:
			add(kept)
			add([]byte(pair(kept, w.folded)))
		}
		last, kept = w, append(kept[:0], w.folded...)
		return true
	})
	if len(kept) > 0 {
		add(kept)
	}
	return tokens
}

// maxEra is how many bytes a database may put before each token.
const maxEra = 5

// tokensMost is how many bytes of tokens a word can come to that is so long, folded: itself
// and the pair with the one before, or of wide ones beside each other the two of them.
func tokensMost(length int, wide bool) int {
	if wide {
		return 2*utf8.UTFMax + maxEra
	}
	return length + maxEra + len(mark) + 5 + maxEra
}

// facet is the token of something that a message has beside its words.
func facet(which byte, value string) string {
	hash := fnv.New64a()
	hash.Write([]byte(value))
	return mark + string(which) + inLetters(hash.Sum64(), 12)
}

// pair is the token of two words that stand beside each other: one of 2^20, so that the
// index does not grow with each pair of words that was ever written.
func pair(a, b []byte) string {
	hash := fnv.New64a()
	hash.Write(a)
	hash.Write([]byte{' '})
	hash.Write(b)
	sum := hash.Sum64()
	return mark + "p" + inLetters(sum^sum>>20^sum>>40, 4)
}

// inLetters writes the lowest bits of a number, five in a character.
func inLetters(number uint64, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte("abcdefghijklmnopqrstuvwxyz234567"[number&31])
		number >>= 5
	}
	return b.String()
}

// maxTerms is how many terms the index is asked for. The words beyond are looked for in the
// texts that it names.
const maxTerms = 40

// terms returns what to ask the index for.
func (q *query) terms(filter pluginsdk.SearchQuery) (all [][]ledger.IndexTerm) {
	known := make(map[ledger.IndexTerm]bool)
	add := func(token string, prefix bool) {
		if term := (ledger.IndexTerm{Token: token, Prefix: prefix}); !known[term] && len(all) < maxTerms {
			known[term] = true
			all = append(all, []ledger.IndexTerm{term})
		}
	}
	for _, p := range q.phrases {
		if len(p) == 1 {
			add(p[0].folded, p[0].prefix || p[0].wide)
			continue
		}
		for i := 1; i < len(p); i++ {
			a, b := p[i-1], p[i]
			switch {
			case a.wide && b.wide:
				add(a.folded+b.folded, false)
			case a.prefix || b.prefix:
				add(a.folded, a.prefix || a.wide)
				add(b.folded, b.prefix || b.wide)
			default:
				add(pair([]byte(a.folded), []byte(b.folded)), false)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	all = append(all, facets('t', filter.ThreadIDs)...)
	all = append(all, facets('r', filter.Roles)...)
	all = append(all, facets('k', filter.Kinds)...)
	if filter.Author != "" {
		all = append(all, facets('a', []string{filter.Author})...)
	}
	return all
}

// facets asks for one of the values, or for nothing when none is given.
func facets[T ~string](which byte, values []T) [][]ledger.IndexTerm {
	if len(values) == 0 {
		return nil
	}
	any := make([]ledger.IndexTerm, len(values))
	for i, value := range values {
		any[i].Token = facet(which, string(value))
	}
	return [][]ledger.IndexTerm{any}
}
