package api

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
)

const (
	maxBodyBytes = 1 << 20
	bodyTimeout  = 30 * time.Second
	tooLarge     = "the body is too large: it may have 1 MiB"
)

// strictCasing has keys of bodies taken as they are written: CONTENT is as unknown as
// anything else. It is a setting of the process.
var strictCasing = sync.OnceFunc(func() { huma.ValidateStrictCasing = true })

// bodies is a mux whose handlers get bodies that were read whole. What is wrong with a body
// that does not arrive is the client's doing, which the handlers behind it would not say.
type bodies struct {
	*http.ServeMux
	timeout time.Duration // of a body to arrive
}

// HandleFunc adds a route.
func (b bodies) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	b.ServeMux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		// With chunks there may have been a Content-Length, which net/http does not tell. Two
		// readers that believe different ones see different requests in what follows (RFC 9112,
		// 6.1), so nothing follows.
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		body, status, wrong := b.read(w, r)
		if wrong != "" {
			w.Header().Set("Connection", "close") // the rest of the body may be on its way
			problem.Write(w, status, wrong)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler(w, r)
	})
}

// read reads the request's body. wrong says what is wrong with it, and status is the
// answer then. A length that is too large is refused before anything is read, so that a
// client which asks first (Expect: 100-continue) need not send it.
func (b bodies) read(w http.ResponseWriter, r *http.Request) (body []byte, status int, wrong string) {
	if r.ContentLength > maxBodyBytes {
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	if r.ContentLength == 0 {
		return nil, 0, ""
	}
	// It fails where there is no connection to set it on, as in tests: then nothing is waited for.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.timeout))
	// With the body the deadline ends: net/http would take it for the client's leaving, and
	// cancel a request that takes longer. Of a body that is wrong it stays: net/http reads
	// what is left of that before it closes the connection.
	defer func() {
		if wrong == "" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
	}()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, "the body did not arrive in time; send it at once"
	case err != nil:
		return nil, http.StatusBadRequest, "the body cannot be read: " + err.Error() +
			"; it must be as long as Content-Length says, or well-formed chunks"
	case len(body) > maxBodyBytes:
		return nil, http.StatusRequestEntityTooLarge, tooLarge
	}
	return body, 0, ""
}
