package markdown

import (
	"html"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/seed-706843ae/harness/plugins/web/internal/markdown/lexers"
)

// How much of a message's code is coloured, and how long that may take: the rest is black.
const (
	mostColoured     = 64 << 10
	longestColouring = 500 * time.Millisecond
	longestName      = 40 // bytes, of a language
)

// code is a block of code, with what was said about it (its language, as a rule) and a button to
// copy it, which the page's script shows.
func (p *page) code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var text strings.Builder
	lines := node.Lines()
	for i := range lines.Len() {
		line := lines.At(i)
		text.Write(line.Value(source))
	}
	info, label := "", "Code"
	if fenced, ok := node.(*ast.FencedCodeBlock); ok && fenced.Info != nil {
		info = strings.TrimSpace(unescaped(fenced.Info.Segment.Value(source)))
	}
	language, _, _ := strings.Cut(info, " ")
	if language != "" && len(language) <= longestName {
		label = "Code: " + language
	}
	write(w, `<div class="code"><div class="code-head"><span class="code-lang">`, html.EscapeString(info),
		`</span><button type="button" class="code-copy" data-copy hidden>Copy</button></div><pre tabindex="0" role="group" aria-label="`,
		html.EscapeString(label), `"><code class="chroma">`)
	p.colour(w, language, text.String())
	write(w, "</code></pre></div>\n")
	return ast.WalkSkipChildren, nil
}

// colour writes code with its tokens in classes, as far as there is time; the rest as it is.
func (p *page) colour(w util.BufWriter, language, text string) {
	written := 0
	defer func() {
		// What is wrong in a lexer's rules shows as a panic, when a text comes upon it.
		_ = recover()
		write(w, html.EscapeString(text[written:]))
	}()
	if len(text) > p.colours || !time.Now().Before(p.until) {
		return
	}
	began := time.Now()
	lexer := lexers.Find(language)
	if lexer == nil {
		return
	}
	// The first text of a language has its rules read and compiled, which is no fault of it.
	if _, err := lexer.Tokenise(nil, ""); err != nil {
		return
	}
	p.until = p.until.Add(time.Since(began))
	p.colours -= len(text)
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return
	}
	for token := next(); token != chroma.EOF && time.Now().Before(p.until); token = next() {
		if !strings.HasPrefix(text[written:], token.Value) {
			return // the lexer has changed the text, which is not to be shown other than it is
		}
		class := classOf(token.Type)
		if class == "" || token.Value == "" {
			write(w, html.EscapeString(token.Value))
		} else {
			write(w, `<span class="`, class, `">`, html.EscapeString(token.Value), "</span>")
		}
		written += len(token.Value)
	}
}
