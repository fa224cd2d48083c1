package site

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/seed-706843ae/harness/plugins/web/internal/problem"
	"github.com/seed-706843ae/harness/pluginsdk"
)

// Problem is what the API says is wrong.
type Problem struct {
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Fields []struct {
		Location string `json:"location"` // as in body.name
		Message  string `json:"message"`
	} `json:"errors"`

	// Body is the whole answer, for what an operation says besides.
	Body []byte `json:"-"`
}

func (p *Problem) Error() string { return p.Detail }

// Status is the HTTP status of an error of the API, or 0.
func Status(err error) int {
	var told *Problem
	if errors.As(err, &told) {
		return told.Status
	}
	return 0
}

// words are the status and the sentence of an error for a person.
func words(err error) (status int, detail string) {
	var told *Problem
	switch {
	case errors.As(err, &told):
		return told.Status, told.Detail
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "this took too long; try again"
	}
	var of *pluginsdk.Error
	if errors.As(err, &of) {
		return problem.Status(err), err.Error()
	}
	return http.StatusInternalServerError, err.Error()
}

type askerKey struct{}

// Ask makes a request of the API in the name of who looks at the page, whose request ctx
// belongs to, and reads its answer into out (nil: there is none to read). Parts of path that
// are data are escaped (url.PathEscape). body is sent as JSON; nil: there is none. What the API refuses is a *Problem.
func (s *Site) Ask(ctx context.Context, method, path string, query url.Values, body, out any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := s.ask(ctx, method, path, query, "application/json", bytes.NewReader(sent), int64(len(sent)))
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// Get reads from the API.
func (s *Site) Get(ctx context.Context, path string, query url.Values, out any) error {
	return s.Ask(ctx, http.MethodGet, path, query, nil, out)
}

// Post has the API do something. body may be nil.
func (s *Site) Post(ctx context.Context, path string, body, out any) error {
	if body == nil {
		body = struct{}{}
	}
	return s.Ask(ctx, http.MethodPost, path, nil, body, out)
}

// Upload hands a file to the API, of so many bytes.
func (s *Site) Upload(ctx context.Context, query url.Values, file io.Reader, size int64) (made pluginsdk.File, err error) {
	answer, err := s.ask(ctx, http.MethodPost, "/api/files", query, "application/octet-stream", file, size)
	if err != nil {
		return made, err
	}
	return made, json.Unmarshal(answer, &made)
}

func (s *Site) ask(ctx context.Context, method, path string, query url.Values, media string, body io.Reader, size int64) ([]byte, error) {
	target, err := url.Parse(path)
	if err != nil {
		return nil, err
	}
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, err
	}
	request.ContentLength = size
	if size == 0 {
		request.Body = http.NoBody
	}
	request.Header.Set("Content-Type", media)
	if asker, ok := ctx.Value(askerKey{}).(*http.Request); ok {
		request.RemoteAddr, request.Host, request.TLS = asker.RemoteAddr, asker.Host, asker.TLS
	}
	answer := &kept{header: make(http.Header)}
	if err := s.serve(answer, request); err != nil {
		return nil, err
	}
	if answer.status >= http.StatusMultipleChoices && answer.status < http.StatusBadRequest {
		// The router leads away from a path with an empty part or a .. in it: nothing was done.
		return nil, &Problem{Status: http.StatusNotFound, Detail: "there is nothing at " + path}
	}
	if answer.status >= http.StatusBadRequest {
		told := &Problem{Status: answer.status, Body: answer.body.Bytes()}
		if json.Unmarshal(told.Body, told) != nil || told.Detail == "" {
			told.Detail = http.StatusText(answer.status)
		}
		return nil, told
	}
	return answer.body.Bytes(), nil
}

// serve has the API answer. A panic of it is an error: who asks may be work that goes on
// without a request, where nobody else would take it.
func (s *Site) serve(answer http.ResponseWriter, request *http.Request) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.config.Log.Error("request panicked", "method", request.Method, "path", request.URL.Path, "panic", cause, "stack", string(debug.Stack()))
			err = &Problem{Status: http.StatusInternalServerError, Detail: "the server failed on this request; its log says more"}
		}
	}()
	s.config.API.ServeHTTP(answer, request)
	return nil
}

// kept is an answer that is kept in memory.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) {
	if k.status == 0 {
		k.status = status
	}
}

func (k *kept) Write(body []byte) (int, error) {
	k.WriteHeader(http.StatusOK)
	return k.body.Write(body)
}
