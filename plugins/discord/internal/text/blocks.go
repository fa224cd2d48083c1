package text

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	gtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// mostDepth is how many quotes and lists stand in each other at most; deeper ones stand in
// the last of them.
const mostDepth = 6

// box is a quote or a list's item, around rows.
type box struct {
	marker string // of an item, "- " or "12. "; "" for a quote
	first  int    // the item's first row
}

// code is a code block. What is in lists stands at the left edge all the same: Discord ends a
// list at a line of code that is not indented, and a phone's screen is narrow.
type code struct {
	lang  string
	units int
	head  []string // the lines that a table begins with, again in each part
}

// row is a line of what is said, without what the boxes around it put before it.
type row struct {
	in   []*box
	text string
	mark string // "## " of a heading, "-# " of small print: again on a line that is cut
	gap  bool   // an empty line before it
	rule bool
	code *code  // the block that it is a line of
	para *prose // the paragraph that it is a line of, nil in code
	at   int    // where in para it begins
}

func (r *row) heading() bool { return strings.HasPrefix(r.mark, "#") }

// reader makes rows of Markdown.
type reader struct {
	src   []byte
	limit int
	refs  map[string]string
	in    []*box
	gap   bool
	rows  []row
}

// blockParser knows all blocks but HTML's, which are paragraphs to Discord.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithParagraphTransformers(
		util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
		util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200),
	),
)

// tables reads tables of at most mostColumns: a row that lacks cells gets all of them.
type tables struct{ parser.ParagraphTransformer }

const mostColumns = 40

// Transform makes a table of a paragraph that is one.
func (t tables) Transform(n *ast.Paragraph, reader gtext.Reader, pc parser.Context) {
	for k := range n.Lines().Len() {
		line := n.Lines().At(k)
		if bytes.Count(line.Value(reader.Source()), []byte("|")) > mostColumns+1 {
			return
		}
	}
	t.ParagraphTransformer.Transform(n, reader, pc)
}

// read is what a Markdown text says, line by line, in what Discord knows of Markdown.
func read(markdown string, limit int) []row {
	markdown = strings.ToValidUTF8(markdown, "\ufffd")
	markdown = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\ufffd").Replace(markdown)
	if strings.TrimSpace(markdown) == "" {
		return nil
	}
	r := &reader{src: []byte(markdown), limit: limit, refs: map[string]string{}}
	doc := blockParser.Parse(gtext.NewReader(r.src))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if def, ok := n.(*ast.LinkReferenceDefinition); ok && entering && !isFootnote(def) {
			if label := labelOf(string(def.Label)); r.refs[label] == "" {
				r.refs[label] = string(def.Destination)
			}
		}
		return ast.WalkContinue, nil
	})
	r.blocks(doc)
	for n := len(r.rows); n > 0 && r.rows[n-1].rule; n-- {
		r.rows = r.rows[:n-1]
	}
	return r.rows
}

// isFootnote says whether a definition is a footnote of one word: Discord shows footnotes as
// they are written.
func isFootnote(def *ast.LinkReferenceDefinition) bool {
	return strings.HasPrefix(string(def.Label), "^")
}

func (r *reader) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.block(n)
	}
}

func (r *reader) block(n ast.Node) {
	r.gap = r.gap || r.afterEmpty(n.Pos())
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		r.paragraph(n)
	case *ast.Heading:
		r.head(n)
	case *ast.ThematicBreak:
		// Beside a heading, and at the beginning, a line says nothing more.
		if _, before := n.NextSibling().(*ast.Heading); len(r.rows) > 0 && !before && !r.rows[len(r.rows)-1].heading() {
			r.say("", &prose{text: "──────────", units: 10})
			r.rows[len(r.rows)-1].rule = true
		}
	case *ast.FencedCodeBlock:
		info := ""
		if n.Info != nil {
			info = strings.TrimSpace(string(n.Info.Segment.Value(r.src)))
		}
		r.code(info, lines(n, r.src), nil)
	case *ast.CodeBlock:
		r.code("", lines(n, r.src), nil)
	case *ast.Blockquote:
		r.within(&box{first: -1}, n)
	case *ast.List:
		number := n.Start - 1
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			marker := "- "
			if n.IsOrdered() {
				number = max(number+1, r.number(item.Pos()))
				marker = strconv.Itoa(number) + ". "
			} else if n.Marker == '*' {
				marker = "* "
			}
			r.gap = r.gap || r.afterEmpty(item.Pos())
			r.within(&box{marker: marker, first: -1}, item)
		}
	case *ast.LinkReferenceDefinition:
		if isFootnote(n) || !r.used(n) {
			r.say("", newProse(separated(strings.TrimSpace(strings.Join(lines(n, r.src), "\n"))), r.limit))
		}
	case *east.Table:
		r.table(n)
	}
}

var bracketed = lazy.Regexp(`\[([^\[\]]+)\]`)

// used says whether a definition is referred to: anything in its brackets but itself.
func (r *reader) used(n *ast.LinkReferenceDefinition) bool {
	if r.refs[" "] == "" { // no label is a space: the mark that the text has been looked through
		r.refs[" "] = " "
		for _, m := range bracketed.FindAllSubmatchIndex(r.src, -1) {
			if label := labelOf(string(r.src[m[2]:m[3]])); r.refs[label] != "" && (m[1] == len(r.src) || r.src[m[1]] != ':') {
				r.refs[" "+label] = " "
			}
		}
	}
	return r.refs[" "+labelOf(string(n.Label))] != ""
}

