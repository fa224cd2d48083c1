package terminal

import (
	"io"
	"strings"
)

// Screen writes text as it comes and lines between it, broken between words where out is
// a terminal.
type Screen struct {
	Style
	out   io.Writer
	text  wrap // what the agent says
	line  wrap // what is written between it
	begun bool // the cursor is not at the beginning of a line
	shown int  // grows with all that is written
}

// NewScreen returns a Screen on out. Columns says how wide it is; nil: nothing is broken.
func NewScreen(out io.Writer, style Style, columns func() int) *Screen {
	return &Screen{Style: style, out: out, text: wrap{out: out, columns: columns}, line: wrap{out: out, columns: columns}}
}

// Passage begins a text of its own: a block of code that the last one has left open is
// none of it.
func (s *Screen) Passage() {
	s.Fresh()
	s.text.fence = ""
	s.text.entered()
}

// Text writes what the agent says, as it comes. A word appears once it is over.
func (s *Screen) Text(text string) {
	text = Clean(text)
	if text == "" {
		return
	}
	s.shown++
	s.text.put(text)
	s.begun = !strings.HasSuffix(text, "\n")
}

// Flush writes the end of a text that does not go on.
func (s *Screen) Flush() { s.text.flush() }

// Line writes a line of its own. Its text may be styled, so it is written as
// it is.
func (s *Screen) Line(line string) {
	s.Begin(line)
	s.Fresh()
}

// Begin writes the beginning of a line.
func (s *Screen) Begin(text string) {
	s.Fresh()
	s.line = wrap{out: s.out, columns: s.line.columns}
	s.Add(text)
}

// Add goes on with a line that Begin has begun.
func (s *Screen) Add(text string) {
	s.shown++
	s.line.put(text)
	s.line.flush()
	s.begun = true
}

// Fresh ends a line that is begun.
func (s *Screen) Fresh() {
	s.text.flush()
	if s.begun {
		s.shown++
		s.line.write("\n")
	}
	s.begun = false
	s.text.entered()
}

// Entered says that a person ended the line with the Enter key.
func (s *Screen) Entered() { s.begun = false }
