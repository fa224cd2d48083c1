// Package markdown makes HTML of what agents, people and tools write, which nobody has checked.
//
// What comes out may be put on a page as it is: it has only the elements and attributes written
// in render.go, link.go and code.go, none that runs anything, styles anything, loads anything or
// names anything (no id). Raw HTML is shown as the text it is. Nothing of the text is left out.
package markdown

import (
	"bytes"
	"html"
	"strings"
	"sync"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	gohtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML renders the Markdown of a message: CommonMark with GitHub's tables, strikethrough, task
// lists and bare addresses, in which every line break is one. Headings begin at h3. Text that is
// too long or too deeply nested to be read as Markdown in good time is shown as it is. It is
// goroutine-safe.
func HTML(message string) (shown string) {
	message = characters.Replace(strings.ToValidUTF8(message, "\uFFFD"))
	if len(message) > mostText || tooDeep(message) {
		return plain(message)
	}
	// A text that the reader stumbles over is no reason not to show a conversation.
	defer func() {
		if recover() != nil {
			shown = plain(message)
		}
	}()
	return read(message)
}

// characters are those that a browser would take as others.
var characters = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// read renders a text as Markdown.
func read(message string) string {
	source := []byte(message)
	document := reader().Parse(text.NewReader(source))
	out := &bounded{room: mostOutput(len(source))}
	p := &page{used: map[string]bool{}, colours: mostColoured, until: time.Now().Add(longestColouring)}
	render := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(p, 1),
		util.Prioritized(gohtml.NewRenderer(gohtml.WithHardWraps()), 2),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 2),
	))
	if err := render.Render(out, source, document); err != nil || out.full {
		return plain(message)
	}
	return out.data.String()
}

// plain is a text that is shown as it is.
func plain(text string) string { return `<pre class="plain">` + html.EscapeString(text) + "</pre>\n" }

// reader reads Markdown. It has no state of its own, and is made when it is first needed.
var reader = sync.OnceValue(func() parser.Parser {
	return goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.NewLinkify(
			extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"}),
			extension.WithLinkifyURLRegexp(bareAddress.Compiled()),
		)),
		goldmark.WithParserOptions(parser.WithParagraphTransformers(util.Prioritized(intricate{}, 1))),
	).Parser()
})

// page renders one message. It holds what is the message's: so much is coloured, for so long.
type page struct {
	anchors int             // the links and images that are open
	used    map[string]bool // the definitions of links that a link so far has used
	colours int             // bytes of code that may yet be coloured
	until   time.Time       // when colouring ends
}

// RegisterFuncs says what is rendered here; the rest is goldmark's: paragraphs, lists, quotes,
// emphasis, code in a line, line breaks and text.
func (p *page) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, p.heading)
	r.Register(ast.KindHTMLBlock, p.rawBlock)
	r.Register(kindPlain, p.rawBlock)
	r.Register(ast.KindRawHTML, p.raw)
	r.Register(ast.KindLink, p.link)
	r.Register(ast.KindImage, p.image)
	r.Register(ast.KindAutoLink, p.address)
	r.Register(ast.KindLinkReferenceDefinition, p.definition)
	r.Register(ast.KindCodeBlock, p.code)
	r.Register(ast.KindFencedCodeBlock, p.code)
	r.Register(extast.KindTable, p.table)
	r.Register(extast.KindTableHeader, p.tableHead)
	r.Register(extast.KindTableRow, p.tableRow)
	r.Register(extast.KindTableCell, p.tableCell)
	r.Register(extast.KindTaskCheckBox, p.task)
}

// bounded is a buffer that takes so much.
type bounded struct {
	data bytes.Buffer
	room int
	full bool
}

func (b *bounded) Write(data []byte) (int, error) {
	if len(data) > b.room-b.data.Len() {
		b.full = true
		return len(data), nil
	}
	return b.data.Write(data)
}
