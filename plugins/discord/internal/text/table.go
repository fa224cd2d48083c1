package text

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	east "github.com/yuin/goldmark/extension/ast"
)

// widest is how many columns of code a phone shows in a line without breaking it, about.
const widest = 46

// table writes a table, which Discord does not know. A narrow one without links is code with
// aligned columns; any other is a list with an item a row, and in it one a cell.
func (r *reader) table(n *east.Table) {
	var cells [][]string
	linked := false
	for line := n.FirstChild(); line != nil; line = line.NextSibling() {
		var texts []string
		for cell := line.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := strings.ReplaceAll(strings.Join(lines(cell, r.src), " "), `\|`, "|")
			s = strings.Join(strings.Fields(inline(strings.TrimSpace(s), r.refs, r.limit/4)), " ")
			linked = linked || strings.Contains(s, "://")
			texts = append(texts, s)
		}
		cells = append(cells, texts)
	}
	if len(cells) == 0 {
		return
	}
	if drawn := draw(cells, n.Alignments); !linked && len(cells) > 1 && displaywidth.String(drawn[1]) <= widest {
		r.code("", drawn, drawn[:2])
		return
	}
	r.records(cells)
}

// draw is a table in columns of one width each, a rule below its first line.
func draw(cells [][]string, alignments []east.Alignment) []string {
	shown := make([][]string, len(cells))
	widths := make([]int, len(cells[0]))
	for k, line := range cells {
		for c, cell := range line {
			s := plain(cell)
			shown[k] = append(shown[k], s)
			if c < len(widths) {
				widths[c] = max(widths[c], displaywidth.String(s), 1)
			}
		}
	}
	var out []string
	for k, line := range shown {
		var b strings.Builder
		for c := range widths {
			cell := ""
			if c < len(line) {
				cell = line[c]
			}
			space := widths[c] - displaywidth.String(cell)
			left := 0
			if c < len(alignments) {
				switch alignments[c] {
				case east.AlignRight:
					left = space
				case east.AlignCenter:
					left = space / 2
				}
			}
			if c > 0 {
				b.WriteString("  ")
			}
			b.WriteString(strings.Repeat(" ", left) + cell + strings.Repeat(" ", space-left))
		}
		out = append(out, strings.TrimRight(b.String(), " "))
		if k == 0 {
			var rule []string
			for _, w := range widths {
				rule = append(rule, strings.Repeat("─", w))
			}
			out = append(out, strings.Join(rule, "  "))
		}
	}
	return out
}

// records adds a table as a list: what each row's first cell says, below it the others with
// the names of their columns.
func (r *reader) records(cells [][]string) {
	outer, names := r.in, cells[0]
	defer func() { r.in = outer }()
	if len(outer) > mostDepth-2 {
		outer = outer[:mostDepth-2]
	}
	named := func(c int, cell string) string {
		if c >= len(names) || names[c] == "" {
			return cell
		}
		return names[c] + ": " + cell
	}
	if len(cells) == 1 {
		names = slices.DeleteFunc(names, func(s string) bool { return s == "" })
		r.say("", newProse(strings.Join(names, " · "), r.limit))
		return
	}
	for _, line := range cells[1:] {
		item := append(outer[:len(outer):len(outer)], &box{marker: "- ", first: -1})
		for c, cell := range line {
			if cell == "" && c > 0 {
				continue
			}
			r.in = item
			s := named(c, cell)
			if c > 0 {
				r.in = append(item[:len(item):len(item)], &box{marker: "- ", first: -1})
			} else {
				s = "**" + strings.ReplaceAll(s, "**", "") + "**"
			}
			r.say("", newProse(s, r.limit))
		}
	}
}
