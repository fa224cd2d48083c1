package site

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// policy lets a page load from this very site only, and have no script or style in it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// frame is what stands around a page.
type frame struct {
	View
	Theme   string // light, dark, or empty: as the system has it
	Name    string // of who looks at it; empty: nobody has a name here
	Session bool   // there is one to end
	Scope   pluginsdk.TokenScope
	Said    string // what the form before it has done
	At      pluginsdk.Position
	Path    string // with the query: where a form of the frame leads back to
	Version string
	Asset   func(name string) string
}

// frame is what stands around a view, for who asks.
func (s *Site) frame(r *http.Request, view View) frame {
	caller := access.From(r.Context())
	scope := caller.Token.Scope
	if caller.Open {
		scope = pluginsdk.ScopeAdmin
	}
	path := r.URL.RequestURI()
	if r.Method == http.MethodPost {
		path = cameFrom(r) // what takes a form has not always a page
	}
	return frame{
		View: view, Theme: theme(r), Name: caller.Token.Name, Session: caller.Known(), Scope: scope,
		Path: path, Version: s.config.Version, Asset: s.assets.url,
	}
}

// show answers with a page that is true at a position of the events.
func (s *Site) show(w http.ResponseWriter, r *http.Request, view View, at pluginsdk.Position) {
	f := s.frame(r, view)
	f.At, f.Said = at, said(w, r)
	s.write(w, r, cmp.Or(view.Status, http.StatusOK), layout(f))
}

// write renders before it answers, so that what fails is no half page.
func (s *Site) write(w http.ResponseWriter, r *http.Request, status int, part templ.Component) {
	var text bytes.Buffer
	if err := part.Render(r.Context(), &text); err != nil {
		s.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the client may be gone
}

// The headers with which a part says at which position of the events it is true.
const (
	bootHeader = "X-Harness-Boot"
	seqHeader  = "X-Harness-Seq"
)

func setPosition(header http.Header, at pluginsdk.Position) {
	header.Set(bootHeader, at.Boot)
	header.Set(seqHeader, strconv.FormatUint(at.Seq, 10))
}

// cameFrom is the page that a form was sent from.
func cameFrom(r *http.Request) string {
	if back := r.PostForm.Get("back"); back != "" {
		return back
	}
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host {
		return "/"
	}
	return from.RequestURI()
}

// The cookies of a browser: what the last form has done, until the next page shows it, and
// the theme. They hold nothing that is secret, and nothing that is believed.
const (
	saidCookie  = "harness_said"
	themeCookie = "harness_theme"
)

// say keeps a sentence for the next page.
func say(w http.ResponseWriter, sentence string) {
	if sentence == "" {
		return
	}
	if len(sentence) > 1<<10 {
		sentence = sentence[:1<<10]
	}
	http.SetCookie(w, &http.Cookie{
		Name: saidCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(sentence)),
		Path: "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// said takes that sentence.
func said(w http.ResponseWriter, r *http.Request) string {
	cookie, err := r.Cookie(saidCookie)
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: saidCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	sentence, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	return string(bytes.ToValidUTF8(sentence, []byte("…")))
}

func theme(r *http.Request) string {
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return ""
}

// Theme is the theme that a browser has chosen: light, dark, or empty, as its system has it.
// Pictures that a page makes need it.
func Theme(r *http.Request) string { return theme(r) }

// setTheme keeps a theme for a year.
func setTheme(r *http.Request) (Done, error) {
	return Done{Cookie: themeFor(r.PostForm.Get("theme"))}, nil
}

func themeFor(chosen string) *http.Cookie {
	cookie := &http.Cookie{
		Name: themeCookie, Value: chosen, Path: "/", MaxAge: int(365 * 24 * time.Hour / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
	if chosen != "light" && chosen != "dark" {
		cookie.Value, cookie.MaxAge = "", -1
	}
	return cookie
}
