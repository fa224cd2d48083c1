// Package guard keeps web pages of other sites away from the API. Any page that
// a person visits can send requests to loopback, so being bound to loopback
// protects nothing by itself.
package guard

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

// Guard refuses requests that a page of another site could have made. The zero
// Guard lets loopback names through.
type Guard struct {
	hosts atomic.Pointer[Hosts]
	names atomic.Pointer[[]string]
	wide  atomic.Bool
}

// Allow sets the names besides loopback's.
func (g *Guard) Allow(hosts Hosts) { g.hosts.Store(&hosts) }

// Certify sets the names of the server's certificate, which are allowed as well.
func (g *Guard) Certify(names []string) { g.names.Store(&names) }

// Widen allows addresses in the place of names, which is for a server that others can
// reach: it may be known by any, and no page can give itself one. (What rebinding gives
// to a page is its name with our address.)
func (g *Guard) Widen(on bool) { g.wide.Store(on) }

// permit reports whether a Host header names this server.
func (g *Guard) permit(header string) bool {
	if g.allowed().permit(header) {
		return true
	}
	parsed, ok := parseHost(header)
	if !ok {
		return false
	}
	if g.wide.Load() && net.ParseIP(parsed.name) != nil {
		return true
	}
	if names := g.names.Load(); names != nil {
		return slices.ContainsFunc(*names, func(name string) bool { return covers(name, parsed.name) })
	}
	return false
}

// covers reports whether a name of a certificate, such as *.example.org, is that of a host.
func covers(certified, host string) bool {
	certified = strings.ToLower(certified)
	if rest, ok := strings.CutPrefix(certified, "*."); ok {
		_, parent, parted := strings.Cut(host, ".")
		return parted && parent == rest
	}
	return certified == host
}

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
	// Other sites are told nothing. With no-referrer, browsers would call the origin of our own
	// forms "null" (https://fetch.spec.whatwg.org/#append-a-request-origin-header), and a login
	// would be refused as that of another site.
	header.Set("Referrer-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
}

