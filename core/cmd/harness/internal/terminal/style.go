// Package terminal shows a conversation with the agent to a person at a
// terminal, or to whatever the output goes to instead.
package terminal

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// Style gives text its colours, or leaves it plain. The zero Style is plain.
type Style struct{ coloured bool }

// StyleFor returns colours for a terminal that wants them: NO_COLOR
// (https://no-color.org) and TERM=dumb do not.
func StyleFor(out io.Writer, lookup func(string) (string, bool)) Style {
	if value, ok := lookup("NO_COLOR"); ok && value != "" {
		return Style{}
	}
	if value, _ := lookup("TERM"); value == "dumb" {
		return Style{}
	}
	return Style{coloured: IsTerminal(out)}
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// Bold is for what should catch the eye.
func (s Style) Bold(text string) string { return s.with("1", text) }

// Dim is for what happens beside the conversation.
func (s Style) Dim(text string) string { return s.with("2", text) }

// Red is for what failed.
func (s Style) Red(text string) string { return s.with("31", text) }

// Green is for what is well.
func (s Style) Green(text string) string { return s.with("32", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.with("33", text) }

func (s Style) with(code, text string) string {
	if !s.coloured || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
