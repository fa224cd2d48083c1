// Package site is the frame of the dashboard: how a page is asked for and answered, what
// stands around it, and how it asks the API. The pages themselves are in internal/pages.
package site

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/klauspost/compress/gzhttp"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/guard"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// deadline is how long a page may take to be made.
const deadline = 30 * time.Second

// Config is what the frame needs.
type Config struct {
	// API answers what pages ask, as it answers a program: with the rights of who looks at
	// the page.
	API http.Handler
	// Position is where the stream of events stands. A page is made of what is so at that
	// position or after it, and its script goes on from there.
	Position func() pluginsdk.Position
	Version  string // of Harness
	Log      *slog.Logger
}

// Site serves pages. Pages are added before it serves.
type Site struct {
	config Config
	mux    *http.ServeMux
	assets *assets
	forms  guard.Forms
	zip    func(http.Handler) http.HandlerFunc
	within time.Duration
}

// Within is the site with another bound to how long what is added to it may take to be
// answered, where the default of 30 s is too little.
func (s *Site) Within(bound time.Duration) *Site {
	other := *s
	other.within = bound
	return &other
}

// May reports whether who looks at a page has a scope. What they may not do they are not
// offered.
func May(r *http.Request, scope pluginsdk.TokenScope) bool {
	return access.From(r.Context()).May(scope)
}

// New returns a Site whose pages are added to mux.
func New(mux *http.ServeMux, config Config) (*Site, error) {
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	// The padding hides how long an answer is, which tells something of what is in it when a
	// stranger chose a part of it (https://www.breachattack.com).
	zip, err := gzhttp.NewWrapper(gzhttp.RandomJitter(32, 0, false), gzhttp.ContentTypeFilter(compressed))
	if err != nil {
		return nil, err
	}
	s := &Site{config: config, mux: mux, assets: files, forms: guard.NewForms(), zip: zip, within: deadline}
	mux.Handle("GET "+assetsPath+"{hash}/{name}", files)
	s.Form("POST /theme", pluginsdk.ScopeRead, setTheme)
	s.Page("GET /more", pluginsdk.ScopeRead, func(r *http.Request) (View, error) {
		return View{Title: "More", At: "/more", Body: more(s.frame(r, View{}))}, nil
	})
	return s, nil
}

// compressed reports whether what is of a type is compressed. Problems are not: Errors reads
// them.
func compressed(contentType string) bool {
	return !strings.HasPrefix(contentType, problem.Type) && gzhttp.DefaultContentTypeFilter(contentType)
}

// View is a page as it is to be shown.
type View struct {
	Title string // what it is, in front of the name of the site
	// At is the path of the entry of the navigation that it belongs to.
	At string
	// Script names the assets that work on this page only, with spaces between them; empty:
	// none.
	Script string
	// Follows is the thread whose agent's words come over the socket, besides all events;
	// empty: of no thread.
	Follows string
	// Fills says that the page fills the window and scrolls in its parts, as a conversation
	// does.
	Fills  bool
	Body   templ.Component
	Status int // 0: 200
}

// Done says that a form did what it is for.
type Done struct {
	To   string // the path to go on at; empty: where the form was sent from
	Said string // what has been done, in a sentence that the next page shows; may be empty
	// Cookie is for the browser to keep; nil: none.
	Cookie *http.Cookie
	// View is shown in place of going on, for what is told once and may be in no URL and no
	// cookie, such as a secret; nil: the browser goes on.
	View *View
}

// Again is an error that shows a form once more, with what was typed and what is wrong with
// it.
type Again struct{ View View }

func (*Again) Error() string { return "the form is shown again" }

// Elsewhere is an error that leads to another page of this site.
type Elsewhere struct{ To string } // its path

func (e *Elsewhere) Error() string { return "the page is at " + e.To }

// Page serves a page at a pattern of net/http (GET /path), to callers who have the scope.
func (s *Site) Page(pattern string, scope pluginsdk.TokenScope, show func(*http.Request) (View, error)) {
	s.handle(pattern, scope, func(w http.ResponseWriter, r *http.Request) {
		at := s.config.Position() // before anything is read
		view, err := show(r)
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		s.show(w, r, view, at)
	})
}

// Part serves a piece of a page, which a script asks for.
func (s *Site) Part(pattern string, scope pluginsdk.TokenScope, show func(*http.Request) (templ.Component, error)) {
	s.handle(pattern, scope, func(w http.ResponseWriter, r *http.Request) {
		at := s.config.Position()
		part, err := show(r)
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		setPosition(w.Header(), at)
		s.write(w, r, http.StatusOK, part)
	})
}

// Form takes what a form of a page has sent, to a pattern (POST /path), and leads on to a
// page. Its fields are in r.PostForm, or r.MultipartForm where it has files.
func (s *Site) Form(pattern string, scope pluginsdk.TokenScope, take func(*http.Request) (Done, error)) {
	s.handle(pattern, scope, s.forms.Take(func(w http.ResponseWriter, r *http.Request) {
		done, err := take(r)
		if err != nil {
			s.Fail(w, r, err)
			return
		}
		if done.View != nil {
			s.show(w, r, *done.View, s.config.Position())
			return
		}
		to := done.To
		if to == "" {
			to = cameFrom(r)
		}
		say(w, done.Said)
		if done.Cookie != nil {
			http.SetCookie(w, done.Cookie)
		}
		http.Redirect(w, r, access.Local(to), http.StatusSeeOther)
	}))
}

// Raw serves what is no page, such as a picture or a download. What goes wrong is answered
// with Fail.
func (s *Site) Raw(pattern string, scope pluginsdk.TokenScope, handler http.HandlerFunc) {
	s.handle(pattern, scope, handler)
}

func (s *Site) handle(pattern string, scope pluginsdk.TokenScope, handler http.HandlerFunc) {
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.within)
		defer cancel()
		r = r.WithContext(context.WithValue(ctx, askerKey{}, r))
		w.Header().Set("Content-Security-Policy", policy)
		handler(w, r)
	})
	s.mux.Handle(pattern, s.zip(access.Need(scope, bounded)))
}

// Fail answers with what is wrong. A form that is to be shown again is, and what is elsewhere
// is led to.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if again, ok := err.(*Again); ok { //nolint:errorlint // made by the page itself, and not wrapped
		again.View.Status = http.StatusUnprocessableEntity
		s.show(w, r, again.View, s.config.Position())
		return
	}
	var elsewhere *Elsewhere
	if errors.As(err, &elsewhere) {
		http.Redirect(w, r, access.Local(elsewhere.To), http.StatusSeeOther)
		return
	}
	status, detail := words(err)
	if status == http.StatusInternalServerError {
		s.config.Log.Error("a page failed", "path", r.URL.Path, "err", err)
		detail = "the page failed inside the server; its log says more"
	}
	problem.Write(w, status, detail) // Errors makes a page of it
}