// refuse returns the status and the reason of a refusal, or 0.
func (g *Guard) refuse(r *http.Request, socketPath string) (int, string) {
	// A page can give its own name the address 127.0.0.1 (DNS rebinding); its
	// requests then carry that name.
	if !g.permit(r.Host) {
		return http.StatusForbidden, "the Host header names a host that is not allowed; use localhost or 127.0.0.1, " +
			"or add the name to the web plugin's setting allowedHosts"
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if reads && r.URL.Path != socketPath {
		// Browsers do not show the answer to other sites, but how long it took: a search that
		// finds something takes longer.
		if g.embedded(r) {
			return http.StatusForbidden, "pages of other sites may link here, and load nothing from here (Sec-Fetch-Site, Sec-Fetch-Dest); " +
				"add their host to the web plugin's setting allowedHosts if they are to"
		}
		return 0, ""
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return http.StatusForbidden, "requests of other sites' pages are refused (Sec-Fetch-Site: cross-site)"
	}
	if len(r.Cookies()) > 0 && !bearer(r) && !ownPage(r) {
		return http.StatusForbidden, "a request with a cookie is a browser's, and must say that a page of this very site makes it " +
			"(Sec-Fetch-Site: same-origin, or Origin); a program sends its token as Authorization: Bearer"
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !g.sameOrigin(origins[0], r) {
		return http.StatusForbidden, "the Origin header names another host; open the page from the address of the API, " +
			"or add the name to the web plugin's setting allowedHosts"
	}
	return 0, ""
}

// embedded reports whether a browser says that a page of another origin, which is not
// allowed, loads this for itself, and leads nobody here.
func (g *Guard) embedded(r *http.Request) bool {
	switch strings.ToLower(r.Header.Get("Sec-Fetch-Site")) {
	case "cross-site", "same-site": // of the same site is each port of this machine
	default:
		return false
	}
	if strings.EqualFold(r.Header.Get("Sec-Fetch-Dest"), "document") {
		return false
	}
	origins := r.Header.Values("Origin")
	return len(origins) != 1 || !g.sameOrigin(origins[0], r)
}

// bearer reports whether a request carries a program's token, which no browser sends by
// itself.
func bearer(r *http.Request) bool {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer")
}

// ownPage reports whether a browser says that a page of this origin makes the request.
// Which origin it names is looked at elsewhere.
func ownPage(r *http.Request) bool {
	if sites := r.Header.Values("Sec-Fetch-Site"); len(sites) > 0 {
		return len(sites) == 1 && strings.EqualFold(sites[0], "same-origin")
	}
	return len(r.Header.Values("Origin")) > 0
}

// sameOrigin reports whether origin is the host and port that the request went
// to, or an allowed one. Pages in a sandbox have the origin "null": refused. So is, over
// TLS, a page that came without: anybody on its way may have written it.
func (g *Guard) sameOrigin(origin string, r *http.Request) bool {
	from, err := url.Parse(origin)
	if err != nil || (from.Scheme != "http" && from.Scheme != "https") || from.Host == "" || from.User != nil {
		return false
	}
	if r.TLS != nil && from.Scheme != "https" {
		return false
	}
	host, ok := parseHost(from.Host)
	if !ok {
		return false
	}
	to, ok := parseHost(r.Host)
	if !ok {
		return false
	}
	if host.withPort(from.Scheme) == to.withPort(from.Scheme) {
		return true
	}
	return g.allowed().listed(host)
}

// UploadType is what an upload must say that it is, whatever it is.
const UploadType = "application/octet-stream"

// JSONType is what every other body must say that it is.
const JSONType = "application/json"

// Only refuses bodies that do not say they are of the wanted type, which is JSONType or
// UploadType. Of all content types a page can send three to another site without asking,
// those of forms: text/plain, multipart/form-data and application/x-www-form-urlencoded.
// For these two it has to ask with OPTIONS, which nothing here answers. So an upload may
// not say what it really is: it could be one of the three. Only stands behind the routes
// and behind the question who calls, so that who may not, or asks for what there is not, is
// told that.
func Only(wanted string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if carriesBody(r.Method) && !isOf(wanted, r.Header.Values("Content-Type")) {
			problem.Write(w, http.StatusUnsupportedMediaType, "the Content-Type header must be "+wanted)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func carriesBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func isOf(wanted string, contentTypes []string) bool {
	if len(contentTypes) != 1 {
		return false
	}
	media, _, err := mime.ParseMediaType(contentTypes[0])
	return err == nil && media == wanted
}

// Forms lets forms with files in one after the other, so that what lies in the system's
// directory for such has a bound.
type Forms struct{ places chan struct{} }

// NewForms returns Forms that takes filesAtOnce forms with files at a time.
func NewForms() Forms { return Forms{make(chan struct{}, filesAtOnce)} }

// What a form may have, in bytes: its fields; with files; and of those what is held in
// memory, the rest being in files meanwhile. filesAtOnce of these are taken at a time, and
// each may take filesTimeout to arrive.
const (
	maxForm      = 2 << 20
	maxFiles     = 256 << 20
	heldInMemory = 1 << 20
	filesAtOnce  = 4
	filesTimeout = 10 * time.Minute
)

// Take hands on what a form of a page of this very site sends: of the two types of forms
// that it uses, and from a browser that says whose page it is. A page of another site can
// send the same.
func (f Forms) Take(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !ownPage(r) {
			problem.Write(w, http.StatusForbidden, "a form must say that a page of this very site sends it (Sec-Fetch-Site: same-origin, or Origin); "+
				"programs use the API")
			return
		}
		types := r.Header.Values("Content-Type")
		var err error
		switch {
		case isOf("application/x-www-form-urlencoded", types):
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			err = r.ParseForm()
		case isOf("multipart/form-data", types):
			select {
			case f.places <- struct{}{}:
				defer func() { <-f.places }()
			default:
				w.Header().Set("Connection", "close") // its body is on its way
				w.Header().Set("Retry-After", "5")
				problem.Write(w, http.StatusServiceUnavailable, "other files are on their way; try again in a moment")
				return
			}
			// It fails where there is no connection to set it on, as in tests.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(filesTimeout))
			r.Body = http.MaxBytesReader(w, r.Body, maxFiles)
			if err = r.ParseMultipartForm(heldInMemory); err == nil {
				defer r.MultipartForm.RemoveAll() //nolint:errcheck // files of this request, in the system's directory for such
			}
		default:
			problem.Write(w, http.StatusUnsupportedMediaType, "the Content-Type header must be that of a form")
			return
		}
		if err != nil {
			w.Header().Set("Connection", "close") // the rest of it may be on its way
			problem.Write(w, http.StatusBadRequest, "the form cannot be read: "+err.Error())
			return
		}
		next(w, r)
	}
}
