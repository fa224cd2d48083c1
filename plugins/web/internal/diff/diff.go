// Package diff is what has changed in a text, or in files, line by line, as data that a page shows.
package diff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// How much is kept of what has changed, in all files together. The rest is counted.
const (
	mostFiles = 500
	mostLines = 5000
	mostBytes = 1 << 20
)

// Kind is what has become of a line.
type Kind string

// The kinds.
const (
	Same    Kind = "same"
	Added   Kind = "added"
	Removed Kind = "removed"
)

// Line is a line of a hunk.
type Line struct {
	Kind Kind
	// Old and New are its numbers before and after, from 1; 0 where it is not.
	Old, New int
	// Text is without the line feed; a carriage return before it is kept.
	Text string
	// Unended: it is the last, and no line feed ends it.
	Unended bool
}

// Hunk is lines that have changed, with three around them that have not.
type Hunk struct {
	// Where it begins, and of how many lines it is, before and after. A hunk of no lines begins
	// after that line.
	OldFrom, OldLines, NewFrom, NewLines int
	// Section is what git says it is in: a function, as a rule.
	Section string
	// Lines are as many as there is room for.
	Lines []Line
}

// File is what has changed in a file. Of a text that is not one, only the hunks and counts are set.
type File struct {
	// Old and New are its paths, with slashes; empty where it is not.
	Old, New string
	// OldMode and NewMode are git's, such as 100755; empty when they are not told.
	OldMode, NewMode string
	// Copied: Old is still there. (Otherwise a file of two paths was moved.)
	Copied bool
	// Binary: it is no text, so that there are no hunks.
	Binary bool
	Hunks  []Hunk
	// Added and Removed count lines, LeftOut those of all kinds that the hunks are without.
	Added, Removed, LeftOut int
}

// Of compares two texts. Where they differ much, more may be called changed than has to be, so
// that it takes no longer than the texts are long.
func Of(before, after string) File {
	compared, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		panic(err) // only edits of another text are an error
	}
	var file File
	left := room{lines: mostLines, bytes: mostBytes}
	for _, found := range compared.Hunks {
		// With lines around it, a hunk is of none only when the text is.
		hunk := Hunk{OldFrom: min(found.FromLine, len(before)), NewFrom: min(found.ToLine, len(after))}
		lines := make([]Line, len(found.Lines))
		for i, line := range found.Lines {
			lines[i] = lineOf(kinds[line.Kind], line.Content)
		}
		file.add(hunk, lines, &left)
	}
	return file
}

var kinds = map[udiff.OpKind]Kind{udiff.Equal: Same, udiff.Insert: Added, udiff.Delete: Removed}

// lineOf is a line without its number.
func lineOf(kind Kind, content string) Line {
	text, ended := strings.CutSuffix(content, "\n")
	return Line{Kind: kind, Text: text, Unended: !ended}
}

// room is what there is yet room for.
type room struct{ lines, bytes int }

// add numbers a hunk's lines from where it begins, counts them, and keeps those that there is room for.
func (f *File) add(hunk Hunk, lines []Line, left *room) {
	before, after := hunk.OldFrom, hunk.NewFrom
	for _, line := range lines {
		if line.Kind != Added {
			line.Old = before
			before++
			hunk.OldLines++
		}
		if line.Kind != Removed {
			line.New = after
			after++
			hunk.NewLines++
		}
		switch line.Kind {
		case Added:
			f.Added++
		case Removed:
			f.Removed++
		}
		if left.lines == 0 || left.bytes < len(line.Text) {
			*left = room{} // nothing is left out in the middle
			f.LeftOut++
			continue
		}
		left.lines, left.bytes = left.lines-1, left.bytes-len(line.Text)
		hunk.Lines = append(hunk.Lines, line)
	}
	if len(hunk.Lines) > 0 {
		f.Hunks = append(f.Hunks, hunk)
	}
}
