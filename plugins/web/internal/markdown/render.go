package markdown

import (
	"fmt"
	"html"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// write writes HTML. A renderer's writer keeps its first error, which the end of the rendering tells.
func write(w util.BufWriter, parts ...string) {
	for _, part := range parts {
		_, _ = w.WriteString(part)
	}
}

// either writes a node's beginning or its end.
func either(w util.BufWriter, entering bool, begin, end string) (ast.WalkStatus, error) {
	if entering {
		write(w, begin)
	} else {
		write(w, end)
	}
	return ast.WalkContinue, nil
}

// heading keeps the outline of the page, whose own headings are h1 and h2.
func (*page) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := fmt.Sprintf("h%d>", min(node.(*ast.Heading).Level+2, 6))
	return either(w, entering, "<"+tag, "</"+tag+"\n")
}

// rawBlock shows a block of HTML, or what is not read as Markdown.
func (*page) rawBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	write(w, `<pre class="plain">`)
	lines := node.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		write(w, html.EscapeString(string(line.Value(source))))
	}
	if block, ok := node.(*ast.HTMLBlock); ok && block.HasClosure() {
		write(w, html.EscapeString(string(block.ClosureLine.Value(source))))
	}
	write(w, "</pre>\n")
	return ast.WalkSkipChildren, nil
}

// raw shows a tag.
func (*page) raw(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		segments := node.(*ast.RawHTML).Segments
		for i := range segments.Len() {
			segment := segments.At(i)
			write(w, html.EscapeString(string(segment.Value(source))))
		}
	}
	return ast.WalkSkipChildren, nil
}

// table can be scrolled, by keys too.
func (*page) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	return either(w, entering,
		`<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table>`+"\n", "</table></div>\n")
}

func (*page) tableHead(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	end := "</tr></thead>\n"
	if node.NextSibling() != nil {
		end += "<tbody>\n"
	}
	return either(w, entering, "<thead><tr>", end)
}

func (*page) tableRow(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	end := "</tr>\n"
	if node.NextSibling() == nil {
		end += "</tbody>\n"
	}
	return either(w, entering, "<tr>", end)
}

// tableCell has a class for where its text stands; a style would be refused by the page.
func (*page) tableCell(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	cell := node.(*extast.TableCell)
	tag, attributes := "td", ""
	if cell.Parent().Kind() == extast.KindTableHeader {
		tag, attributes = "th", ` scope="col"`
	}
	switch cell.Alignment {
	case extast.AlignCenter:
		attributes += ` class="center"`
	case extast.AlignRight:
		attributes += ` class="right"`
	}
	return either(w, entering, "<"+tag+attributes+">", "</"+tag+">")
}

// task is a box that nobody can tick here.
func (*page) task(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	box, label := "☐", "To do"
	if node.(*extast.TaskCheckBox).IsChecked {
		box, label = "☑", "Done"
	}
	if entering {
		write(w, `<span class="task" role="img" aria-label="`, label, `">`, box, `</span> `)
	}
	return ast.WalkContinue, nil
}
