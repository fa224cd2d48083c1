package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/seed-706843ae/harness/plugins/web/internal/site"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// allPages are the pages that can be read without knowing of anything that is there.
func allPages() []string {
	pages := []string{"/more", "/shortcuts", "/palette", "/palette?q=a", "/login", "/search?q=hello"}
	for _, key := range site.Keys() {
		pages = append(pages, key.Path)
	}
	return pages
}

// page reads a page as a browser does, and takes it apart.
func (b *browser) page(path string) *html.Node {
	b.Helper()
	answer := b.visit(path, "Accept", "text/html", "Sec-Fetch-Site", "same-origin")
	for answer.status == http.StatusSeeOther {
		path = answer.header.Get("Location")
		answer = b.visit(path, "Accept", "text/html", "Sec-Fetch-Site", "same-origin")
	}
	b.expect(path, answer, http.StatusOK, "<!doctype html>")
	tree, err := html.Parse(strings.NewReader(answer.body))
	if err != nil {
		b.Fatalf("%s: %v", path, err)
	}
	return tree
}

func attribute(node *html.Node, name string) string {
	for _, one := range node.Attr {
		if one.Key == name {
			return one.Val
		}
	}
	return ""
}

// A page with a script or a style in it would not work: browsers are told to take none. And
// one that did would be a place for a stranger's.
func TestNoPageHasScriptOrStyleInIt(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	b := s.browser()
	for _, path := range allPages() {
		for node := range b.page(path).Descendants() {
			if node.Type != html.ElementNode {
				continue
			}
			if node.DataAtom == atom.Style || node.DataAtom == atom.Script && (attribute(node, "src") == "" || node.FirstChild != nil) {
				t.Errorf("%s has a %s in it", path, node.Data)
			}
			for _, one := range node.Attr {
				if one.Key == "style" || strings.HasPrefix(one.Key, "on") || strings.HasPrefix(one.Key, "hx-on") {
					t.Errorf("%s has %s=%q", path, one.Key, one.Val)
				}
				if (one.Key == "src" || one.Key == "href" || one.Key == "action") && strings.Contains(one.Val, "//") && !strings.HasPrefix(one.Val, "https://") {
					t.Errorf("%s leads to %s", path, one.Val)
				}
			}
		}
	}
}

// What somebody may not do is not offered to them: a button that is refused is a trap.
func TestNoPageOffersWhatIsRefused(t *testing.T) {
	s := demanding(t)
	for _, scope := range []pluginsdk.TokenScope{pluginsdk.ScopeRead, pluginsdk.ScopeChat, pluginsdk.ScopeApprove} {
		b := s.logIn("somebody who may "+string(scope), scope)
		for _, path := range allPages() {
			for node := range b.page(path).Descendants() {
				if node.DataAtom != atom.Form || attribute(node, "method") != "post" || attribute(node, "action") == "/logout" {
					continue
				}
				fields := url.Values{}
				for field := range node.Descendants() {
					if name := attribute(field, "name"); name != "" && field.DataAtom == atom.Input {
						fields.Set(name, attribute(field, "value"))
					}
				}
				if to := attribute(node, "action"); b.submit(to, "", fields).status == http.StatusForbidden {
					t.Errorf("who may %s is offered %s on %s, and refused", scope, to, path)
				}
			}
		}
	}
}

// Who is not logged in is led to the login, and on from there to where they wanted to go.
func TestStrangersAreLedToTheLogin(t *testing.T) {
	s := demanding(t)
	b := s.browser()
	browses := []string{"Accept", "text/html"}
	if to := s.expect("a page", b.visit("/runs/R?before=3", browses...), http.StatusSeeOther).header.Get("Location"); to != "/login?next=%2Fruns%2FR%3Fbefore%3D3" {
		t.Errorf("led to %s", to)
	}
	s.expect("a program", b.visit("/runs"), http.StatusUnauthorized, "a token is demanded")
	s.expect("a program", b.visit("/api/threads", browses...), http.StatusUnauthorized, `"status":401`)
	s.expect("a stylesheet", b.visit(stylesheet(b)), http.StatusOK, "--accent")
}

