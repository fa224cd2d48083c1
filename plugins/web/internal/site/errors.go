package site

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-706843ae/harness/plugins/web/internal/access"
	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

// Errors makes pages of the problem documents that a person would see who has asked for a
// page, whoever behind it has written them. Who is not known is led to the login.
func (s *Site) Errors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wantsPage(r) {
			next.ServeHTTP(w, r)
			return
		}
		answer := &watched{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		if answer.problem {
			s.explain(w, r, answer.status, detailOf(answer.body.Bytes()))
		}
	})
}

// wantsPage reports whether a person is to read the answer: a browser navigates. What is
// for programs stays as it is.
func wantsPage(r *http.Request) bool {
	for _, programs := range []string{"/api/", "/ws", "/metrics", assetsPath} {
		if strings.HasPrefix(r.URL.Path, programs) {
			return false
		}
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html") && r.Header.Get(scriptHeader) == ""
}

// Public reports whether everybody may see what is at a path: to log in and out, and what
// the pages for that load.
func Public(path string) bool {
	return path == access.LoginPath || path == access.LogoutPath || strings.HasPrefix(path, assetsPath)
}

// scriptHeader is on the requests that our script makes: it shows a problem itself.
const scriptHeader = "X-Harness-Script"

// explain shows a problem as a page.
func (s *Site) explain(w http.ResponseWriter, r *http.Request, status int, detail string) {
	w.Header().Set("Content-Security-Policy", policy)
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if status == http.StatusUnauthorized && reads {
		to := access.LoginPath
		if r.URL.Path != "/" {
			to += "?next=" + url.QueryEscape(r.URL.RequestURI())
		}
		// A cookie of this site is not sent along a link on another one. A page of our own asks
		// once more, and then it is.
		if _, err := r.Cookie(askedCookie); err != nil && foreign(r) {
			http.SetCookie(w, &http.Cookie{Name: askedCookie, Value: "1", Path: "/", MaxAge: 10, HttpOnly: true, SameSite: http.SameSiteLaxMode})
			w.Header().Set("Refresh", "0")
			s.write(w, r, http.StatusOK, again(s.bare(r, "One moment"), access.Local(r.URL.RequestURI())))
			return
		}
		w.Header().Del("WWW-Authenticate")
		http.Redirect(w, r, to, http.StatusSeeOther)
		return
	}
	s.write(w, r, status, explained(s.bare(r, http.StatusText(status)), status, detail, !reads))
}

const askedCookie = "harness_asked"

func foreign(r *http.Request) bool {
	return slices.Contains([]string{"cross-site", "same-site"}, strings.ToLower(r.Header.Get("Sec-Fetch-Site")))
}

// bare is the frame of a page for anybody.
func (s *Site) bare(r *http.Request, title string) frame {
	return frame{View: View{Title: title}, Theme: theme(r), Version: s.config.Version, Asset: s.assets.url}
}

// Login shows the page to log in at. view has what was typed, and what is wrong with it.
func (s *Site) Login(w http.ResponseWriter, r *http.Request, status int, view access.LoginView) {
	w.Header().Set("Content-Security-Policy", policy)
	s.write(w, r, status, login(s.bare(r, "Log in"), view))
}

func detailOf(document []byte) string {
	var told struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(document, &told) != nil || told.Detail == "" {
		return "Something is wrong with this request."
	}
	return told.Detail
}

// watched keeps a problem document to itself and lets everything else through.
type watched struct {
	http.ResponseWriter
	begun, problem bool
	status         int
	body           bytes.Buffer
}

func (a *watched) WriteHeader(status int) {
	if a.begun {
		return
	}
	a.begun = true
	if a.Header().Get("Content-Type") == problem.Type {
		a.problem, a.status = true, status
		a.Header().Del("Content-Type")
		a.Header().Del("Content-Length")
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *watched) Write(body []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.problem {
		return a.body.Write(body)
	}
	return a.ResponseWriter.Write(body)
}

// Unwrap is for http.ResponseController.
func (a *watched) Unwrap() http.ResponseWriter { return a.ResponseWriter }
