package terminal

import (
	"io"
	"strings"
)

// Screen writes text as it comes and lines between it.
type Screen struct {
	Style
	out   io.Writer
	begun bool // the cursor is not at the beginning of a line
}

// NewScreen returns a Screen on out.
func NewScreen(out io.Writer, style Style) *Screen { return &Screen{Style: style, out: out} }

// Text writes what the agent says, as it comes.
func (s *Screen) Text(text string) {
	text = Clean(text)
	if text == "" {
		return
	}
	s.write(text)
	s.begun = !strings.HasSuffix(text, "\n")
}

// Line writes a line of its own. Its text may be styled, so it is written as
// it is.
func (s *Screen) Line(line string) {
	s.Fresh()
	s.write(line + "\n")
}

// Begin writes the beginning of a line.
func (s *Screen) Begin(text string) {
	s.Fresh()
	s.write(text)
	s.begun = true
}

// Fresh ends a line that is begun.
func (s *Screen) Fresh() {
	if s.begun {
		s.write("\n")
	}
	s.begun = false
}

// Entered says that a person ended the line with the Enter key.
func (s *Screen) Entered() { s.begun = false }

// write ignores errors: a terminal that is gone has nobody to tell.
func (s *Screen) write(text string) { _, _ = io.WriteString(s.out, text) }
