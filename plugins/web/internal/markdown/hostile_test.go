package markdown

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/seed-706843ae/harness/plugins/web/internal/hostile"
)

// allowed are the elements that there may be, with their attributes and what those may be.
var allowed = map[string]map[string]*regexp.Regexp{
	"p": nil, "br": nil, "hr": nil, "em": nil, "strong": nil, "del": nil, "blockquote": nil, "ul": nil, "li": nil,
	"h3": nil, "h4": nil, "h5": nil, "h6": nil, "table": nil, "thead": nil, "tbody": nil, "tr": nil,
	"ol":     {"start": only(`\d+`)},
	"th":     {"class": only(`center|right`), "scope": only(`col`)},
	"td":     {"class": only(`center|right`)},
	"div":    {"class": only(`code|code-head|table-scroll`), "tabindex": only(`0`), "role": only(`region`), "aria-label": only(`Table`)},
	"pre":    {"class": only(`plain`), "tabindex": only(`0`), "role": only(`group`), "aria-label": only(`(?s)Code.*`)},
	"code":   {"class": only(`chroma`)},
	"span":   {"class": only(`code-lang|task|k|n|s|m|c|o|gi|gd|gh|err`), "role": only(`img`), "aria-label": only(`Done|To do`)},
	"button": {"type": only(`button`), "class": only(`code-copy`), "data-copy": only(``), "hidden": only(``)},
	"a":      {"href": only(`(?i)(https?://|mailto:)[!-~]+`), "title": only(`(?s).*`), "rel": only(`noopener noreferrer nofollow`), "target": only(`_blank`)},
}

func only(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// faults is all that is in a page's HTML and may not be, and what people can read of it.
func faults(page string) (faults []string, read string) {
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	roots, err := html.ParseFragment(strings.NewReader(page), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body})
	if err != nil {
		say("it cannot be parsed: %v", err)
	}
	var again, text strings.Builder
	var walk func(*html.Node)
	walk = func(node *html.Node) {
		attributes, ok := allowed[node.Data]
		switch {
		case node.Type == html.TextNode:
			text.WriteString(node.Data + " ")
		case node.Type != html.ElementNode || !ok || node.Namespace != "":
			say("it has the node %d %s %q", node.Type, node.Namespace, node.Data)
		}
		for _, attribute := range node.Attr {
			if node.Type != html.ElementNode {
				continue
			}
			if allowed := attributes[attribute.Key]; allowed == nil || attribute.Namespace != "" || !allowed.MatchString(attribute.Val) {
				say("a %s has %s=%q", node.Data, attribute.Key, attribute.Val)
			}
			if slices.Contains([]string{"title", "aria-label", "href"}, attribute.Key) {
				text.WriteString(attribute.Val + " ")
			}
		}
		if node.Type == html.ElementNode && node.Data == "a" {
			faults = append(faults, wrongLink(node)...)
		}
		for child := range node.ChildNodes() {
			walk(child)
		}
	}
	for _, root := range roots {
		if err := html.Render(&again, root); err != nil {
			say("it cannot be written again: %v", err)
		}
		walk(root)
	}
	// What a browser writes of what it has read, and reads again, is the same: it had nothing to mend.
	if other, err := html.ParseFragment(strings.NewReader(again.String()), &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}); err != nil || len(other) != len(roots) {
		say("read again it is other: %v", err)
	}
	if got := tags(page); got != tags(again.String()) {
		say("a browser has to mend it: %s", got)
	}
	return faults, text.String()
}

// tags are the names of the elements that a text begins and ends.
func tags(page string) string {
	var names []string
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.Join(names, " ")
		case html.StartTagToken, html.SelfClosingTagToken: // <br> is written as <br/>
			name, _ := tokens.TagName()
			names = append(names, string(name))
		case html.EndTagToken:
			name, _ := tokens.TagName()
			names = append(names, "/"+string(name))
		case html.CommentToken, html.DoctypeToken:
			names = append(names, "a comment, or what is none of ours")
		}
	}
}

