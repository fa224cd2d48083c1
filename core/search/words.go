package search

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Rules is the version of the rules by which texts become words, words become tokens, and a
// database keeps these. With another one the index is made anew: it must change when they do.
const Rules = 3

const (
	// maxWord is how many bytes of a word count, folded: words that agree so far are one.
	maxWord = 64
	// maxText is how many bytes of a message can be found, folded.
	maxText = 256 << 10
	// maxTokens is how many bytes of tokens the index keeps of a message. Of more than
	// 1 MiB Postgres makes a vector, without an error, in which words are missing.
	maxTokens = 1<<20 - 1<<10 // the rest is for the facets
)

// word is a word of a text, folded; in scripts that are written without spaces, one
// character (wide). Start and end are where in the text it stands, in bytes. The bytes of
// folded are the next word's as soon as the caller of split gives control back.
type word struct {
	folded     []byte
	wide       bool
	start, end int
}

// splitter finds the words of one text.
type splitter struct {
	each func(word) bool
	left int  // how many folded bytes may still be looked at
	room int  // how many bytes of tokens may still come of them
	wide bool // the word before was wide

	folded     []byte // of the word that is being read
	full       bool   // it has maxWord bytes
	pending    rune   // a wide character that the next one may be a part of; 0: none
	start, end int    // of either
}

// split calls each with the words of a text, in order, until it returns false. Words are
// made of letters and digits; marks (accents, vowel points) are taken off, and letters
// become their small, compatible forms: Unicode's NFKD without marks, case folded.
func split(text string, each func(word) bool) {
	s := splitter{each: each, left: maxText, room: maxTokens, folded: make([]byte, 0, maxWord+utf8.UTFMax)}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if small := asciiWord[c]; small != 0 {
				if s.pending != 0 && !s.flush() || !s.letter(rune(small), i, i+1) {
					return
				}
			} else if !s.flush() {
				return
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !s.rune(r, i, i+size) {
			return
		}
		i += size
	}
	s.flush()
}

// rune reads one character that is not ASCII.
func (s *splitter) rune(r rune, start, end int) bool {
	if r == utf8.RuneError {
		return s.flush()
	}
	for _, f := range fold(r) {
		switch {
		case isPart(f) && s.pending != 0 && s.compose(f):
			s.end = end
		case unicode.Is(unicode.M, f):
			if s.pending != 0 || len(s.folded) > 0 {
				s.end = end
			}
		case isWide(f):
			if !s.flush() {
				return false
			}
			s.pending, s.start, s.end = f, start, end
		case unicode.IsLetter(f) || unicode.IsNumber(f):
			if s.pending != 0 && !s.flush() || !s.letter(f, start, end) {
				return false
			}
		default:
			if !s.flush() {
				return false
			}
		}
	}
	return true
}

// letter adds a folded letter to the word that is being read.
func (s *splitter) letter(r rune, start, end int) bool {
	if len(s.folded) == 0 {
		s.start, s.full = start, false
	}
	s.end = end
	s.left -= utf8.RuneLen(r)
	if s.full || len(s.folded)+utf8.RuneLen(r) > maxWord {
		s.full = true
	} else {
		s.folded = utf8.AppendRune(s.folded, r)
	}
	return s.left >= 0
}

// compose makes one character of the pending one and a part of it that follows.
func (s *splitter) compose(part rune) bool {
	one := norm.NFC.String(string([]rune{s.pending, part}))
	r, size := utf8.DecodeRuneInString(one)
	if size != len(one) {
		return false
	}
	s.pending = r
	return true
}

// flush ends the word that is being read, if any, and reports whether to go on.
func (s *splitter) flush() bool {
	found := word{start: s.start, end: s.end}
	switch {
	case s.pending != 0:
		s.left -= utf8.RuneLen(s.pending)
		found.folded, found.wide = utf8.AppendRune(s.folded[:0], s.pending), true
		s.pending = 0
	case len(s.folded) > 0:
		found.folded = s.folded
	default:
		return true
	}
	s.room -= tokensMost(len(found.folded), found.wide && s.wide)
	s.wide = found.wide
	more := s.left >= 0 && s.room >= 0 && s.each(found)
	s.folded = s.folded[:0]
	return more
}

// asciiWord is what an ASCII character is in a word; 0: it separates words.
var asciiWord = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			table[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			table[c] = byte(c) - 'A' + 'a'
		}
	}
	return table
}()

// isWide reports whether a character belongs to a script that is written without spaces.
// There each is a word of its own.
func isWide(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && (unicode.IsLetter(r) || unicode.IsNumber(r))
}

// The voiced and the half-voiced mark of kana: another letter, no accent.
const (
	voiced     = 0x3099
	halfVoiced = 0x309A
)

// isPart reports whether a character can be a part of the wide one before it: a mark of
// kana, or a vowel or final of a Korean syllable that is written in its parts.
func isPart(r rune) bool {
	return r == voiced || r == halfVoiced || 0x1161 <= r && r <= 0x1175 || 0x11A8 <= r && r <= 0x11C2
}

// foldedMost is up to where foldings are kept: all scripts but those of East Asia.
const foldedMost = 0x3100

// foldings are those of the characters below foldedMost, and of the forms of half and full
// width.
var foldings = sync.OnceValue(func() (kept struct{ low, width []string }) {
	for r := rune(0); r < foldedMost; r++ {
		kept.low = append(kept.low, foldNew(r))
	}
	for r := rune(0xFF00); r < 0xFFF0; r++ {
		kept.width = append(kept.width, foldNew(r))
	}
	return kept
})

// fold returns what a character counts as.
func fold(r rune) string {
	switch {
	case r < foldedMost:
		return foldings().low[r]
	case 0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xAC00 <= r && r <= 0xD7A3:
		return string(r)
	case 0xFF00 <= r && r < 0xFFF0:
		return foldings().width[r-0xFF00]
	}
	return foldNew(r)
}

func foldNew(r rune) string {
	bare := func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(unicode.M, r) && r != voiced && r != halfVoiced {
				return -1
			}
			return r
		}, norm.NFKD.String(text))
	}
	if unicode.Is(unicode.M, r) {
		return string(r) // split leaves it out, and the word goes on
	}
	return norm.NFC.String(bare(cases.Fold().String(bare(string(r)))))
}