// A link on another site comes without the cookie. The page asks itself once more, and is
// shown then: not a login that one has behind oneself.
func TestALinkOnAnotherSiteLeadsIn(t *testing.T) {
	s := demanding(t)
	b := s.browser() // as of somebody who is logged in: their cookie is not sent along
	across := []string{"Accept", "text/html", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}
	first := s.expect("along a link", b.visit("/runs", across...), http.StatusOK, `href="/runs"`)
	if first.header.Get("Refresh") != "0" {
		t.Errorf("the page does not go on by itself: %v", first.header)
	}
	if second := b.visit("/runs", across...); second.status != http.StatusSeeOther {
		t.Errorf("it asks for ever: %d", second.status)
	}
}

// What is wrong is said on a page to people, and as a problem document to programs.
func TestProblemsArePagesForPeople(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	b := s.browser()
	s.expect("nothing there", b.visit("/nothing/there", "Accept", "text/html"), http.StatusNotFound, "<h1>There is nothing here</h1>", "/nothing/there")
	s.expect("nothing there", b.visit("/nothing/there"), http.StatusNotFound, `"status":404`)
	s.expect("no such run", b.visit("/runs/nix", "Accept", "text/html"), http.StatusNotFound, "<h1>", "nix")
	s.expect("a script", b.visit("/runs/nix", "Accept", "text/html", "X-Harness-Script", "1"), http.StatusNotFound, `"status":404`)
	s.expect("rebinding", b.visit("/", "Accept", "text/html", "Host", "evil.example"), http.StatusOK) // Host is not a header of net/http
	hostile := s.expect("a hostile path", b.visit("/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "Accept", "text/html"), http.StatusNotFound)
	if strings.Contains(hostile.body, "<script>alert") {
		t.Error("a path runs on the page that says that it is not there")
	}
}

// A form of another site's page must do nothing, also where no cookie says who sends it.
func TestFormsAreTakenFromOwnPagesOnly(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	b := s.browser()
	s.expect("our own", b.submit("/theme", "", url.Values{"theme": {"dark"}, "back": {"/runs?state=failed"}}), http.StatusSeeOther)
	for _, origin := range []string{"https://evil.example", "null"} {
		s.expect(origin, b.submit("/theme", origin, url.Values{"theme": {"light"}}), http.StatusForbidden)
	}
	s.expect("nobody says so", s.ask("POST", "/theme", "theme=light", "Content-Type", "application/x-www-form-urlencoded"), http.StatusForbidden)
	s.expect("JSON", s.ask("POST", "/theme", "{}", "Sec-Fetch-Site", "same-origin"), http.StatusUnsupportedMediaType)
	if tree := b.page("/runs"); !slices.ContainsFunc(slices.Collect(tree.Descendants()), func(node *html.Node) bool {
		return node.DataAtom == atom.Html && attribute(node, "data-theme") == "dark"
	}) {
		t.Error("the theme is not the one that was chosen")
	}
}

// A form leads back to where it was sent from, and to no other site.
func TestAFormLeadsNowhereElse(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	b := s.browser()
	for back, want := range map[string]string{
		"/runs?state=failed": "/runs?state=failed", "": "/", "//evil.example": "/", "https://evil.example/": "/", `/\evil.example`: "/", "/\r\nX: y": "/",
	} {
		if to := b.submit("/theme", "", url.Values{"back": {back}}).header.Get("Location"); to != want {
			t.Errorf("back=%q leads to %q; want %q", back, to, want)
		}
	}
}

// What a page loads is kept by browsers for good, and another version of it is another URL.
func TestAssetsAreKept(t *testing.T) {
	s := demanding(t)
	b := s.browser()
	path := stylesheet(b)
	kept := s.expect("the stylesheet", b.visit(path), http.StatusOK)
	if kept.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || kept.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v", kept.header)
	}
	old := s.expect("that of an old page", b.visit("/assets/000000000000/style.css"), http.StatusOK, "--accent")
	if old.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", old.header)
	}
	s.expect("nothing", b.visit("/assets/000000000000/nothing.js"), http.StatusNotFound)
}

// stylesheet is where the stylesheet of the pages is.
func stylesheet(b *browser) string {
	for node := range b.page("/login").Descendants() {
		if node.DataAtom == atom.Link && attribute(node, "rel") == "stylesheet" {
			return attribute(node, "href")
		}
	}
	b.Fatal("the page has no stylesheet")
	return ""
}
