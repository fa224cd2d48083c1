package api

import (
	"bytes"
	"errors"
	"fmt"
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
	// largeTimeout is for what may be larger, and largeAtOnce how many such bodies are held
	// in memory at a time.
	largeTimeout = 5 * time.Minute
	largeAtOnce  = 2
)

// bodyLimits are the routes whose bodies may have more than maxBodyBytes, or less, and how much.
var bodyLimits = map[string]int64{
	http.MethodPost + " " + firePath:                 maxCronData,
	http.MethodPost + " /api/plugins":                17 << 20, // an archive in base64
	http.MethodPost + " /api/plugins/{name}/upgrade": 17 << 20,
}

// strictCasing has keys of bodies taken as they are written: CONTENT is as unknown as
// anything else. It is a setting of the process.
var strictCasing = sync.OnceFunc(func() { huma.ValidateStrictCasing = true })

// tooLarge says how large a body may be.
func tooLarge(limit int64) string {
	if limit < 1<<20 {
		return fmt.Sprintf("the body is too large: it may have %d KiB", limit>>10)
	}
	return fmt.Sprintf("the body is too large: it may have %d MiB", limit>>20)
}

// bodies reads the bodies of requests. What is wrong with one that does not arrive is the
// client's doing, which the handlers behind it would not say.
type bodies struct {
	timeout time.Duration // of a body to arrive
	large   chan struct{} // places for bodies of bodyLimits
}

// whole gives the handler of a route bodies that were read whole.
func (b bodies) whole(pattern string, handler http.HandlerFunc) http.Handler {
	limit, set := bodyLimits[pattern]
	if !set {
		limit = maxBodyBytes
	}
	large := limit > maxBodyBytes
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// With chunks there may have been a Content-Length, which net/http does not tell. Two
		// readers that believe different ones see different requests in what follows (RFC 9112,
		// 6.1), so nothing follows.
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		if large && (r.ContentLength < 0 || r.ContentLength > maxBodyBytes) {
			select {
			case b.large <- struct{}{}:
				defer func() { <-b.large }()
			default:
				w.Header().Set("Connection", "close")
				w.Header().Set("Retry-After", "5")
				problem.Write(w, http.StatusServiceUnavailable, "other large bodies are on their way; try again in a moment")
				return
			}
		}
		body, status, wrong := b.read(w, r, limit)
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
func (b bodies) read(w http.ResponseWriter, r *http.Request, limit int64) (body []byte, status int, wrong string) {
	if r.ContentLength > limit {
		return nil, http.StatusRequestEntityTooLarge, tooLarge(limit)
	}
	if r.ContentLength == 0 {
		return nil, 0, ""
	}
	// It fails where there is no connection to set it on, as in tests: then nothing is waited for.
	timeout := b.timeout
	if limit > maxBodyBytes {
		timeout = largeTimeout
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	// With the body the deadline ends: net/http would take it for the client's leaving, and
	// cancel a request that takes longer. Of a body that is wrong it stays: net/http reads
	// what is left of that before it closes the connection.
	defer func() {
		if wrong == "" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
	}()
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, http.StatusRequestTimeout, "the body did not arrive in time; send it at once"
	case err != nil:
		return nil, http.StatusBadRequest, "the body cannot be read: " + err.Error() +
			"; it must be as long as Content-Length says, or well-formed chunks"
	case int64(len(body)) > limit:
		return nil, http.StatusRequestEntityTooLarge, tooLarge(limit)
	}
	return body, 0, ""
}