func wrongLink(node *html.Node) (faults []string) {
	at := func(key string) string {
		for _, attribute := range node.Attr {
			if attribute.Key == key {
				return attribute.Val
			}
		}
		return ""
	}
	address, err := url.Parse(at("href"))
	if err != nil || !slices.Contains([]string{"http", "https", "mailto"}, address.Scheme) {
		faults = append(faults, fmt.Sprintf("a link leads to %q", at("href")))
	} else if address.Scheme != "mailto" && (at("rel") == "" || at("target") == "") {
		faults = append(faults, fmt.Sprintf("the link to %q tells the other site too much", at("href")))
	}
	for parent := node.Parent; parent != nil; parent = parent.Parent {
		if parent.Data == "a" {
			faults = append(faults, "a link is in a link")
		}
	}
	return faults
}

// places are where a hostile text can stand in Markdown.
var places = []string{
	"%s", "a %s b", "> %s", "- %s", "1. %s", "- [ ] %s", "# %s", "%s\n===", "*%s*", "~~%s~~", "`%s`", "``` %s\nx\n```", "~~~\n%s\n~~~",
	"```go\n%s\n```", "```html\n%s\n```", "```%s\n\n```", "    %s", "[%s](https://example.org)", "[x](%s)", "[x](<%s>)", `[x](https://example.org "%s")`, `[x](https://example.org '%s')`,
	"[x](https://example.org/%s)", "![%s](https://example.org)", "![x](%s)", `![x](https://example.org "%s")`, "[x]\n\n[x]: %s", "[x]\n\n[x]: <%s>", "[x]: https://example.org '%s'\n\n[x]",
	"[%s]\n\n[%s]: https://example.org", "<%s>", "<https://example.org/%s>", "<a@example.org%s>", "https://example.org/%s", "www.example.org/%s", "| %s | x |\n|---|:-:|\n| x | %s |", "a | b\n-|-\n%s | x",
	"<!-- %s -->", "<div>%s</div>", "<b title=\"%s\">", "\\%s", "[![%s](%s)](%s)",
	// What is not read as Markdown.
	strings.Repeat("> ", mostDepth+1) + "%s", "%s" + strings.Repeat("*_", mostMarks), "| a |\n|---|\n| x | %s |",
}

// Whatever people, agents and tools write, and wherever: it is text on the page.
func TestHostileTextIsOnlyText(t *testing.T) {
	payloads := hostile.Payloads()
	if len(payloads) < 100 {
		t.Fatalf("there are only %d payloads", len(payloads))
	}
	for _, payload := range payloads {
		for _, place := range places {
			message := strings.ReplaceAll(place, "%s", payload)
			faults, read := faults(HTML(message))
			for _, fault := range faults {
				t.Errorf("%q: %s", message, fault)
			}
			if !strings.Contains(read, "hostile") && !strings.Contains(read, "ostile()") {
				t.Errorf("%q cannot be read: %q", message, read)
			}
		}
	}
}

// Nobody's text makes anything but what is allowed, or makes the reader stumble.
func FuzzHTML(f *testing.F) {
	for i, payload := range hostile.Payloads() {
		f.Add(strings.ReplaceAll(places[i%len(places)], "%s", payload))
	}
	f.Fuzz(func(t *testing.T, message string) {
		if faults, _ := faults(HTML(message)); len(faults) > 0 {
			t.Errorf("%s", strings.Join(faults, "\n"))
		}
		if len(message) > mostAddress {
			return // more of an address is not shown
		}
		const canary = "zqCANARYqz"
		at := len(message) / 2
		if _, text := faults(HTML(message[:at] + " " + canary + " " + message[at:])); !strings.Contains(text, canary) {
			t.Errorf("a word in the middle cannot be read: %q", text)
		}
		read(strings.ToValidUTF8(message, "")) // must not panic
	})
}
