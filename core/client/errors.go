package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// Problem is an answer that says what went wrong: a problem document (RFC
// 9457, https://www.rfc-editor.org/rfc/rfc9457).
type Problem struct {
	Status int    `json:"status"` // of HTTP
	Title  string `json:"title"`
	Detail string `json:"detail"` // words for people
}

// Error returns the detail, or what comes nearest to it.
func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("the daemon answered %d %s", p.Status, p.Title)
}

// passing reports whether the same request may succeed a little later.
func (p *Problem) passing() bool {
	switch p.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Unreachable says that nobody answered at the daemon's address.
type Unreachable struct {
	Base  string
	Cause error
}

// Error names the address and what went wrong there.
func (u *Unreachable) Error() string {
	return fmt.Sprintf("no daemon answers at %s (%s)", u.Base, u.Cause)
}

// Unwrap returns Cause.
func (u *Unreachable) Unwrap() error { return u.Cause }

// unreachable is the error of a request that got no answer. When the caller
// gave up, that is the reason.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the method and the URL, which the words have
	}
	if misled := c.misled(err); misled != nil {
		return misled
	}
	return &Unreachable{Base: c.Base(), Cause: err}
}

// problemOf reads an answer that is not a success. What is not a problem
// document comes from somebody else, a proxy or another program.
func problemOf(status int, contentType string, content []byte) error {
	problem := &Problem{}
	media, _, _ := mime.ParseMediaType(contentType)
	if media == "application/problem+json" && json.Unmarshal(content, problem) == nil {
		problem.Status = status
		return problem
	}
	words := strings.Join(strings.Fields(string(content)), " ")
	if len(words) > 200 {
		words = strings.ToValidUTF8(words[:200], "") + "..."
	}
	problem = &Problem{Status: status, Title: http.StatusText(status)}
	if words != "" {
		problem.Detail = fmt.Sprintf("the daemon's address answered %d %s: %s", status, http.StatusText(status), words)
	}
	return problem
}

// Passing reports whether an error may be gone a little later: the daemon is
// away, or busy with starting or stopping.
func Passing(err error) bool {
	var away *Unreachable
	var problem *Problem
	return errors.As(err, &away) || errors.As(err, &problem) && problem.passing()
}
