package markdown

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/seed-706843ae/harness/plugins/internal/lazy"
)

// mostAddress is how many bytes an address may have that is followed, and how many are shown of one,
// or of a title.
const mostAddress = 2048

// bareAddress is an address that is linked without any mark: of a host with a dot, or this
// machine, since agents speak of http://localhost:8080 all the time.
var bareAddress = lazy.Regexp(`^https?://(?:[-a-zA-Z0-9@%._+~#=]{1,256}\.[a-zA-Z0-9]+|localhost)(?::\d{1,5})?(?:[/#?][-a-zA-Z0-9@:%_+.~#$!?&/=();,'">^{}\[\]` + "`" + `]*)?`)

// link is a link when its address may be followed; else it is its text, with the address after it.
func (p *page) link(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Link)
	if n.Reference != nil {
		p.used[definitionKey(n.Reference.Value, n.Destination)] = true
	}
	return p.anchor(w, source, n, n.Destination, n.Title, entering)
}

// definition is a line such as [name]: address. It is left out only when a link before it has
// said the same: to people who do not write Markdown, [note]: hello is a line of their text.
func (p *page) definition(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.LinkReferenceDefinition)
	if !entering || p.used[definitionKey(n.Label, n.Destination)] {
		return ast.WalkSkipChildren, nil
	}
	shown := html.EscapeString(shownAddress(n.Destination))
	if to, followed := followable(n.Destination); followed {
		shown = opened(to, "") + shown + "</a>"
	}
	write(w, "<p>[", html.EscapeString(string(n.Label)), "]: ", shown)
	if title := resolved(n.Title); title != "" {
		write(w, " ", html.EscapeString(title))
	}
	write(w, "</p>\n")
	return ast.WalkSkipChildren, nil
}

func definitionKey(label, destination []byte) string {
	return util.ToLinkReference(label) + "\n" + string(destination)
}

// image is a link to it: nothing is loaded from elsewhere, which would tell others who reads this.
func (p *page) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Image)
	return p.anchor(w, source, n, n.Destination, n.Title, entering)
}

func (p *page) anchor(w util.BufWriter, source []byte, node ast.Node, destination, title []byte, entering bool) (ast.WalkStatus, error) {
	if !entering {
		p.anchors--
	}
	to, followed := followable(destination)
	followed = followed && p.anchors == 0 // HTML has no links within links
	shown, told := shownAddress(destination), resolved(title)
	switch {
	case followed && entering:
		write(w, opened(to, told))
		if !node.HasChildren() {
			write(w, html.EscapeString(shown))
		}
	case followed:
		write(w, "</a>")
	case !entering && !saysItself(node, source, shown):
		write(w, " (<code>", html.EscapeString(shown), "</code>")
		if told != "" {
			write(w, " ", html.EscapeString(told))
		}
		write(w, ")")
	}
	if entering {
		p.anchors++
	}
	return ast.WalkContinue, nil
}

// saysItself reports whether a link's text is its address, and nothing is to be told besides.
func saysItself(node ast.Node, source []byte, shown string) bool {
	child, ok := node.FirstChild().(*ast.Text)
	return ok && node.FirstChild() == node.LastChild() && string(child.Value(source)) == shown
}

// address is an address that stands in the text.
func (p *page) address(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	destination := n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(string(destination)), "mailto:") {
		destination = append([]byte("mailto:"), destination...)
	}
	label := html.EscapeString(string(n.Label(source)))
	if to, followed := followable(destination); followed && p.anchors == 0 {
		label = opened(to, "") + label + "</a>"
	}
	write(w, label)
	return ast.WalkContinue, nil
}

// opened is the beginning of a link. Where it leads to another site, that one is not told from
// where, gets no hold of this page, and gains nothing by being named.
func opened(to, title string) string {
	tag := `<a href="` + html.EscapeString(to) + `"`
	if title != "" {
		tag += ` title="` + html.EscapeString(title) + `"`
	}
	if !strings.HasPrefix(strings.ToLower(to), "mailto:") {
		tag += ` rel="noopener noreferrer nofollow" target="_blank"`
	}
	return tag + ">"
}

// followable returns the address for a href, and whether it may be one: a whole address of http,
// https or mailto. Others run something, or mean a file of the agent's, which no page here is.
func followable(destination []byte) (string, bool) {
	if len(destination) > mostAddress {
		return "", false
	}
	escaped := string(util.URLEscape(destination, true))
	address, err := url.Parse(escaped)
	if err != nil {
		return "", false
	}
	switch address.Scheme {
	case "http", "https":
		return escaped, address.Host != ""
	case "mailto":
		return escaped, address.Opaque != ""
	}
	return "", false
}

// shownAddress is an address as people see it. What cannot be seen, or would change the order of
// what is seen, is shown as its bytes.
func shownAddress(destination []byte) string {
	var shown strings.Builder
	for _, r := range resolved(destination) {
		if unicode.IsGraphic(r) && (r == ' ' || !unicode.IsSpace(r)) {
			shown.WriteRune(r)
		} else {
			for _, b := range []byte(string(r)) {
				fmt.Fprintf(&shown, "%%%02X", b)
			}
		}
	}
	return shown.String()
}

// resolved is an address or a title without its escapes. Many links can have the same one, so that
// no more of it is shown than an address may be long.
func resolved(text []byte) string {
	if len(text) > mostAddress {
		text = append(bytes.ToValidUTF8(text[:mostAddress], nil), "…"...)
	}
	return unescaped(text)
}

// unescaped is a text in which \( and &amp; are ( and &.
func unescaped(text []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(text))))
}
