package terminal

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Columns returns how wide the terminal that out is is now, at each call anew; nil when
// out is none.
func Columns(out io.Writer) func() int {
	file, ok := out.(*os.File)
	if !ok || !IsTerminal(out) {
		return nil
	}
	return func() int {
		columns, _, err := term.GetSize(int(file.Fd()))
		if err != nil {
			return 0
		}
		return columns
	}
}

// wrap breaks what is written to a terminal between words. What would be another thing
// when it is broken stays whole, for the terminal to break as it always has: fenced
// blocks of code, indented lines, rows of tables, words that are longer than a line. Text
// may come in pieces: a word is written once it is known to be over.
type wrap struct {
	out     io.Writer
	columns func() int // nil: all is written as it comes

	column int             // of the cursor
	gap    string          // between the last word and the next, not yet written
	word   strings.Builder // not yet written
	ready  strings.Builder // to be written when what came is worked through
	inLine bool            // a word of this line was written
	whole  bool            // this line is not broken
	code   string          // of the line, in a block of code
	fence  string          // that ends the block of code; empty: there is none
	indent int             // of what the line is broken into
}

// marker is what an item of a list, a quotation and a line of the chat's own begin with.
var marker = regexp.MustCompile(`^([-*+>·»✗]|[0-9]{1,3}[.)])$`)

// colours are the escapes of a Style, which take no room.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

func (w *wrap) put(text string) {
	if w.columns == nil {
		w.write(text)
		return
	}
	for _, r := range text {
		switch {
		case r == '\n':
			w.endWord()
			w.endLine()
		case w.whole:
			w.ready.WriteString(w.gap + string(r))
			w.gap = ""
			w.code += string(r)
		case r == ' ' || r == '\t':
			w.endWord()
			w.gap += string(r)
		default:
			w.word.WriteRune(r)
		}
	}
	w.write(w.ready.String())
	w.ready.Reset()
}

// flush writes a word that may not be over.
func (w *wrap) flush() {
	w.endWord()
	w.write(w.ready.String())
	w.ready.Reset()
}

// entered notes that the cursor is at the beginning of a line.
func (w *wrap) entered() {
	w.column, w.gap, w.inLine, w.code, w.indent = 0, "", false, "", 0
	w.whole = w.fence != ""
}

func (w *wrap) endLine() {
	if line := strings.TrimSpace(w.code); w.fence != "" && strings.HasPrefix(line, w.fence) && strings.Trim(line, w.fence[:1]) == "" {
		w.fence = ""
	}
	w.ready.WriteString("\n")
	w.entered()
}

func (w *wrap) endWord() {
	word := w.word.String()
	w.word.Reset()
	if word == "" {
		return
	}
	if !w.inLine {
		begin := colours.ReplaceAllString(word, "")
		if begin == "" { // a colour before the line's first word is none of it
			w.ready.WriteString(w.gap + word)
			w.column += width(w.gap)
			w.gap = ""
			return
		}
		w.beginLine(begin)
	}
	room, columns := width(word), w.columns()
	gap := w.gap
	if w.inLine && !w.whole && w.column+width(gap)+room > columns && w.indent+room <= columns {
		gap, w.column = strings.Repeat(" ", w.indent), 0
		w.ready.WriteString("\n")
	}
	w.ready.WriteString(gap + word)
	if w.column += width(gap) + room; columns > 0 && w.column > columns {
		w.column %= columns // the terminal has broken it
	}
	w.gap, w.inLine = "", true
}

// beginLine looks at the first word of a line for what the line is.
func (w *wrap) beginLine(word string) {
	lead := width(w.gap)
	listed := marker.MatchString(word)
	run := len(word) - len(strings.TrimLeft(word, word[:1]))
	switch {
	case run >= 3 && (word[0] == '~' || word[0] == '`' && !strings.Contains(word[run:], "`")):
		w.fence, w.whole = word[:run], true
	case strings.HasPrefix(word, "|"), lead >= 4 && !listed:
		w.whole = true
	case listed:
		w.indent = lead + width(word) + 1
	default:
		w.indent = lead
	}
	if w.indent > w.columns()/2 {
		w.indent = 0
	}
}

// write ignores errors: a terminal that is gone has nobody to tell.
func (w *wrap) write(text string) { _, _ = io.WriteString(w.out, text) }

// width is how many columns a text takes, about: what it is off by breaks a line a
// little early or late.
func width(text string) (columns int) {
	for _, r := range colours.ReplaceAllString(text, "") {
		switch {
		case r == '\t':
			columns += 8
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r >= 0x1f300 && r <= 0x1faff, r >= 0xff01 && r <= 0xff60:
			columns += 2
		default:
			columns++
		}
	}
	return columns
}
