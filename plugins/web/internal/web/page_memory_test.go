package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-706843ae/harness/pluginsdk"
)

// Two people edit the agent's memory at a time: the second one must see both texts, and lose
// neither.
func TestASecondWriterSeesBothTexts(t *testing.T) {
	s := demanding(t)
	ann, ben := s.logIn("Ann", pluginsdk.ScopeAdmin), s.logIn("Ben", pluginsdk.ScopeAdmin)
	const path = "context/memory.md"
	file := "/memory/file?" + url.Values{"path": {path}}.Encode()
	said := func(b *browser, version, text string, more ...string) got {
		form := url.Values{"path": {path}, "version": {version}, "text": {text}}
		for _, name := range more {
			form.Set(name, "true")
		}
		return b.submit("/memory/file", "", form)
	}
	s.expect("a new file", said(ann, "", "first\nline\n", "fresh"), http.StatusSeeOther)
	version := hidden(ben.expect("Ben opens it", ben.visit(file), http.StatusOK, "first"), "version")
	s.expect("Ann saves", said(ann, version, "first\nAnn's <b>line</b>\n"), http.StatusSeeOther)
	refused := s.expect("Ben saves", said(ben, version, "first\r\nBen's line\r\n"), http.StatusUnprocessableEntity,
		"has changed since you opened it", "Ann&#39;s &lt;b&gt;line", "Ben&#39;s line")
	if strings.Contains(refused.body, "<b>line") {
		t.Error("the text of the file is a part of the page")
	}
	s.expect("Ben saves both", said(ben, hidden(refused, "version"), "first\nAnn's and Ben's line\n"), http.StatusSeeOther)
	s.expect("it is there", ann.visit(file), http.StatusOK, "Ann&#39;s and Ben&#39;s line")
	s.expect("the history", ann.visit("/memory/history"), http.StatusOK, "Ann", "Ben", "refused")
}

// A file that was deleted meanwhile is not lost to who was about to save it.
func TestAWriterIsToldThatTheFileIsGone(t *testing.T) {
	s := demanding(t)
	b := s.logIn("Ann", pluginsdk.ScopeAdmin)
	form := url.Values{"path": {"context/plans.md"}, "text": {"plans\n"}, "fresh": {"true"}}
	s.expect("made", b.submit("/memory/file", "", form), http.StatusSeeOther)
	version := hidden(b.visit("/memory/file?path=context%2Fplans.md"), "version")
	s.expect("deleted", b.submit("/memory/delete", "", url.Values{"path": {"context/plans.md"}, "version": {version}}), http.StatusSeeOther)
	form = url.Values{"path": {"context/plans.md"}, "text": {"more plans\n"}, "version": {version}}
	again := s.expect("saved", b.submit("/memory/file", "", form), http.StatusUnprocessableEntity, "deleted this file meanwhile", "more plans")
	form.Set("version", hidden(again, "version"))
	s.expect("made anew", b.submit("/memory/file", "", form), http.StatusSeeOther)
}

// A text that is too long is refused where it stands, and stays there.
func TestATextThatIsTooLongStays(t *testing.T) {
	s := openSite(t, `{"auth":"network"}`, times{})
	b := s.browser()
	form := url.Values{"path": {"context/long.md"}, "text": {"my words" + strings.Repeat("x", 1<<20)}, "fresh": {"true"}}
	s.expect("too long", b.submit("/memory/file", "", form), http.StatusUnprocessableEntity, "my words", `role="alert"`)
}

// hidden is the value of a hidden field of a page.
func hidden(page got, name string) string {
	_, after, _ := strings.Cut(page.body, `name="`+name+`" value="`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}
