package problem

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
)

// Recover answers a request whose handler panics with a 500 and logs the panic
// with its stack; an answer that has begun breaks off. The panic http.ErrAbortHandler goes on,
// as it is meant to.
func Recover(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answer{ResponseWriter: w}
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler { //nolint:errorlint // a sentinel that is panicked with as it is
				panic(cause)
			}
			log.Error("request panicked", "method", r.Method, "path", r.URL.Path,
				"panic", cause, "stack", string(debug.Stack()))
			if answer.begun { // what was sent must not be taken for the whole
				panic(http.ErrAbortHandler)
			}
			Write(w, http.StatusInternalServerError, "the server failed on this request; its log says more")
		}()
		next.ServeHTTP(answer, r)
	})
}

// answer knows whether an answer has begun.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(status int) {
	a.begun = true
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(body []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(body)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Hijack is for the upgrade to a WebSocket.
func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.begun = true
	return http.NewResponseController(a.ResponseWriter).Hijack()
}

// Routes hands what mux has a route for to routed, which is mux or stands in front of it.
// The mux's own answers for unknown paths and methods are plain text: problem documents
// are given in their place.
func Routes(mux *http.ServeMux, routed http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			routed.ServeHTTP(w, r)
			return
		}
		probe := &unrouted{header: make(http.Header)}
		mux.ServeHTTP(probe, r)
		if probe.status == http.StatusMethodNotAllowed {
			methods := strings.Join(probe.header.Values("Allow"), ", ")
			w.Header().Set("Allow", methods)
			Write(w, probe.status, r.Method+" is not allowed here; allowed: "+methods)
			return
		}
		Write(w, http.StatusNotFound, "there is nothing at "+r.URL.Path)
	})
}

// unrouted takes the mux's answer and keeps its status and its headers.
type unrouted struct {
	header http.Header
	status int
}

func (u *unrouted) Header() http.Header            { return u.header }
func (u *unrouted) WriteHeader(status int)         { u.status = status }
func (u *unrouted) Write(body []byte) (int, error) { return len(body), nil }
