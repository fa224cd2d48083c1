// Package guard keeps web pages of other sites away from the API. Any page that
// a person visits can send requests to loopback, so being bound to loopback
// protects nothing by itself.
package guard

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

// Guard refuses requests that a page of another site could have made. The zero
// Guard lets loopback names through.
type Guard struct {
	hosts atomic.Pointer[Hosts]
}

// Allow sets the names besides loopback's.
func (g *Guard) Allow(hosts Hosts) { g.hosts.Store(&hosts) }

func (g *Guard) allowed() Hosts {
	if hosts := g.hosts.Load(); hosts != nil {
		return *hosts
	}
	return nil
}

// Wrap answers what is refused with a problem document and hands the rest on.
// socketPath is where the WebSocket is: it is opened with a GET, and browsers do
// not keep other sites from opening one.
func (g *Guard) Wrap(next http.Handler, socketPath string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if status, detail := g.refuse(r, socketPath); status != 0 {
			problem.Write(w, status, detail)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func setHeaders(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
}

// refuse returns the status and the reason of a refusal, or 0.
func (g *Guard) refuse(r *http.Request, socketPath string) (int, string) {
	// A page can give its own name the address 127.0.0.1 (DNS rebinding); its
	// requests then carry that name.
	if !g.allowed().permit(r.Host) {
		return http.StatusForbidden, "the Host header names a host that is not allowed; use localhost or 127.0.0.1, " +
			"or add the name to the web plugin's setting allowedHosts"
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if reads && r.URL.Path != socketPath {
		return 0, "" // browsers do not show the answer to other sites
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return http.StatusForbidden, "requests of other sites' pages are refused (Sec-Fetch-Site: cross-site)"
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !g.sameOrigin(origins[0], r.Host) {
		return http.StatusForbidden, "the Origin header names another host; open the page from the address of the API, " +
			"or add the name to the web plugin's setting allowedHosts"
	}
	return 0, ""
}

// sameOrigin reports whether origin is the host and port that the request went
// to, or an allowed one. Pages in a sandbox have the origin "null": refused.
func (g *Guard) sameOrigin(origin, requestHost string) bool {
	from, err := url.Parse(origin)
	if err != nil || (from.Scheme != "http" && from.Scheme != "https") || from.Host == "" || from.User != nil {
		return false
	}
	host, ok := parseHost(from.Host)
	if !ok {
		return false
	}
	to, ok := parseHost(requestHost)
	if !ok {
		return false
	}
	if host.withPort(from.Scheme) == to.withPort(from.Scheme) {
		return true
	}
	return g.allowed().listed(host)
}

// OnlyJSON refuses bodies that do not say they are JSON. Of the content types, a page can
// send JSON to another site only after asking with OPTIONS, which nothing here answers. It
// stands behind the routes, so that what no path has a use for is told so.
func OnlyJSON(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if carriesBody(r.Method) && !isJSON(r.Header.Values("Content-Type")) {
			problem.Write(w, http.StatusUnsupportedMediaType, "the Content-Type header must be application/json")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func carriesBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func isJSON(contentTypes []string) bool {
	if len(contentTypes) != 1 {
		return false
	}
	media, _, err := mime.ParseMediaType(contentTypes[0])
	return err == nil && media == "application/json"
}
