// Package memory reads and changes memory.md and inbox.md: entry by entry, and never as a whole. It decides which of what
// an agent proposes is done, and knows neither host nor clock.
package memory

import (
	"slices"
	"strings"
)

// Item is an entry of memory.md, or a line of inbox.md: what begins with "- " or "* ", with the lines behind it that are
// indented.
type Item struct {
	Raw     string // as it stands in the file, without its last line break
	Text    string `json:"-"` // follows from Raw
	Section string // the heading above it, without its marks
}

// Page is a file in blocks: items, and text between them, which stays as it is.
type Page struct{ blocks []block }

type block struct {
	raw     string
	is      bool // an item
	section string
	heading bool
}

// Parse reads a file. String of what it returns is the same text.
func Parse(text string) *Page {
	p := new(Page)
	section := ""
	for _, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimSpace(line)
		last := len(p.blocks) - 1
		switch {
		case line == "":
		case strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* "):
			p.blocks = append(p.blocks, block{raw: line, is: true, section: section})
		case trimmed != "" && (line[0] == ' ' || line[0] == '\t') && last >= 0 && p.blocks[last].is:
			p.blocks[last].raw += line
		default:
			heading := strings.HasPrefix(line, "#")
			if heading {
				section = strings.TrimSpace(strings.TrimLeft(trimmed, "#"))
			}
			p.blocks = append(p.blocks, block{raw: line, section: section, heading: heading})
		}
	}
	return p
}

// String is the text of the file.
func (p *Page) String() string {
	var b strings.Builder
	for _, one := range p.blocks {
		b.WriteString(one.raw)
	}
	return b.String()
}

// Items are the items, in their order.
func (p *Page) Items() (items []Item) {
	for _, one := range p.blocks {
		if one.is {
			raw := strings.TrimRight(one.raw, "\n")
			items = append(items, Item{Raw: raw, Text: textOf(raw), Section: one.section})
		}
	}
	return items
}

// textOf is an item on one line, without its mark.
func textOf(raw string) string { return strings.Join(strings.Fields(raw[min(2, len(raw)):]), " ") }

// Remove takes out the first item that reads so, and reports whether there was one.
func (p *Page) Remove(raw string) bool {
	i := slices.IndexFunc(p.blocks, func(b block) bool { return b.is && strings.TrimRight(b.raw, "\n") == raw })
	if i < 0 {
		return false
	}
	p.blocks = slices.Delete(p.blocks, i, i+1)
	return true
}

// Add puts an item behind the last one of a section; without that section, into a new one at the end.
func (p *Page) Add(section, raw string) {
	line := block{raw: raw + "\n", is: true, section: section}
	is := func(b block) bool { return strings.EqualFold(b.section, section) }
	at := -1
	for i, one := range p.blocks {
		if is(one) && (one.is || one.heading) {
			at = i
		}
	}
	if n := len(p.blocks); n > 0 && !strings.HasSuffix(p.blocks[n-1].raw, "\n") {
		p.blocks[n-1].raw += "\n"
	}
	switch {
	case at < 0:
		p.blocks = append(p.blocks, block{raw: "\n## " + section + "\n\n", section: section, heading: true}, line)
	case p.blocks[at].heading:
		line.section = p.blocks[at].section
		p.blocks = slices.Insert(p.blocks, at+1, block{raw: "\n", section: line.section}, line)
	default:
		line.section = p.blocks[at].section
		p.blocks = slices.Insert(p.blocks, at+1, line)
	}
}

// Lines is how many lines the file has.
func (p *Page) Lines() int {
	text := p.String()
	lines := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		lines++
	}
	return lines
}
