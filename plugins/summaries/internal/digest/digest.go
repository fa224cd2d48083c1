// Package digest reads and writes thread-summaries.md: a section for each thread, which the plugin
// replaces, among whatever else people and the agent have written there, which it leaves alone.
package digest

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

const (
	// maxLines is how many lines a section has, and maxLine how many bytes a line.
	maxLines, maxLine = 5, 300
	// maxName is how many bytes of a thread's name stand in a heading.
	maxName = 80
)

// heading recognises a section of the plugin's: name, thread, day.
var heading = lazy.Regexp(`^## (.*) \(thread ([^\s(),]+), (\d{4}-\d{2}-\d{2})\)$`)

// Section is what is said of a thread. In the file it ends with the first empty line, or the next heading.
type Section struct {
	ThreadID string
	Name     string
	Day      string // of the last change, as 2006-01-02
	Lines    []string
}

// String is the section as it stands in the file.
func (s Section) String() string {
	name := OneLine(s.Name, maxName)
	if name == "" {
		name = "(no name)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s (thread %s, %s)\n", name, s.ThreadID, s.Day)
	lines := 0
	for _, line := range s.Lines {
		if line = OneLine(strings.TrimLeft(line, "-*# \t"), maxLine); line == "" {
			continue
		}
		if lines++; lines > maxLines {
			break
		}
		b.WriteString("- " + line + "\n")
	}
	return b.String()
}

// Says reports whether there is a line in the section.
func (s Section) Says() bool { return strings.Count(s.String(), "\n") > 1 }

// OneLine is words on one line, of visible characters, cut to so many bytes.
func OneLine(words string, most int) string {
	words = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(words, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(words) <= most {
		return words
	}
	most -= len("…")
	for !utf8.RuneStart(words[most]) {
		most--
	}
	return strings.TrimSpace(words[:most]) + "…"
}

// File is the text of thread-summaries.md, in parts.
type File struct{ parts []part }

// part is a section of the plugin's, or text of others (section is nil). Raw is its text in the file.
type part struct {
	raw     string
	section *Section
}

// Parse reads a file. String of what it returns is the same text.
func Parse(text string) *File {
	f := new(File)
	var other strings.Builder
	flush := func() {
		if other.Len() > 0 {
			f.parts = append(f.parts, part{raw: other.String()})
			other.Reset()
		}
	}
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		match := heading.Compiled().FindStringSubmatch(strings.TrimRight(lines[i], "\n"))
		if match == nil {
			other.WriteString(lines[i])
			continue
		}
		flush()
		one := part{raw: lines[i], section: &Section{Name: match[1], ThreadID: match[2], Day: match[3]}}
		for i+1 < len(lines) && strings.TrimSpace(lines[i+1]) != "" && !strings.HasPrefix(lines[i+1], "#") {
			i++
			one.raw += lines[i]
			one.section.Lines = append(one.section.Lines, strings.TrimPrefix(strings.TrimRight(lines[i], "\n"), "- "))
		}
		f.parts = append(f.parts, one)
	}
	flush()
	return f
}

// String is the text of the file.
func (f *File) String() string {
	var b strings.Builder
	for _, one := range f.parts {
		b.WriteString(one.raw)
	}
	return b.String()
}

// Sections are the plugin's sections, in their order.
func (f *File) Sections() (all []Section) {
	for _, one := range f.parts {
		if one.section != nil {
			all = append(all, *one.section)
		}
	}
	return all
}

// Put replaces the section of a thread in its place, or adds it before all others.
func (f *File) Put(s Section) {
	fresh := part{raw: s.String(), section: &s}
	is := func(one part) bool { return one.section != nil && one.section.ThreadID == s.ThreadID }
	if i := slices.IndexFunc(f.parts, is); i >= 0 {
		f.parts[i] = fresh
		if i+1 < len(f.parts) && f.parts[i+1].section != nil {
			f.parts[i].raw += "\n"
		}
		return
	}
	i := slices.IndexFunc(f.parts, func(one part) bool { return one.section != nil })
	if i < 0 {
		i = len(f.parts)
		if before := f.String(); before != "" && !strings.HasSuffix(before, "\n\n") {
			fresh.raw = strings.Repeat("\n", 2-min(1, strings.Count(before[len(before)-1:], "\n"))) + fresh.raw
		}
	} else {
		fresh.raw += "\n"
	}
	f.parts = slices.Insert(f.parts, i, fresh)
}

// Drop removes the sections of which gone is true, with the empty line behind each.
func (f *File) Drop(gone func(Section) bool) {
	for i := 0; i < len(f.parts); i++ {
		if f.parts[i].section == nil || !gone(*f.parts[i].section) {
			continue
		}
		if i+1 < len(f.parts) && f.parts[i+1].section == nil {
			f.parts[i+1].raw = strings.TrimPrefix(f.parts[i+1].raw, "\n")
		}
		f.parts = slices.Delete(f.parts, i, i+1)
		i--
	}
}

// Fit drops the oldest sections until the file has at most so many bytes, and returns them. What others have
// written stays, however long it is.
func (f *File) Fit(most int) (dropped []Section) {
	for len(f.String()) > most {
		all := f.Sections()
		if len(all) == 0 {
			break
		}
		oldest := len(all) - 1
		for i := oldest; i >= 0; i-- {
			if all[i].Day < all[oldest].Day {
				oldest = i
			}
		}
		dropped = append(dropped, all[oldest])
		f.Drop(func(s Section) bool { return s.ThreadID == all[oldest].ThreadID })
	}
	return dropped
}