// afterEmpty says whether the line before the one at an offset is empty, but for quotes.
func (r *reader) afterEmpty(at int) bool {
	if at <= 0 || at > len(r.src) {
		return false
	}
	end := strings.LastIndexByte(string(r.src[max(0, at-400):at]), '\n')
	if end < 0 {
		return false
	}
	end += max(0, at-400)
	for end--; end >= 0 && r.src[end] != '\n'; end-- {
		if c := r.src[end]; c != ' ' && c != '\t' && c != '>' {
			return false
		}
	}
	return true
}

// number is the number that is written at an offset, 0 for none.
func (r *reader) number(at int) int {
	n := 0
	for ; at >= 0 && at < len(r.src) && r.src[at] >= '0' && r.src[at] <= '9' && n < 1e9; at++ {
		n = 10*n + int(r.src[at]-'0')
	}
	return n
}

// within reads what is in a box.
func (r *reader) within(b *box, n ast.Node) {
	outer := r.in
	if len(outer) < mostDepth {
		r.in = append(outer[:len(outer):len(outer)], b)
	} else if b.marker != "" {
		r.in = append(outer[:mostDepth-1:mostDepth-1], b)
	}
	if n.FirstChild() == nil && b.marker != "" {
		r.say("", newProse("", r.limit))
	}
	r.blocks(n)
	r.in = outer
}

// add is a row in the boxes of now.
func (r *reader) add(line row) {
	line.in, line.gap = r.in, r.gap && len(r.rows) > 0
	r.gap = false
	for _, b := range r.in {
		if b.first < 0 {
			b.first = len(r.rows)
		}
	}
	r.rows = append(r.rows, line)
}

// say adds a paragraph, row by row.
func (r *reader) say(mark string, p *prose) {
	at := 0
	for line := range strings.SplitSeq(p.text, "\n") {
		words := strings.TrimLeft(line, " \t")
		r.add(row{mark: mark, text: words, para: p, at: at + len(line) - len(words)})
		at += len(line) + 1
	}
}

func (r *reader) paragraph(n ast.Node) {
	all := lines(n, r.src)
	for k, line := range all {
		all[k] = strings.TrimSpace(line)
	}
	s := strings.Join(all, "\n")
	if _, item := n.Parent().(*ast.ListItem); item && n.PreviousSibling() == nil {
		for mark, box := range map[string]string{"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "} {
			if rest, ok := strings.CutPrefix(s, mark); ok {
				s = box + rest
			}
		}
	}
	s = strings.Trim(inline(s, r.refs, r.limit*9/10), "\n")
	if strings.TrimSpace(s) == "" && len(r.in) == 0 {
		return
	}
	mark := ""
	if rest, ok := strings.CutPrefix(s, "-# "); ok && !strings.Contains(s, "\n") {
		mark, s = "-# ", rest
	}
	r.say(mark, newProse(s, r.limit))
}

func (r *reader) head(n *ast.Heading) {
	all := lines(n, r.src)
	for k, line := range all {
		all[k] = strings.TrimSpace(line)
	}
	s := strings.ReplaceAll(inline(strings.Join(all, " "), r.refs, r.limit*9/10), "\n", " ")
	if s = strings.TrimSpace(s); s == "" {
		return
	}
	if n.Level <= 3 {
		r.say(strings.Repeat("#", n.Level)+" ", newProse(s, r.limit))
		return
	}
	r.say("", newProse("**"+strings.ReplaceAll(s, "**", "")+"**", r.limit))
}

var language = lazy.Regexp(`^[A-Za-z0-9_+\-.#]{1,24}$`)

// code adds a code block. An info string that Discord does not know as a language, it takes
// one word, is small print before it.
func (r *reader) code(info string, content, head []string) {
	lang := info
	if !language.MatchString(info) {
		word, rest, _ := strings.Cut(info, " ")
		if lang = word; !language.MatchString(word) {
			lang, rest = "", info
		}
		if rest = strings.TrimSpace(rest); rest != "" {
			r.say("-# ", newProse(inline(rest, nil, r.limit), r.limit))
		}
	}
	for len(content) > 0 && strings.TrimSpace(content[len(content)-1]) == "" {
		content = content[:len(content)-1]
	}
	for len(content) > 0 && strings.TrimSpace(content[0]) == "" {
		content = content[1:]
	}
	for _, b := range r.in {
		if b.first < 0 && b.marker != "" { // an item that begins with code
			r.say("", newProse("", r.limit))
			break
		}
	}
	block := &code{lang: lang, head: head}
	for _, line := range content {
		line = separated(line)
		block.units += Units(line) + 1
		r.add(row{text: line, code: block})
		r.gap = false
	}
}

// lines is a leaf's source, line by line, without the line ends.
func lines(n ast.Node, src []byte) []string {
	var out []string
	for k := range n.Lines().Len() {
		seg := n.Lines().At(k)
		out = append(out, strings.TrimSuffix(string(seg.Value(src)), "\n"))
	}
	return out
}
